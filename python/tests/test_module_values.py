"""The PyTorch modules: outputs and gradients, golden cases and weights."""
import json
import os
import tempfile
import unittest

import numpy as np

import ssm2d
from tests.module_support import Case, backends, call, create, for_each_kind, make, variants
from tests.support import (GOLDEN, MODELS, error, functional_call, golden_cases, options_of,
                           torch)
from tests.test_safetensors import pack, write


class Numbers(Case):
    def test_gradcheck(self):
        for kind, options in variants():
            # the loops of selective kinds are slow; they are compared with the library below
            for backend in backends(kind) if ssm2d.kinds[kind].kernel else ["library"]:
                with self.subTest(kind=kind, options=options, backend=backend):
                    layer = make(3, kind, backend=backend, **options)
                    names = [name for name, _ in layer.named_parameters()]

                    def function(u, *values):
                        return functional_call()(layer, dict(zip(names, values)), (u,))

                    inputs = [torch.randn(2, 3, 4, 3, dtype=torch.float64),
                              *[p.detach().clone() for p in layer.parameters()]]
                    self.assertTrue(torch.autograd.gradcheck(function,
                                                             [x.requires_grad_() for x in inputs]))

    def test_torch_path_equals_library(self):
        for kind, options in variants():
            large = (9, 13) if ssm2d.kinds[kind].kernel else (3, 7)
            for rows, cols in ((5, 4), (1, 7), (6, 1), (1, 1), large):
                with self.subTest(kind=kind, options=options, rows=rows, cols=cols):
                    u = torch.randn(2, rows, cols, 6, dtype=torch.float64)
                    dy = torch.randn_like(u)
                    layer, *others = [make(6, kind, backend=b, **options) for b in backends(kind)]
                    for other in others:
                        self.assertClose(call(other, u, dy), call(layer, u, dy))
                    arrays = {name: p.detach().numpy() for name, p in layer.named_parameters()}
                    if ssm2d.kinds[kind].kernel:
                        want = ssm2d.Layer(kind, **layer.config.settings).kernel(arrays, rows, cols)
                        self.assertLess(error(layer.kernel(rows, cols).detach().numpy(), want),
                                        1e-10)

    @unittest.skipUnless(GOLDEN.is_dir(), f"no golden cases in {GOLDEN}")
    def test_golden(self):
        cases = list(golden_cases())
        self.assertGreaterEqual(len(cases), 35)
        for name, kind, options, arrays in cases:
            for backend in backends(kind):
                for layout in ("BCHW", "BHWC"):
                    for dtype, most in ((torch.float64, 1e-12), (torch.float32, 2e-5)):
                        with self.subTest(case=name, backend=backend, layout=layout, dtype=dtype):
                            layer = create(kind, layout=layout, backend=backend, dtype=dtype,
                                           **options)
                            self.check(layer, arrays, dtype, most)

    def check(self, layer, arrays, dtype, most):
        last = layer.layout == "BHWC"
        layer.load_state_dict({n: torch.from_numpy(arrays[n]) for n in layer.names})
        u, dy = (torch.from_numpy(arrays[n]).to(dtype) for n in ("u", "dy"))
        kernel = layer.kernel(*u.shape[2:]).detach().numpy()
        self.assertLess(error(kernel, arrays["K"]), most)
        if last:
            u, dy = u.movedim(1, 3), dy.movedim(1, 3)
        y, du, *grads = call(layer, u, dy)
        if last:
            y, du = y.movedim(3, 1), du.movedim(3, 1)
        self.assertLess(error(y, arrays["y"]), most)
        self.assertLess(error(du, arrays["du"]), most)
        for n, g in zip(layer.names, grads):
            self.assertLess(error(g, arrays["d" + n]), most, n)

    @for_each_kind
    def test_every_algorithm(self, kind):
        for algorithm in ssm2d.kinds[kind].algorithms:
            self.assertClose(call(make(6, kind, algorithm=algorithm), self.u),
                             call(make(6, kind), self.u))

    @for_each_kind
    def test_views_of_any_layout(self, kind):
        layer = make(6, kind)
        big = torch.randn(2, 12, 11, 13, dtype=torch.float64)
        tokens = torch.randn(2, 21, 6, dtype=torch.float64)
        for u in (self.u.transpose(1, 2), self.u.permute(3, 1, 2, 0)[:, :, :, :1].expand(-1, -1, -1,
                                                                                         6),
                  self.u[:1].expand(3, -1, -1, -1),
                  big[:, ::3, 1:9:2, 2:8], big[:, :, 3:5, 1:7], tokens[:, 1:].unflatten(1, (5, 4)),
                  self.u[:, :1, :, :],
                  torch.randn(6, 2, 4, 5, dtype=torch.float64).permute(1, 3, 2, 0),
                  self.u.as_strided((2, 3, 4, 6), (24, 6, 3, 1))):
            for grad in (False, True):
                with self.subTest(stride=u.stride(), grad=grad):
                    wanted = call(layer, u.contiguous())
                    with torch.no_grad():
                        self.assertClose([layer(u)], wanted[:1])
                    source = u.detach()
                    if grad:
                        source.requires_grad_()
                    y = layer(source)
                    y.sum().backward()
                    if grad:
                        self.assertClose([source.grad], wanted[1:2])
                    self.assertClose([p.grad for p in layer.parameters()], wanted[2:])
                    layer.zero_grad(set_to_none=True)

    @for_each_kind
    def test_input_and_output_are_not_copied(self, kind):
        layer = make(6, kind)
        calls = self.spy(layer)
        tokens = torch.randn(2, 21, 6, dtype=torch.float64)
        for u in (self.u, self.u.transpose(1, 2), tokens[:, 1:].unflatten(1, (5, 4))):
            for grad in (True, False):
                with torch.set_grad_enabled(grad):
                    y = layer(u)
                name, arguments = calls.pop()
                self.assertEqual(name, "ssm2d_forward" if grad else "ssm2d_apply")
                self.assertEqual(arguments[-2:], (u.data_ptr(), y.data_ptr()))

    @for_each_kind
    def test_which_gradients_are_wanted(self, kind):
        layer = make(6, kind)
        _, du, *grads = call(layer, self.u)
        first, second, *rest = layer.parameters()
        second.requires_grad_(False)
        layer(self.u).sum().backward()
        self.assertIsNone(second.grad)
        self.assertClose([p.grad for p in (first, *rest)], [grads[0], *grads[2:]])
        layer.requires_grad_(False)
        u = self.u.clone().requires_grad_()
        layer(u).sum().backward()
        self.assertClose([u.grad], [du])
        self.assertFalse(layer(self.u).requires_grad)


