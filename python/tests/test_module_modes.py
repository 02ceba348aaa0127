"""The PyTorch module: modes, copies, types, and what it refuses."""
import copy
import io
import pickle
import unittest

import ssm2d
from tests.support import error, torch

if torch is None:
    raise unittest.SkipTest("torch is not installed")
from torch.nn.utils import parametrize, prune

from ssm2d.torch import SSM2d, decay_groups, set_num_threads
from ssm2d.torch import layer as implementation
from tests.module_support import Case, call, make


class Modes(Case):
    def count(self, layer):
        """Counts how often kernels are made."""
        made = []
        real = implementation.lib

        class Spy:
            def __getattr__(self, name):
                if name in ("ssm2d_forward", "ssm2d_prepare"):
                    made.append(name)
                return getattr(real, name)

        implementation.lib = Spy()
        self.addCleanup(setattr, implementation, "lib", real)
        return made

    def test_kernels_are_cached_and_dropped(self):
        plain = make(backend="torch")
        layer = make().eval()
        made = self.count(layer)

        def check(times):
            self.assertClose([layer(self.u)], [plain(self.u)])
            self.assertEqual(len(made), times)

        for mode in (torch.no_grad(), torch.inference_mode(), torch.enable_grad()):
            with mode:
                made.clear()
                layer._cache = None
                check(1)
                check(1)
                for change in (lambda p: p.add_(0.1), lambda p: p.data.mul_(1.1),
                               lambda p: setattr(p, "data", p.data + 0.1)):
                    before = len(made)
                    with torch.no_grad():
                        change(layer.A)
                        plain.A.copy_(layer.A)
                    check(before + 1)
                    check(before + 1)
                layer.load_state_dict(make(seed=8).state_dict())
                plain.load_state_dict(layer.state_dict())
                check(5)
                self.assertClose([layer(self.u[:, :3])], [plain(self.u[:, :3])])
                check(6)  # another shape has its own

    def test_backward_in_eval_mode(self):
        wanted = call(make(layer_norm=True), self.u)
        layer = make(layer_norm=True).eval()
        made = self.count(layer)
        for _ in range(3):
            self.assertClose(call(layer, self.u), wanted)
        self.assertEqual(len(made), 1)

    def test_training_mode_without_grad(self):
        layer = make()
        wanted = layer(self.u)
        with torch.no_grad():
            self.assertClose([layer(self.u)], [wanted])
        with torch.inference_mode():
            self.assertClose([layer(self.u.clone())], [wanted])

    def test_parameters_made_in_inference_mode(self):
        with torch.inference_mode():
            layer = make()
            self.assertClose([layer(self.u)], [make()(self.u)])

    def test_deepcopy_pickle_state_dict(self):
        layer = make(complex=True, layout="BCHW")
        u = self.u.movedim(3, 1)
        wanted = call(layer, u)
        buffer = io.BytesIO()
        torch.save(layer, buffer)
        buffer.seek(0)
        fresh = make(complex=True, layout="BCHW", seed=9)
        fresh.load_state_dict(layer.state_dict())
        for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer)), torch.load(buffer),
                      fresh):
            self.assertClose(call(other, u), wanted)
            with torch.no_grad():
                other.A_radius.add_(1)
            self.assertClose(call(layer, u), wanted)
            self.assertGreater(error(other(u).detach().numpy(), wanted[0].numpy()), 1e-3)
        self.assertEqual(list(layer.state_dict()), [p.name for p in layer.config.params])

    def test_dtype(self):
        layer = make()
        wanted = layer(self.u)
        single = layer.float()
        y = single(self.u.float())
        self.assertEqual(y.dtype, torch.float32)
        self.assertClose([y], [wanted], 1e-5)
        self.assertClose([layer.double()(self.u)], [wanted], 1e-5)

    def test_autocast(self):
        layer = make(dtype=torch.float32)
        u = self.u.bfloat16()
        for backend in ("library", "torch"):
            layer.backend = backend
            with torch.autocast("cpu", dtype=torch.bfloat16):
                y = layer(u)
            self.assertEqual(y.dtype, torch.float32)
            self.assertClose([y], [layer(u.float())], 1e-5)

    def test_pruned_and_parametrized(self):
        layer = make()
        prune.l1_unstructured(layer, "C", 5)
        self.assertClose(call(layer, self.u)[:1], [make_with(layer)(self.u)])
        layer = make()

        class Twice(torch.nn.Module):
            def forward(self, x):
                return 2 * x

        parametrize.register_parametrization(layer, "C", Twice())
        y = layer(self.u)
        y.sum().backward()
        self.assertClose([y], [make_with(layer)(self.u)])
        self.assertIsNotNone(layer.parametrizations.C.original.grad)

    def test_initial_values(self):
        torch.manual_seed(3)
        a = SSM2d(6)
        torch.manual_seed(3)
        b, c = SSM2d(6), SSM2d(6)
        self.assertTrue(torch.equal(a.A, b.A))
        self.assertFalse(torch.equal(a.A, c.A))
        self.assertTrue(torch.equal(SSM2d(6, seed=1).C,
                                    torch.from_numpy(ssm2d.init_params(channels=6, seed=1)["C"])))
        self.assertEqual(SSM2d(6, dtype=torch.float64).A.dtype, torch.float64)
        self.assertEqual(sum(p.numel() for p in SSM2d(192).parameters()), 8 * 16 * 16 + 192)

    def test_decay_groups(self):
        model = torch.nn.Sequential(SSM2d(6, layer_norm=True), torch.nn.Linear(6, 2))
        decayed, kept = decay_groups(model, 0.05)
        self.assertEqual([id(p) for p in decayed["params"]], [id(model[1].weight)])
        self.assertEqual(len(kept["params"]), 7)
        self.assertEqual((decayed["weight_decay"], kept["weight_decay"]), (0.05, 0.0))
        torch.optim.AdamW([decayed, kept]).step()

    def test_plans_are_bounded(self):
        layer = make(5)
        with torch.no_grad():
            for n in range(1, implementation.MAX_SHAPES + 20):
                layer(torch.ones(1, 1, n, 5, dtype=torch.float64))
        self.assertLessEqual(len(layer._runner.shapes), implementation.MAX_SHAPES)
        self.assertLessEqual(len(layer._cache[1]), implementation.MAX_SHAPES + 1)

    def test_repr_and_help(self):
        self.assertEqual(repr(SSM2d(6, norm="half", layout="BCHW")),
                         "SSM2d(channels=6, norm='half', layout='BCHW')")
        self.assertIn("share_directions", SSM2d.__doc__)


