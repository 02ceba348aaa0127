"""Tracing, exporting, tensors without numbers, and derivatives of derivatives: right, or refused by
name."""
import os
import subprocess
import sys
import tempfile
import unittest
import warnings

try:
    import torch
    from torch import nn
    from ssm2d.torch import SSM2d
except ImportError:
    torch = None
try:
    import onnx
except ImportError:
    onnx = None

from . import onnx_numpy

CONFIGS = [dict(directions=1), dict(directions=2, complex=True, layer_norm=True),
           dict(directions=4, complex="cartesian", average=True, trunc=3),
           dict(directions=2, norm="paper", skip=False, layout="BCHW")]


def layer_of(config: dict, **more) -> "SSM2d":
    torch.manual_seed(1)
    layer = SSM2d(6, d_state=3, n_ssm=2, init="authors", **config, **more)
    with torch.no_grad():  # norms that do something
        for name in ("gamma", "beta"):
            if name in layer.names:
                getattr(layer, name).add_(0.3 * torch.randn(6))
    return layer


def input_of(config: dict, batch=2, rows=5, cols=4, **how):
    sizes = (batch, 6, rows, cols) if config.get("layout") == "BCHW" else (batch, rows, cols, 6)
    return torch.randn(sizes, **how)


def distance(a, b) -> float:
    return (a - b).abs().max().item()


