"""The modules S4ND and EMA: golden cases, the twin in PyTorch operations, and what PyTorch does to
modules."""
import copy
import json
import pickle
import unittest

import numpy as np

import ssm2d
from tests.support import GOLDEN, MODELS, error, torch, torchvision

if torch is None:
    raise unittest.SkipTest("torch is not installed")

from ssm2d import baselines
from ssm2d.torch import EMA, S4ND, SSM2d, add_mixers, decay_groups

VARIANTS = [(S4ND, dict(d_state=4, n_ssm=2)), (S4ND, dict(d_state=6, n_ssm=5, rate=0.4)),
            (EMA, dict(d_state=3)), (EMA, dict(d_state=5, shift=False)),
            (EMA, dict(d_state=2, bidirectional=False)), (EMA, dict(d_state=3, trunc=4))]


def make(kind, channels=6, *, dtype=torch.float64, **options):
    return kind(channels, dtype=dtype, seed=5, **options)


def call(layer, u, dy=None) -> list:
    """[y, du, gradients of the parameters]"""
    u = u.detach().requires_grad_()
    y = layer(u)
    grads = torch.autograd.grad(y, [u, *layer.parameters()], torch.ones_like(y) if dy is None
                                else dy)
    return [y.detach(), *grads]


def golden_cases(kind: str):
    """(name, options, arrays) of the cases of a kind; u, y, dy and du as (batch, channels, rows,
    columns)."""
    for folder in sorted(GOLDEN.glob(f"{kind}_*")) if GOLDEN.is_dir() else []:
        case = json.loads((folder / "case.json").read_text())
        options = {name: case[name] for name in baselines.options[kind]
                   if case.get(name) is not None}
        arrays = {path.stem: np.load(path) for path in folder.glob("*.npy")}
        if kind == "ema":  # (cells, batch, channels)
            for name in ("u", "y", "dy", "du"):
                arrays[name] = np.moveaxis(arrays[name], 0, 2)[:, :, None, :].copy()
        yield folder.name, options, arrays


class Case(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)
        self.u = torch.randn(2, 5, 4, 6, dtype=torch.float64)

    def assertClose(self, found, wanted, most=1e-10):
        self.assertEqual(len(found), len(wanted))
        for x, y in zip(found, wanted):
            self.assertLess(error(x.detach().numpy(), y.detach().numpy()), most)


class Numbers(Case):
    @unittest.skipUnless(GOLDEN.is_dir(), f"no golden cases in {GOLDEN}")
    def test_golden(self):
        count = 0
        for kind in (S4ND, EMA):
            for name, options, arrays in golden_cases(kind.kind):
                count += 1
                for backend in ("library", "torch"):
                    for layout in ("BCHW", "BHWC"):
                        for dtype, most in ((torch.float64, 1e-12), (torch.float32, 2e-5)):
                            with self.subTest(case=name, backend=backend, layout=layout,
                                              dtype=dtype):
                                self.check(kind, options, arrays, backend, layout, dtype, most)
        self.assertGreaterEqual(count, 7)

    def check(self, kind, options, arrays, backend, layout, dtype, most):
        layer = kind(layout=layout, backend=backend, dtype=dtype, **options)
        layer.load_state_dict({n: torch.from_numpy(arrays[n]) for n in layer.names})
        u, dy = (torch.from_numpy(arrays[n]).to(dtype) for n in ("u", "dy"))
        kernel = layer.kernel(*u.shape[2:]).detach().numpy()
        if layout == "BHWC":
            u, dy = u.movedim(1, 3), dy.movedim(1, 3)
        y, du, *grads = call(layer, u, dy)
        if layout == "BHWC":
            y, du = y.movedim(3, 1), du.movedim(3, 1)
        self.assertLess(error(kernel, arrays["K"]), most)
        self.assertLess(error(y, arrays["y"]), most)
        self.assertLess(error(du, arrays["du"]), most)
        for n, g in zip(layer.names, grads):
            self.assertLess(error(g, arrays["d" + n]), most, n)

    def test_twin_equals_library(self):
        for kind, options in VARIANTS:
            for rows, cols in ((5, 4), (1, 7), (6, 1), (1, 1), (9, 13)):
                with self.subTest(kind=kind, options=options, rows=rows, cols=cols):
                    u = torch.randn(2, rows, cols, 6, dtype=torch.float64)
                    dy = torch.randn_like(u)
                    self.assertClose(call(make(kind, backend="torch", **options), u, dy),
                                     call(make(kind, backend="library", **options), u, dy))

    def test_gradcheck(self):
        for kind, options in VARIANTS:
            for backend in ("library", "torch"):
                with self.subTest(kind=kind, options=options, backend=backend):
                    layer = make(kind, 3, backend=backend, **options)
                    names = [name for name, _ in layer.named_parameters()]

                    def function(u, *values):
                        call = torch.nn.utils.stateless.functional_call
                        return call(layer, dict(zip(names, values)), (u,))

                    inputs = [torch.randn(2, 3, 4, 3, dtype=torch.float64),
                              *[p.detach().clone() for p in layer.parameters()]]
                    self.assertTrue(torch.autograd.gradcheck(function,
                                                             [x.requires_grad_() for x in inputs]))

    def test_every_algorithm(self):
        for algorithm in baselines.algorithms("ema"):
            self.assertClose(call(make(EMA, algorithm=algorithm), self.u), call(make(EMA), self.u))

    def test_views_of_any_layout(self):
        big = torch.randn(2, 12, 11, 13, dtype=torch.float64)
        tokens = torch.randn(2, 21, 6, dtype=torch.float64)
        for kind in (S4ND, EMA):
            layer = make(kind)
            for u in (self.u.transpose(1, 2), self.u[:1].expand(3, -1, -1, -1),
                      big[:, ::3, 1:9:2, 2:8], tokens[:, 1:].unflatten(1, (5, 4)),
                      torch.randn(6, 2, 4, 5, dtype=torch.float64).permute(1, 3, 2, 0)):
                with self.subTest(kind=kind, stride=u.stride()):
                    self.assertClose(call(layer, u), call(layer, u.contiguous()))
                    with torch.no_grad():
                        self.assertClose([layer(u)], [layer(u.contiguous())])


