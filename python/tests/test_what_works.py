"""The table "What works with it" of docs/python.md: one function for each row, which holds for
each kind of layer that both columns are about."""
import pathlib
import re
import tempfile
import unittest
import warnings

import ssm2d
from tests.module_support import KINDS, Case, backends, call, make
from tests.support import ROOT, functional_call, torch

NEW = hasattr(torch, "func")  # PyTorch 2
TABLE = re.search(r"^## What works with it\n\n(.*?)\n\n", (ROOT / "docs/python.md").read_text(),
                  re.M | re.S).group(1)
ROWS = [re.sub("`", "", line.split("|")[1]).strip() for line in TABLE.splitlines()[2:]]


class Rows(Case):
    """A row's function is named after it, and gets a layer of either backend in float64."""

    def float32_float64(self, layer, library):
        for dtype in (torch.float32, torch.float64):
            y = layer.to(dtype)(self.u.to(dtype))
            self.assertEqual(y.dtype, dtype)
            self.assertTrue(torch.isfinite(y).all())

    def float16_bfloat16(self, layer, library):
        for dtype in (torch.float16, torch.bfloat16):
            half, u = layer.to(dtype), self.u.to(dtype)
            if library:
                with self.assertRaisesRegex(TypeError, f"dtype {dtype}"):
                    half(u)
                continue
            try:
                self.assertEqual(half(u).dtype, dtype)
            except (RuntimeError, NotImplementedError, TypeError) as error:
                # an operation of PyTorch that has not got the type, not one of ours
                self.assertRegex(str(error), "(?i)half|bfloat16|complex|unsupported")

    def torch_autocast(self, layer, library):
        wanted = layer(self.u.float().double())
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = layer(self.u.float())
        self.assertEqual(y.dtype, torch.float64)
        self.assertClose([y], [wanted])

    def second_derivatives(self, layer, library):
        u = self.u.requires_grad_()
        first, = torch.autograd.grad(layer(u).square().sum(), u, create_graph=True)
        if library:
            with self.assertRaisesRegex(RuntimeError, "derivative"):
                first.square().sum().backward()
        else:
            second, = torch.autograd.grad(first.square().sum(), u)
            self.assertGreater(float(second.abs().max()), 0)

    def torch_jit_trace(self, layer, library):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            traced = torch.jit.trace(layer, self.u)
        self.assertClose([traced(self.u)], [layer(self.u)])
        if library:
            larger = torch.randn(3, 7, 6, 6, dtype=torch.float64)
            self.assertClose(call(traced, larger), call(layer, larger))

    def torch_jit_script(self, layer, library):
        with self.assertRaisesRegex(RuntimeError, "use .*trace"):
            torch.jit.script(layer)

    def torch_onnx_export(self, layer, library):
        try:
            import onnx
        except ImportError:
            self.skipTest("onnx is not installed")
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            path = pathlib.Path(folder) / "layer.onnx"
            if not ssm2d.kinds[layer.config.kind].kernel:
                with self.assertRaisesRegex(ValueError, "no form in ONNX; use"):
                    torch.onnx.export(layer.eval().float(), self.u.float(), str(path))
                return
            torch.onnx.export(layer.eval().float(), self.u.float(), str(path))
            model = onnx.load(str(path))
        self.assertEqual({node.domain for node in model.graph.node}, {""})

    def functional_call(self, layer, library):
        params = {name: 0.5 * p.detach() for name, p in layer.named_parameters()}
        y = functional_call()(layer, params, (self.u,))
        layer.load_state_dict(params)
        self.assertClose([y], [layer(self.u)])

    def torch_func_grad(self, layer, library):
        found = torch.func.grad(lambda u: layer(u).square().sum())(self.u)
        self.assertClose([found], [call(layer, self.u, 2 * layer(self.u).detach())[1]])

    def torch_func_vmap(self, layer, library):
        batches = torch.stack([self.u, 2 * self.u])
        if library:
            with self.assertRaisesRegex(RuntimeError, "vmap cannot follow"):
                torch.func.vmap(layer)(batches)
        else:
            found = torch.func.vmap(layer)(batches)
            self.assertClose(list(found), [layer(u) for u in batches])

    def fake_and_meta_tensors(self, layer, library):
        from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
        layer = layer.float()
        with FakeTensorMode() as mode:
            params = {name: mode.from_tensor(p) for name, p in layer.named_parameters()}
            u = torch.empty(2, 5, 4, 6, requires_grad=library)
            y = functional_call()(layer, params, (u,))
            self.assertIsInstance(y, FakeTensor)
            self.assertEqual(y.shape, u.shape)
            if library:
                y.sum().backward()
                self.assertEqual(u.grad.shape, u.shape)
        self.u = self.u.float()
        if not library:
            self.assertEqual(layer.to("meta")(self.u.to("meta")).shape, self.u.shape)

    def torch_compile(self, layer, library):
        compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
        self.assertClose(call(compiled, self.u), call(layer, self.u))

    def torch_export(self, layer, library):
        program = torch.export.export(layer, (self.u,))
        self.assertClose([program.module()(self.u)], [layer(self.u)])

    def test_every_row(self):
        self.assertGreater(len(ROWS), 12)
        for row in ROWS:
            name = re.sub(r"\W+", "_", row.split(", also")[0])
            check = getattr(self, name, None)
            self.assertIsNotNone(check, f"no function {name} checks the row '{row}'")
            if not NEW and re.match("torch_(func|compile|export)", name):
                continue
            for kind in KINDS:
                for backend in backends(kind):
                    with self.subTest(row=row, kind=kind, backend=backend):
                        self.setUp()
                        if NEW:
                            torch._dynamo.reset()
                        check(make(6, kind, backend=backend), backend == "library")


if __name__ == "__main__":
    unittest.main()