def traced(module, *inputs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", torch.jit.TracerWarning)  # backend="torch": sizes are fixed
        return torch.jit.trace(module, inputs)


@unittest.skipUnless(torch, "torch is not installed")
class Tracing(unittest.TestCase):
    def test_library_path(self):
        """An operator in the trace: other grids, batches and parameters are followed."""
        for config in CONFIGS:
            layer = layer_of(config)
            with warnings.catch_warnings():
                warnings.simplefilter("error", torch.jit.TracerWarning)
                recorded = torch.jit.trace(layer, input_of(config))
            self.assertIn("ssm2d::layer_forward", str(recorded.graph))
            for sizes in ((2, 5, 4), (1, 8, 3)):
                u = input_of(config, *sizes, requires_grad=True)
                y, again = layer(u), recorded(u)
                self.assertLess(distance(y, again), 1e-5)
                dy = torch.randn_like(y)
                want = torch.autograd.grad(y, (u, *layer.parameters()), dy)
                got = torch.autograd.grad(again, (u, *recorded.parameters()), dy)
                names = ["u", *dict(layer.named_parameters())]
                self.assertEqual(names[1:], list(dict(recorded.named_parameters())))
                for name, a, b in zip(names, want, got):
                    self.assertEqual(a.shape, b.shape)
                    self.assertLess(distance(a, b), 1e-4 * (1 + a.abs().max().item()), name)
            with torch.no_grad():
                for p in recorded.parameters():
                    p.mul_(1.5)
                for p, q in zip(layer.parameters(), recorded.parameters()):
                    p.copy_(q)
                u = input_of(config)
                self.assertLess(distance(layer(u), recorded(u)), 1e-5)

    def test_torch_path(self):
        for config in CONFIGS:
            layer = layer_of(config, backend="torch")
            recorded = traced(layer, input_of(config))
            u = input_of(config, 3)
            self.assertLess(distance(recorded(u), layer(u)), 1e-5)

    def test_strides(self):
        layer = layer_of({})
        recorded = traced(layer, input_of({}))
        for u in (torch.randn(2, 6, 5, 4).permute(0, 2, 3, 1), torch.randn(2, 5, 8, 6)[:, :, ::2],
                  torch.randn(1, 5, 4, 6).expand(3, 5, 4, 6)):
            u = u.requires_grad_()
            y, again = layer(u), recorded(u)
            self.assertLess(distance(y, again), 1e-5)
            dy = torch.randn(y.shape)
            self.assertLess(distance(*(torch.autograd.grad(r, u, dy)[0] for r in (y, again))), 1e-5)
        empty = torch.randn(0, 5, 4, 6)
        self.assertEqual(recorded(empty).shape, empty.shape)
        self.assertEqual(recorded(empty.requires_grad_()).shape, empty.shape)

    def test_other_process(self):
        """A saved trace runs where the package was imported."""
        layer, u = nn.Sequential(layer_of({}), nn.Linear(6, 2)), input_of({})
        with tempfile.TemporaryDirectory() as folder:
            def path(name):
                return os.path.join(folder, name)
            traced(layer, u).save(path("m.pt"))
            torch.save((u, layer(u).detach()), path("values.pt"))
            code = ("import torch, ssm2d.torch\n"
                    f"m = torch.jit.load({path('m.pt')!r})\n"
                    f"u, y = torch.load({path('values.pt')!r})\n"
                    "assert (m(u) - y).abs().max() < 1e-5")
            subprocess.run([sys.executable, "-c", code], check=True)

    def test_script_refuses(self):
        for module in (layer_of({}), nn.Sequential(layer_of({}))):
            with self.assertRaisesRegex(RuntimeError, "SSM2d: torch.jit.script .* torch.jit.trace"):
                torch.jit.script(module)

    def test_operator_checks(self):
        layer = layer_of({})
        recorded = traced(layer, input_of({}))
        with self.assertRaises(RuntimeError), self.assertWarnsRegex(RuntimeWarning, "7 channels"):
            recorded(torch.randn(1, 5, 4, 7))
        with self.assertRaises(RuntimeError), self.assertWarnsRegex(RuntimeWarning, "float64"):
            recorded(torch.randn(1, 5, 4, 6, dtype=torch.float64))
        with torch.no_grad():
            recorded.A[0, 0, 0] = float("nan")
        with self.assertRaises(RuntimeError), \
                self.assertWarnsRegex(RuntimeWarning, r"A\[0\]=nan: parameters must be finite"):
            recorded(input_of({}))

    def test_functional_call(self):
        from torch.nn.utils.stateless import functional_call
        for config in CONFIGS:
            layer, other, u = layer_of(config), layer_of(config), input_of(config)
            with torch.no_grad():
                for p in other.parameters():
                    p.mul_(1.5)
            y = functional_call(layer, dict(other.named_parameters()), (u,))
            self.assertEqual(distance(y, other(u)), 0)
            self.assertGreater(distance(y, layer(u)), 1e-2)

    def test_fake_tensors(self):
        try:
            from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
        except ImportError:
            self.skipTest("this torch has no fake tensors")
        from torch.nn.utils.stateless import functional_call
        layer = layer_of({}, backend="library")
        for wants in (False, True):
            with FakeTensorMode() as mode:
                params = {name: mode.from_tensor(p) for name, p in layer.named_parameters()}
                u = torch.empty(2, 5, 4, 6, requires_grad=wants)
                y = functional_call(layer, params, (u,))
                self.assertIsInstance(y, FakeTensor)
                self.assertEqual((tuple(y.shape), y.device.type), ((2, 5, 4, 6), "cpu"))
                with self.assertRaisesRegex((ValueError, RuntimeError), "7 channels"):
                    functional_call(layer, params, (torch.empty(2, 5, 4, 7),))
                if wants:
                    y.sum().backward()
                    self.assertEqual(u.grad.shape, u.shape)


@unittest.skipUnless(torch and onnx, "torch or onnx (python3-onnx in Debian) is not installed")
class Exporting(unittest.TestCase):
    def test_equals_eager(self):
        for config in CONFIGS:
            for backend in ("library", "torch"):
                layer, u = layer_of(config, backend=backend).eval(), input_of(config)
                with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
                    warnings.simplefilter("error", torch.jit.TracerWarning)
                    path = os.path.join(folder, "layer.onnx")
                    torch.onnx.export(layer, u, path, opset_version=13, input_names=["u"],
                                      dynamic_axes={"u": {0: "batch"}})
                    kinds = {n.domain for n in onnx.load(path).graph.node}
                    self.assertEqual(kinds, {""})  # nothing but ONNX's own operators
                    for batch in (2, 3):
                        u = input_of(config, batch)
                        want = layer(u).detach()
                        got = torch.from_numpy(onnx_numpy.run(path, u.numpy()))
                        self.assertLess(distance(got, want), 1e-5 * (1 + want.abs().max().item()))


@unittest.skipUnless(torch, "torch is not installed")
class SecondDerivatives(unittest.TestCase):
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
        for module in (layer, traced(layer, u)):
            d, = torch.autograd.grad(module(u).sum(), u, create_graph=True)
            with self.assertRaisesRegex(RuntimeError, "no second derivatives"):
                d.sum().backward()
            torch.autograd.grad(module(u).sum(), u, create_graph=True)  # alone it is fine


if __name__ == "__main__":
    unittest.main()
