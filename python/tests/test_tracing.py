"""Tracing, and derivatives of derivatives: right, or refused by name."""
import unittest
import warnings

try:
    import torch
    from ssm2d.torch import SSM2d
except ImportError:
    torch = None


@unittest.skipUnless(torch, "torch is not installed")
class Tracing(unittest.TestCase):
    def test_library_refuses(self):
        layer = SSM2d(6, d_state=3, n_ssm=2)
        for module in (layer, layer.eval()):
            with self.assertRaisesRegex(RuntimeError, "backend='torch'"):
                torch.jit.trace(module, torch.randn(2, 5, 4, 6))

    def test_torch_path(self):
        for complex_form in (False, "polar", "cartesian"):
            layer = SSM2d(6, d_state=3, n_ssm=2, complex=complex_form, backend="torch")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # sizes become constants: the grid is fixed
                traced = torch.jit.trace(layer, torch.randn(2, 5, 4, 6))
            u = torch.randn(3, 5, 4, 6)
            self.assertLess((traced(u) - layer(u)).abs().max().item(), 1e-6)

    def test_second_derivative(self):
        for backend in ("library", "torch"):
            layer = SSM2d(4, d_state=2, n_ssm=1, backend=backend).double()
            u = torch.randn(1, 3, 3, 4, dtype=torch.float64, requires_grad=True)
            d, = torch.autograd.grad(layer(u).square().sum(), u, create_graph=True)
            if backend == "torch":
                d.square().sum().backward()
                continue
            with self.assertRaisesRegex(RuntimeError, "no second derivatives"):
                d.square().sum().backward()
        # an incoming gradient that needs none itself: the result depends on the parameters, too
        layer = SSM2d(4, d_state=2, n_ssm=1)
        u = torch.randn(1, 3, 3, 4, requires_grad=True)
        d, = torch.autograd.grad(layer(u).sum(), u, create_graph=True)
        with self.assertRaisesRegex(RuntimeError, "no second derivatives"):
            d.sum().backward()
        torch.autograd.grad(layer(u).sum(), u, create_graph=True)  # alone it is fine


if __name__ == "__main__":
    unittest.main()