class Weights(Case):
    def test_load_mixer(self):
        layer = make(complex="cartesian")
        arrays = {f"blocks.1.mixer.{n}": p.detach().numpy() for n, p in layer.named_parameters()}
        arrays["blocks.1.norm1.weight"] = np.ones(6)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "weights.safetensors")
            write(path, *pack(arrays))
            other = make(complex="cartesian", seed=9).load_mixer(path, "blocks.1")
            self.assertClose([other(self.u)], [layer(self.u)])
            make(complex="cartesian").load_mixer(path, "blocks.1.mixer")
            for wrong, prefix, part in ((make(complex="cartesian"), "blocks.0", "missing"),
                                        (make(), "blocks.1", "missing"),
                                        (make(complex="cartesian", n_ssm=1), "blocks.1", "shape"),
                                        (make(complex="cartesian", skip=False), "blocks.1",
                                         "blocks.1.mixer.D")):
                with self.assertRaises(ValueError) as caught:
                    wrong.load_mixer(path, prefix)
                self.assertIn(part, str(caught.exception))
                self.assertIn(path, str(caught.exception))

    @unittest.skipUnless(MODELS.is_dir(), f"no golden models in {MODELS}")
    def test_golden_models(self):
        count = 0
        for folder in sorted(MODELS.iterdir()):
            if not folder.is_dir():
                continue
            config = json.loads((folder / "config.json").read_text())
            path = folder / "weights.safetensors"
            weights = ssm2d.load_safetensors(path)
            total = sum(w.size for w in weights.values())
            self.assertEqual(total,
                             json.loads((folder / "expected.json").read_text())["parameters"])
            mixer = config["mixer"]
            if not mixer:
                continue
            kind = mixer["kind"]
            options = options_of(mixer) if kind == "ssm2d" else {
                key: value for key, value in mixer.items() if key not in ("kind", "place")}
            for prefix in {name.split(".mixer.")[0] for name in weights if ".mixer." in name}:
                with self.subTest(case=folder.name, prefix=prefix):
                    skip = "omega" if kind == "ema" else "D"
                    # ConvNeXt's layer has no D; a norm follows it.
                    widths = (f"{prefix}.mixer.{skip}", f"{prefix}.norm.weight")
                    width = next(weights[name].size for name in widths if name in weights)
                    layer = create(kind, width, **options).load_mixer(path, prefix)
                    for name in layer.names:
                        np.testing.assert_array_equal(getattr(layer, name).detach().numpy(),
                                                      weights[f"{prefix}.mixer.{name}"])
                    with self.assertRaisesRegex(ValueError, "shape"):
                        create(kind, width, **{**options, "d_state": 2}).load_mixer(path, prefix)
                    count += 1
        self.assertGreaterEqual(count, 12)
