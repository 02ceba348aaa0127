"""Traces, ONNX, fake tensors, and derivatives of derivatives: right, or refused by name."""
import os
import subprocess
import sys
import tempfile
import unittest
import warnings

from tests import onnx_numpy
from tests.module_support import CONFIGS, KINDS, Case, backends, call, input_of, make, twins
from tests.support import TIMEOUT, functional_call, torch

try:
    import onnx
except ImportError:
    onnx = None


def traced(module, *inputs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", torch.jit.TracerWarning)  # backend="torch": sizes are fixed
        return torch.jit.trace(module, inputs)


class Tracing(Case):
    def test_library_path(self):
        """An operator in the trace: other grids, batches and parameters are followed."""
        for kind, config in CONFIGS:
            layer = make(6, kind, **config)
            with warnings.catch_warnings():
                warnings.simplefilter("error", torch.jit.TracerWarning)
                recorded = torch.jit.trace(layer, input_of(config, dtype=torch.float64))
            self.assertIn("ssm2d::layer_forward", str(recorded.graph))
            self.assertEqual(*[[n for n, _ in m.named_parameters()] for m in (layer, recorded)])
            for sizes in ((2, 5, 4), (1, 8, 3)):
                u = input_of(config, *sizes, dtype=torch.float64)
                dy = torch.randn_like(u)
                self.assertClose(call(recorded, u, dy), call(layer, u, dy))
            with torch.no_grad():
                for p, q in zip(layer.parameters(), recorded.parameters()):
                    p.copy_(q.mul_(1.5))
                self.assertClose([recorded(u)], [layer(u)])

    def test_torch_path(self):
        for kind, config in CONFIGS:
            if "torch" in backends(kind):
                layer = make(6, kind, backend="torch", **config)
                recorded = traced(layer, input_of(config, dtype=torch.float64))
                u = input_of(config, 3, dtype=torch.float64)
                # without the optimisations that take longer than the layer
                with torch.no_grad(), torch.jit.optimized_execution(False):
                    self.assertClose([recorded(u)], [layer(u)])

    def test_strides(self):
        layer = make(dtype=torch.float32)
        recorded = traced(layer, input_of())
        for u in (torch.randn(2, 6, 5, 4).permute(0, 2, 3, 1), torch.randn(2, 5, 8, 6)[:, :, ::2],
                  torch.randn(1, 5, 4, 6).expand(3, 5, 4, 6)):
            dy = torch.randn(u.shape)
            self.assertClose(call(recorded, u, dy), call(layer, u, dy), 1e-5)
        empty = torch.randn(0, 5, 4, 6)
        self.assertEqual(recorded(empty).shape, empty.shape)
        self.assertEqual(recorded(empty.requires_grad_()).shape, empty.shape)

    def test_other_process(self):
        """A saved trace runs where the package was imported."""
        for kind in KINDS:
            layer = torch.nn.Sequential(make(6, kind), torch.nn.Linear(6, 2).double())
            with tempfile.TemporaryDirectory() as folder:
                def path(name):
                    return os.path.join(folder, name)
                traced(layer, self.u).save(path("m.pt"))
                torch.save((self.u, layer(self.u).detach()), path("values.pt"))
                code = ("import torch, ssm2d.torch\n"
                        f"m = torch.jit.load({path('m.pt')!r})\n"
                        f"u, y = torch.load({path('values.pt')!r})\n"
                        "assert (m(u) - y).abs().max() < 1e-10")
                subprocess.run([sys.executable, "-c", code], check=True, timeout=TIMEOUT)

    def test_script_refuses(self):
        for kind in KINDS:
            layer = make(6, kind)
            for module in (layer, torch.nn.Sequential(layer)):
                with self.assertRaisesRegex(RuntimeError, f"{type(layer).__name__}: "
                                            "torch.jit.script .* torch.jit.trace"):
                    torch.jit.script(module)

    def test_operator_checks(self):
        recorded = traced(make(dtype=torch.float32), input_of())
        for u, text in ((torch.randn(1, 5, 4, 7), "7 channels"), (self.u, "float64"),
                        (input_of(), r"A\[0\]=nan: parameters must be finite")):
            if "nan" in text:
                with torch.no_grad():
                    recorded.A[0, 0, 0] = float("nan")
            with self.assertRaises(RuntimeError), self.assertWarnsRegex(RuntimeWarning, text):
                recorded(u)

    def test_operator_of_version_0_2(self):
        """Saved traces of that version name no kind, and do not say how values began."""
        layer = make()
        before = '{"algorithm": "auto", "channels": 6, "d_state": 3, "layout": "BHWC", ' \
                 '"max_bytes": 0, "measure": false, "n_ssm": 2}'
        y = torch.ops.ssm2d.layer_forward(self.u, list(layer.parameters()), before)
        self.assertClose([y], [layer(self.u)])

    def test_functional_call(self):
        for kind, config in CONFIGS:
            layer, other = make(6, kind, **config), make(6, kind, **config)
            u = input_of(config, dtype=torch.float64)
            with torch.no_grad():
                for p in other.parameters():
                    p.mul_(1.5)
            y = functional_call()(layer, dict(other.named_parameters()), (u,))
            self.assertTrue(torch.equal(y, other(u)))
            self.assertGreater((y - layer(u)).abs().max().item(), 1e-2)

    def test_fake_tensors(self):
        try:
            from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
        except ImportError:
            self.skipTest("this torch has no fake tensors")
        for layer, wants in ((make(6, kind, backend="library", dtype=torch.float32), wants)
                             for kind in KINDS for wants in (False, True)):
            with FakeTensorMode() as mode:
                params = {name: mode.from_tensor(p) for name, p in layer.named_parameters()}
                u = torch.empty(2, 5, 4, 6, requires_grad=wants)
                y = functional_call()(layer, params, (u,))
                self.assertIsInstance(y, FakeTensor)
                self.assertEqual((tuple(y.shape), y.device.type), ((2, 5, 4, 6), "cpu"))
                with self.assertRaisesRegex((ValueError, RuntimeError), "7 channels"):
                    functional_call()(layer, params, (torch.empty(2, 5, 4, 7),))
                if wants:
                    y.sum().backward()
                    self.assertEqual(u.grad.shape, u.shape)

    def test_incoming_gradient_needs_none(self):
        """A second derivative is refused all the same: the first depends on the parameters."""
        for kind in KINDS:
            layer, u = make(6, kind), self.u.clone().requires_grad_()
            for module in (layer, traced(layer, u)):
                d, = torch.autograd.grad(module(u).sum(), u, create_graph=True)
                with self.assertRaisesRegex(RuntimeError, f"{kind}: .* no second derivatives"):
                    d.sum().backward()
                torch.autograd.grad(module(u).sum(), u, create_graph=True)  # alone it is fine


@unittest.skipUnless(onnx, "onnx (python3-onnx in Debian) is not installed")
class Exporting(Case):
    def test_equals_eager(self):
        for kind, config in CONFIGS:
            for backend in backends(kind) if hasattr(twins.find(kind), "exported") else ():
                layer = make(6, kind, dtype=torch.float32, backend=backend, **config).eval()
                with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
                    warnings.simplefilter("error", torch.jit.TracerWarning)
                    path = os.path.join(folder, "layer.onnx")
                    torch.onnx.export(layer, input_of(config), path, opset_version=13,
                                      input_names=["u"], dynamic_axes={"u": {0: "batch"}})
                    kinds = {n.domain for n in onnx.load(path).graph.node}
                    self.assertEqual(kinds, {""})  # nothing but ONNX's own operators
                    for batch in (2, 3):
                        u = input_of(config, batch)
                        got = torch.from_numpy(onnx_numpy.run(path, u.numpy()))
                        self.assertClose([got], [layer(u)], 1e-5)