def make_with(layer) -> SSM2d:
    other = make()
    other.load_state_dict({name: getattr(layer, name).detach() for name in layer.names})
    return other


class Errors(Case):
    def test_construction(self):
        for wrong, kind, part in ((dict(layout="CHW"), ValueError, "layout='CHW'"),
                                  (dict(backend="cuda"), ValueError, "backend='cuda'"),
                                  (dict(algorithm="magic"), ValueError, "algorithm='magic'"),
                                  (dict(n_ssm=-1), ValueError, "n_ssm=-1"),
                                  (dict(dtype=torch.int64), TypeError, "dtype=torch.int64"),
                                  (dict(init="no"), ValueError, "init='no'"),
                                  (dict(width=3), TypeError, "width=3")):
            with self.assertRaises(kind) as caught:
                SSM2d(6, **wrong)
            self.assertIn(part, str(caught.exception))

    def test_wrong_dtype_with_kernels_at_hand(self):
        for training in (False, True):
            layer = make().train(training)
            for grad in (False, True):
                with torch.set_grad_enabled(grad):
                    layer(self.u)
                    for other in (self.u.float(), self.u.long()):
                        with self.assertRaisesRegex(TypeError, "u: dtype torch"):
                            layer(other)

    def test_negative_views(self):
        layer = make()
        with torch.no_grad():
            u = torch.complex(self.u, self.u).conj().imag  # minus u, without a copy
            self.assertTrue(u.is_neg())
            torch.testing.assert_close(layer(u), layer(-self.u), rtol=0, atol=0)

    def test_calls(self):
        for backend in ("auto", "torch"):
            layer = make(backend=backend)
            for u, kind, part in ((self.u[0], ValueError, "u: shape (5, 4, 6)"),
                                  (self.u[..., :5], ValueError, "channels=6"),
                                  (self.u.float(), TypeError, "u: dtype torch.float32"),
                                  (self.u.long(), TypeError, "u: dtype torch.int64"),
                                  (self.u.numpy(), TypeError, "ndarray"),
                                  (self.u.to("meta"), ValueError, "u: on meta")):
                with self.assertRaises(kind) as caught:
                    layer(u)
                self.assertIn(part, str(caught.exception))
        with self.assertRaisesRegex(TypeError, "u: dtype torch.bfloat16"):
            make().bfloat16()(self.u.bfloat16())
        with self.assertRaisesRegex(ValueError, "backend='library'"):
            make(backend="library")(self.u.to("meta"))
        with self.assertRaisesRegex(ValueError, "rows=0"):
            make().kernel(0, 3)
        with self.assertRaisesRegex(ValueError, "max_bytes"):
            make(max_bytes=100)(self.u)
        layer = make()
        layer.C = torch.nn.Parameter(torch.zeros(2, 3, 4, dtype=torch.float64))
        with self.assertRaisesRegex(ValueError, r"parameter C: shape \(2, 3, 4\)"):
            layer(self.u)
        with self.assertRaisesRegex(ValueError, "threads=0"):
            set_num_threads(0)

    def test_empty_batch(self):
        for backend in ("library", "torch"):
            u = self.u[:0].requires_grad_()
            y = make(backend=backend)(u)
            self.assertEqual(y.shape, u.shape)
            y.sum().backward()

    def test_other_devices_take_the_torch_path(self):
        layer = make().to("meta")
        self.assertEqual(layer(self.u.to("meta")).shape, self.u.shape)


if __name__ == "__main__":
    unittest.main()
