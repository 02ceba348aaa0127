"""The PyTorch modules: modes, copies, types, and what they refuse."""
import copy
import inspect
import io
import pickle

import ssm2d
from tests.module_support import (Case, backends, call, create, for_each_kind, make, make_normed,
                                  torch, twins)
from tests.support import error
from torch.nn.utils import parametrize, prune
from ssm2d.torch import (EMA, S4ND, Layer, SSM2d, create_model, decay_groups, plans,
                         set_num_threads)


class Modes(Case):
    @for_each_kind
    def test_kernels_are_cached_and_dropped(self, kind):
        if not twins.find(kind):
            self.skipTest("there is nothing to compare with")
        plain = make(6, kind, backend="torch")
        layer = make(6, kind).eval()
        calls = self.spy(layer)
        first = layer.names[0]

        def made():
            return sum(name in ("ssm2d_forward", "ssm2d_prepare") for name, _ in calls)

        def check(times):
            y = layer(self.u)
            self.assertEqual(made(), times)
            with torch.no_grad():
                self.assertClose([y], [plain(self.u)])

        for mode in (torch.no_grad(), torch.inference_mode(), torch.enable_grad()):
            with mode:
                calls.clear()
                layer._cache = None
                check(1)
                check(1)
                for change in (lambda p: p.add_(0.1), lambda p: p.data.mul_(1.1),
                               lambda p: setattr(p, "data", p.data + 0.1)):
                    before = made()
                    with torch.no_grad():
                        change(getattr(layer, first))
                        getattr(plain, first).copy_(getattr(layer, first))
                    check(before + 1)
                    check(before + 1)
                layer.load_state_dict(make(6, kind, seed=8).state_dict())
                plain.load_state_dict(layer.state_dict())
                check(5)
                self.assertClose([layer(self.u[:, :3])], [plain(self.u[:, :3])])
                check(6)  # another shape has its own

    @for_each_kind
    def test_backward_in_eval_mode(self, kind):
        wanted = call(make_normed(kind), self.u)
        layer = make_normed(kind).eval()
        calls = self.spy(layer)
        for _ in range(3):
            self.assertClose(call(layer, self.u), wanted)
        self.assertEqual([name for name, _ in calls],
                         ["ssm2d_prepare", *3 * ["ssm2d_apply", "ssm2d_backward"]])

    @for_each_kind
    def test_training_mode_without_grad(self, kind):
        layer = make(6, kind)
        wanted = layer(self.u)
        with torch.no_grad():
            self.assertClose([layer(self.u)], [wanted])
        with torch.inference_mode():
            self.assertClose([layer(self.u.clone())], [wanted])

    def test_parameters_made_in_inference_mode(self):
        with torch.inference_mode():
            layer = make()
            self.assertClose([layer(self.u)], [make()(self.u)])

    @for_each_kind
    def test_deepcopy_pickle_state_dict(self, kind):
        more = dict(complex=True) if kind == "ssm2d" else {}
        layer = make(6, kind, layout="BCHW", **more)
        u = self.u.movedim(3, 1)
        wanted = call(layer, u)
        buffer = io.BytesIO()
        torch.save(layer, buffer)
        buffer.seek(0)
        loaded = torch.load(buffer, weights_only=False)  # a whole module, of our own making
        fresh = make(6, kind, layout="BCHW", seed=9, **more)
        fresh.load_state_dict(layer.state_dict())
        for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer)), loaded,
                      fresh):
            self.assertEqual(repr(other), repr(layer))
            self.assertClose(call(other, u), wanted)
            with torch.no_grad():
                getattr(other, other.names[1]).add_(1)
            self.assertClose(call(layer, u), wanted)
            self.assertGreater(error(other(u).detach().numpy(), wanted[0].numpy()), 1e-3)
        self.assertEqual(list(layer.state_dict()), [p.name for p in layer.config.params])

    @for_each_kind
    def test_dtype(self, kind):
        layer = make(6, kind)
        wanted = layer(self.u)
        single = layer.float()
        y = single(self.u.float())
        self.assertEqual(y.dtype, torch.float32)
        self.assertClose([y], [wanted], 1e-5)
        self.assertClose([layer.double()(self.u)], [wanted], 1e-5)

    @for_each_kind
    def test_autocast(self, kind):
        layer = make(6, kind, dtype=torch.float32)
        u = self.u.bfloat16()
        for backend in backends(kind):
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
        self.assertTrue((S4ND(6, init="identity").D == 1).all())
        self.assertEqual((SSM2d(6).init, S4ND(6).init, EMA(6, init="authors").init),
                         ("identity", "authors", "authors"))
        for layer, count in ((SSM2d(192), 8 * 8 * 16 + 192), (S4ND(192), 976),
                             (EMA(96), 129 * 96)):
            self.assertEqual(sum(p.numel() for p in layer.parameters()), count)

    def test_decay_groups(self):
        model = torch.nn.Sequential(*[create(kind, 6) for kind in ssm2d.kinds],
                                    SSM2d(6, layer_norm=True), torch.nn.LayerNorm(6),
                                    torch.nn.Linear(6, 2))
        layers = dict(zip(ssm2d.kinds, model))
        norm, linear = model[-2:]
        omega = [layers["ssm2d"].D, layers["ssm2d_selective"].D, model[-3].D,
                 layers["ema"].omega]
        projections = ("x_proj", "dt_proj", "dt_projT", "dt_projL", "W1", "W2", "Wq", "Wk", "Wv")
        matrices = [layers["conv"].weight, linear.weight,
                    *[p for kind, layer in layers.items() if not ssm2d.kinds[kind].kernel
                      for name, p in layer.named_parameters()
                      if name in projections or name.endswith("_weight")]]
        wanted = {"all": [*matrices, *omega, layers["s4nd"].D, model[-3].gamma, norm.weight],
                  "matrices": matrices,
                  "paper": [*matrices, *omega],
                  "everything": [*matrices, *omega, linear.bias, norm.weight, norm.bias]}
        for of, params in wanted.items():
            decayed, kept = decay_groups(model, 0.05, of=of)
            self.assertEqual({id(p) for p in decayed["params"]}, {id(p) for p in params}, of)
            self.assertEqual(len(decayed["params"]) + len(kept["params"]),
                             len(list(model.parameters())))
            self.assertEqual((decayed["weight_decay"], kept["weight_decay"]), (0.05, 0.0))
        self.assertEqual([len(group["params"]) for group in decay_groups(model, 0.05)],
                         [len(group["params"]) for group in decay_groups(model, 0.05, of="all")])
        torch.optim.AdamW(decay_groups(model, 0.05)).step()
        with self.assertRaisesRegex(ValueError, "of='both': use one of all"):
            decay_groups(model, 0.05, of="both")

    def test_decay_groups_of_models(self):
        """As tests/train/test_decay.c: what decays besides matrices and omega."""
        norms, tables = ("norm1.weight", "norm.weight"), "relative_position_bias_table"
        for name, mixer, families in (
                ("vit-mini", "ssm2d", {"all": ("cls_token", "pos_embed", *norms),
                                       "matrices": (), "paper": ("cls_token", "pos_embed")}),
                ("swin-mini", "s4nd", {"all": ("absolute_pos_embed", "mixer.D", *norms),
                                       "matrices": (), "paper": ("absolute_pos_embed", tables)}),
                ("mega-mini", "ema", {"all": ("pos_embed", "norm.norm.weight"), "matrices": (),
                                      "paper": ("pos_embed", "mega_layer.beta", "rel_pos_bias")})):
            model = create_model(name, mixer=mixer, backend="torch")
            some = ("cls_token", "pos_embed", "mixer.D", *norms, tables, "norm.norm.weight",
                    "mega_layer.beta", "rel_pos_bias", "fc1.bias")
            for of, wanted in families.items():
                decayed = {id(p) for p in decay_groups(model, 0.1, of=of)[0]["params"]}
                for key, p in model.named_parameters():
                    if not key.endswith(some) or (key.endswith("mixer.D") and mixer == "ssm2d"):
                        continue
                    self.assertEqual(id(p) in decayed, key.endswith(wanted or ("?",)), (of, key))
                omega = {"ssm2d": "mixer.D", "ema": "mixer.omega"}.get(mixer)
                for key, p in model.named_parameters():
                    if omega and key.endswith(omega):
                        self.assertEqual(id(p) in decayed, of != "matrices", (of, key))
                    elif ".mixer." in key and of == "paper":
                        self.assertNotIn(id(p), decayed, key)
                    if key.endswith(("fc1.weight", "proj.weight", "mega_layer.gamma")):
                        self.assertIn(id(p), decayed, (of, key))

    def test_plans_are_bounded(self):
        layer = make(5)
        with torch.no_grad():
            for n in range(1, plans.MAX_SHAPES + 20):
                layer(torch.ones(1, 1, n, 5, dtype=torch.float64))
        self.assertLessEqual(len(layer._runner.shapes), plans.MAX_SHAPES)
        self.assertLessEqual(len(layer._cache[1]), plans.MAX_SHAPES + 1)

    def test_repr_and_help(self):
        for layer, text in (
                (SSM2d(6, norm="half", layout="BCHW"),
                 "SSM2d(channels=6, norm='half', layout='BCHW')"),
                (S4ND(6, rate=0.5, layout="BCHW"), "S4ND(channels=6, rate=0.5, layout='BCHW')"),
                (EMA(6, shift=False), "EMA(channels=6, shift=False)"),
                (Layer("ema", 6, backend="torch"), "Layer('ema', channels=6, backend='torch')")):
            self.assertEqual(repr(layer), text)
        for module in (SSM2d, S4ND, EMA):
            for name in ssm2d.kinds[module.kind].options:
                self.assertIn(f"    {name}: ", module.__doc__)
                self.assertIn(name, inspect.signature(module).parameters)