class Modules(Case):
    def test_backward_twice(self):
        for kind in (S4ND, EMA):
            layer = make(kind)
            y = layer(self.u)
            first = torch.autograd.grad(y.sum(), list(layer.parameters()), retain_graph=True)
            layer(2 * self.u).sum().backward()  # a workspace of its own
            self.assertClose(torch.autograd.grad(y.sum(), list(layer.parameters())), first, 1e-15)

    def test_second_derivatives(self):
        for kind in (S4ND, EMA):
            u = self.u.clone().requires_grad_()
            for backend in ("library", "torch"):
                y = make(kind, backend=backend)(u)
                grad, = torch.autograd.grad((y * y).sum(), u, create_graph=True)
                if backend == "torch":
                    grad.sum().backward()
                    continue
                with self.assertRaisesRegex(RuntimeError, f"{kind.__name__}.*second derivatives"):
                    grad.sum().backward()

    def test_copies_and_pickles(self):
        for kind in (S4ND, EMA):
            layer = make(kind)
            wanted = layer(self.u)
            for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
                self.assertClose([other(self.u)], [wanted], 1e-15)
                self.assertEqual(repr(other), repr(layer))

    def test_text(self):
        self.assertEqual(repr(S4ND(6, rate=0.5, layout="BCHW")),
                         "S4ND(channels=6, rate=0.5, layout='BCHW')")
        self.assertEqual(repr(EMA(6, shift=False)), "EMA(channels=6, shift=False)")
        self.assertIn("bidirectional", EMA.__doc__)
        self.assertIn("rate", S4ND.__doc__)

    def test_parameters(self):
        self.assertEqual(sum(p.numel() for p in S4ND(192).parameters()), 976)
        self.assertEqual(sum(p.numel() for p in EMA(96).parameters()), 129 * 96)
        self.assertTrue(torch.equal(S4ND(6, seed=1).C, S4ND(6, seed=1).C))
        self.assertTrue((S4ND(6, init="identity").D == 1).all())

    def test_decay_groups(self):
        model = torch.nn.Sequential(S4ND(6), EMA(6), SSM2d(6), torch.nn.Linear(6, 2))
        decayed, kept = decay_groups(model, 0.1)
        self.assertEqual((decayed["weight_decay"], kept["weight_decay"]), (0.1, 0))
        self.assertEqual([p.shape for p in decayed["params"]], [(2, 6)])
        self.assertEqual(len(decayed["params"]) + len(kept["params"]),
                         len(list(model.parameters())))

    def test_refusals(self):
        for kind, options, part in ((S4ND, dict(d_state=3), "d_state=3: use an even"),
                                    (S4ND, dict(rate=0), "rate=0.0: use"),
                                    (S4ND, dict(directions=2), "there is no such option"),
                                    (S4ND, dict(algorithm="scan"), "algorithm='scan'"),
                                    (EMA, dict(shift=1), "shift=1: use True or False"),
                                    (EMA, dict(d_state=2.5), "d_state=2.5: use a whole number"),
                                    (EMA, dict(init="identity"), "use authors"),
                                    (EMA, dict(backend="jax"), "backend='jax'")):
            with self.assertRaises((TypeError, ValueError)) as caught:
                kind(6, **options)
            self.assertIn(part, str(caught.exception))
        for u, part in ((self.u[0], "four dimensions"), (self.u[..., :5], "5 channels"),
                        (self.u.float(), "dtype"), (self.u.numpy(), "torch.Tensor")):
            with self.assertRaises((TypeError, ValueError)) as caught:
                make(EMA)(u)
            self.assertIn(part, str(caught.exception))
        with self.assertRaisesRegex(ValueError, "trunc=4"):
            make(EMA, trunc=4, algorithm="scan")(self.u)

    @unittest.skipUnless(MODELS.is_dir(), f"no golden models in {MODELS}")
    def test_load_mixer(self):
        for name, kind in (("09_vit_s4nd", S4ND), ("10_vit_ema", EMA)):
            config = json.loads((MODELS / name / "config.json").read_text())
            given = {key: value for key, value in config["mixer"].items()
                     if key not in ("kind", "place")}
            path = MODELS / name / "weights.safetensors"
            weights = ssm2d.load_safetensors(path)
            layer = kind(config["dim"], **given).load_mixer(path, "blocks.1")
            for n in layer.names:
                np.testing.assert_array_equal(getattr(layer, n).detach().numpy(),
                                              weights[f"blocks.1.mixer.{n}"])
            with self.assertRaisesRegex(ValueError, "shape"):
                kind(config["dim"], **{**given, "d_state": 2}).load_mixer(path, "blocks.1")

    @unittest.skipUnless(torchvision, "torchvision is not installed")
    def test_add_mixers(self):
        for kind in (S4ND, EMA):
            model = torchvision.models.VisionTransformer(16, patch_size=4, num_layers=2,
                                                         num_heads=2, hidden_dim=16, mlp_dim=32,
                                                         num_classes=3)
            add_mixers(model, mixer=kind, d_state=4)
            self.assertEqual(sum(isinstance(m, kind) for m in model.modules()), 2)
            model(torch.randn(2, 3, 16, 16)).sum().backward()


if __name__ == "__main__":
    unittest.main()