def make_with(layer) -> SSM2d:
    other = make()
    other.load_state_dict({name: getattr(layer, name).detach() for name in layer.names})
    return other


class Errors(Case):
    def test_construction(self):
        for module, wrong, kind, part in (
                (SSM2d, dict(layout="CHW"), ValueError, "layout='CHW'"),
                (SSM2d, dict(backend="cuda"), ValueError, "backend='cuda'"),
                (SSM2d, dict(algorithm="magic"), ValueError, "algorithm='magic'"),
                (SSM2d, dict(n_ssm=-1), ValueError, "n_ssm=-1"),
                (SSM2d, dict(dtype=torch.int64), TypeError, "dtype=torch.int64"),
                (SSM2d, dict(init="no"), ValueError, "init='no'"),
                (SSM2d, dict(width=3), TypeError, 'ssm2d has no setting "width"'),
                (S4ND, dict(d_state=3), ValueError, "d_state=3: must be even"),
                (S4ND, dict(rate=0), ValueError, "rate=0.0: use"),
                (S4ND, dict(directions=2), TypeError, 's4nd has no setting "directions"'),
                (S4ND, dict(algorithm="scan"), ValueError, "algorithm='scan'"),
                (EMA, dict(shift=1), TypeError, "shift=1: use True or False"),
                (EMA, dict(d_state=2.5), TypeError, "d_state=2.5: use a whole number"),
                (EMA, dict(init="identity"), ValueError, "init='identity'")):
            with self.assertRaises(kind, msg=wrong) as caught:
                module(6, **wrong)
            self.assertIn(part, str(caught.exception))

    @for_each_kind
    def test_wrong_dtype_with_kernels_at_hand(self, kind):
        for training in (False, True):
            layer = make(6, kind).train(training)
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

    @for_each_kind
    def test_inputs(self, kind):
        for backend in ("auto", backends(kind)[-1]):
            layer = make(6, kind, backend=backend)
            for u, exception, part in (
                    (self.u[0], ValueError, "u: shape (5, 4, 6), expected 4 dimensions"),
                    (self.u[..., :5], ValueError, "channels=6"),
                    (self.u.float(), TypeError, "u: dtype torch.float32"),
                    (self.u.long(), TypeError, "u: dtype torch.int64"),
                    (self.u.numpy(), TypeError, "ndarray"),
                    (self.u.to("meta"), ValueError, "u: on meta")):
                with self.assertRaises(exception) as caught:
                    layer(u)
                self.assertIn(part, str(caught.exception))

    def test_calls(self):
        with self.assertRaisesRegex(TypeError, "u: dtype torch.bfloat16"):
            make().bfloat16()(self.u.bfloat16())
        with self.assertRaisesRegex(ValueError, "backend='library'"):
            make(backend="library")(self.u.to("meta"))
        with self.assertRaisesRegex(ValueError, "rows=0"):
            make().kernel(rows=0, cols=3)
        with self.assertRaisesRegex(ValueError, "trunc=4"):
            make(kind="ema", trunc=4, algorithm="scan")(self.u)
        with self.assertRaisesRegex(ValueError, "max_bytes"):
            make(max_bytes=100)(self.u)
        layer = make()
        layer.C = torch.nn.Parameter(torch.zeros(2, 3, 4, dtype=torch.float64))
        with self.assertRaisesRegex(ValueError, r"parameter C: shape \(2, 3, 4\)"):
            layer(self.u)
        with self.assertRaisesRegex(ValueError, "threads=0"):
            set_num_threads(0)

    @for_each_kind
    def test_empty_batch(self, kind):
        for backend in backends(kind):
            u = self.u[:0].requires_grad_()
            y = make(6, kind, backend=backend)(u)
            self.assertEqual(y.shape, u.shape)
            y.sum().backward()

    def test_other_devices_take_the_torch_path(self):
        layer = make().to("meta")
        self.assertEqual(layer(self.u.to("meta")).shape, self.u.shape)
