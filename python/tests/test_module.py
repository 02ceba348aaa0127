"""The PyTorch module: numbers, gradients, and everything PyTorch does to modules."""
import copy
import gc
import io
import os
import pickle
import tempfile
import threading
import unittest

import numpy as np

import ssm2d
from tests.support import GOLDEN, MODELS, error, golden_cases, options_of, torch
from tests.test_safetensors import pack, write

if torch is None:
    raise unittest.SkipTest("torch is not installed")
from torch.nn.utils import parametrize, prune
from torch.utils.checkpoint import checkpoint

from ssm2d.torch import SSM2d, decay_groups, set_num_threads
from ssm2d.torch import layer as implementation

VARIANTS = [dict(directions=r, complex=c, norm=n, **more) for r, c, n, more in (
    (1, False, "none", {}), (2, False, "relaxed", {}),
    (4, False, "paper", dict(c_per_channel=True, layer_norm=True)),
    (2, True, "half", dict(share_directions=True, average=True)),
    (4, "cartesian", "relaxed", dict(c_per_channel=True, skip=False)),
    (2, "polar", "paper", dict(pair="columns", trunc=(2, 3))),
    (4, False, "relaxed", dict(share_directions=True, c_per_channel=True)),
    (4, False, "relaxed", dict(assign="distinct")),
    (2, True, "relaxed", dict(assign="distinct", c_per_channel=True)),
    (4, False, "half", dict(assign="distinct", c_per_channel=True)),
    (4, False, "relaxed", dict(assign="distinct", share_directions=True)))]


def make(channels=6, *, dtype=torch.float64, **options) -> SSM2d:
    settings = dict(d_state=3, n_ssm=2, init="authors", seed=5)
    layer = SSM2d(channels, dtype=dtype, **{**settings, **options})
    with torch.no_grad():
        for p in layer.parameters():  # gamma and beta too
            p.add_(0.1 * torch.randn(p.shape, dtype=p.dtype,
                                     generator=torch.Generator().manual_seed(p.numel())))
    return layer


def call(layer, u, dy=None) -> list:
    """[y, du, gradients of the parameters]"""
    u = u.detach().requires_grad_()
    y = layer(u)
    grads = torch.autograd.grad(y, [u, *layer.parameters()], torch.ones_like(y) if dy is None
                                else dy)
    return [y.detach(), *grads]


class Case(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)
        self.u = torch.randn(2, 5, 4, 6, dtype=torch.float64)

    def assertClose(self, found, wanted, most=1e-10):
        self.assertEqual(len(found), len(wanted))
        for x, y in zip(found, wanted):
            self.assertLess(error(x.detach().numpy(), y.detach().numpy()), most)


class Numbers(Case):
    def test_gradcheck(self):
        for options in VARIANTS:
            for backend in ("library", "torch"):
                with self.subTest(options=options, backend=backend):
                    layer = make(3, backend=backend, **options)
                    names = [name for name, _ in layer.named_parameters()]

                    def function(u, *values):
                        call = torch.nn.utils.stateless.functional_call
                        return call(layer, dict(zip(names, values)), (u,))

                    inputs = [torch.randn(2, 3, 4, 3, dtype=torch.float64),
                              *[p.detach().clone() for p in layer.parameters()]]
                    self.assertTrue(torch.autograd.gradcheck(function,
                                                             [x.requires_grad_() for x in inputs]))

    def test_torch_path_equals_library(self):
        for options in VARIANTS:
            for rows, cols in ((5, 4), (1, 7), (6, 1), (1, 1), (9, 13)):
                with self.subTest(options=options, rows=rows, cols=cols):
                    layer, plain = make(backend="library", **options), make(backend="torch",
                                                                            **options)
                    u = torch.randn(2, rows, cols, 6, dtype=torch.float64)
                    dy = torch.randn_like(u)
                    self.assertClose(call(plain, u, dy), call(layer, u, dy))
                    names = {name: p.detach().numpy() for name, p in layer.named_parameters()}
                    want = ssm2d.kernel(names, rows, cols, **layer.config.settings)
                    self.assertLess(error(layer.kernel(rows, cols).detach().numpy(), want), 1e-10)

    @unittest.skipUnless(GOLDEN.is_dir(), f"no golden cases in {GOLDEN}")
    def test_golden(self):
        for name, case, options, arrays in golden_cases():
            for backend in ("library", "torch"):
                for layout in ("BCHW", "BHWC"):
                    for dtype, most in ((torch.float64, 1e-12), (torch.float32, 2e-5)):
                        with self.subTest(case=name, backend=backend, layout=layout, dtype=dtype):
                            layer = SSM2d(layout=layout, backend=backend, dtype=dtype, **options)
                            layer.load_state_dict({n: torch.from_numpy(arrays[n])
                                                   for n in layer.names})
                            u, dy = (torch.from_numpy(arrays[n]).to(dtype) for n in ("u", "dy"))
                            if layout == "BHWC":
                                u, dy = u.movedim(1, 3), dy.movedim(1, 3)
                            y, du, *grads = call(layer, u, dy)
                            if layout == "BHWC":
                                y, du = y.movedim(3, 1), du.movedim(3, 1)
                            self.assertLess(error(y, arrays["y"]), most)
                            self.assertLess(error(du, arrays["du"]), most)
                            for n, g in zip(layer.names, grads):
                                self.assertLess(error(g, arrays["d" + n]), most, n)

    def test_views_of_any_layout(self):
        layer = make()
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

    def test_input_and_output_are_not_copied(self):
        layer = make()
        seen = []
        real = implementation.lib

        class Spy:
            def __getattr__(self, name):
                return getattr(real, name)

            def ssm2d_forward(self, *arguments):
                seen.append(arguments[3:])
                return real.ssm2d_forward(*arguments)

            def ssm2d_apply(self, *arguments):
                seen.append(arguments[2:])
                return real.ssm2d_apply(*arguments)

        implementation.lib = Spy()
        self.addCleanup(setattr, implementation, "lib", real)
        tokens = torch.randn(2, 21, 6, dtype=torch.float64)
        for u in (self.u, self.u.transpose(1, 2), tokens[:, 1:].unflatten(1, (5, 4))):
            y = layer(u)
            self.assertEqual(seen.pop(), (u.data_ptr(), y.data_ptr()))
            with torch.no_grad():
                y = layer(u)
            self.assertEqual(seen.pop(), (u.data_ptr(), y.data_ptr()))

    def test_which_gradients_are_wanted(self):
        layer = make()
        _, du, *grads = call(layer, self.u)
        layer.B.requires_grad_(False)
        layer(self.u).sum().backward()
        self.assertIsNone(layer.B.grad)
        self.assertClose([layer.A.grad, layer.C.grad, layer.D.grad], [grads[0], grads[2], grads[3]])
        layer.requires_grad_(False)
        u = self.u.clone().requires_grad_()
        layer(u).sum().backward()
        self.assertClose([u.grad], [du])
        self.assertFalse(layer(self.u).requires_grad)


class Graphs(Case):
    def test_called_twice_before_backward(self):
        layer = make(layer_norm=True)
        v = torch.randn_like(self.u)
        a, b = call(layer, self.u), call(layer, v)
        u, v = self.u.requires_grad_(), v.requires_grad_()
        y, z = layer(u), layer(v)
        (y.sum() + z.sum()).backward()
        self.assertClose([u.grad, v.grad], [a[1], b[1]])
        self.assertClose([p.grad for p in layer.parameters()],
                         [g + h for g, h in zip(a[2:], b[2:])])
        for p in layer.parameters():
            p.grad = None
        layer(layer(u)).sum().backward()  # into itself
        plain = make(layer_norm=True, backend="torch")
        plain(plain(u)).sum().backward()
        self.assertClose([p.grad for p in layer.parameters()], [p.grad for p in plain.parameters()])

    def test_retained_graph(self):
        layer = make(layer_norm=True)
        wanted = call(layer, self.u)
        u = self.u.clone().requires_grad_()
        y = layer(u)
        inputs = [u, *layer.parameters()]
        self.assertClose(torch.autograd.grad(y.sum(), inputs, retain_graph=True), wanted[1:])
        call(layer, torch.randn_like(u))  # takes the workspace
        self.assertClose(torch.autograd.grad(y.sum(), inputs), wanted[1:])
        with self.assertRaises(RuntimeError):
            torch.autograd.grad(y.sum(), inputs)

    def test_workspaces_are_used_again(self):
        layer = make(7, layer_norm=True)
        u = torch.randn(3, 4, 4, 7, dtype=torch.float64)
        for _ in range(5):
            loss = layer(u).sum()  # the last step's graph lives until here
            loss.backward()
        layer(u)  # a graph that nobody goes back through
        gc.collect()
        plan = layer._runner.shape(u, 1).plan
        self.assertEqual(len(plan.free), 1)

    def test_second_derivative_is_refused(self):
        layer = make()
        u = self.u.requires_grad_()
        du, = torch.autograd.grad(layer(u).pow(2).sum(), u, create_graph=True)
        self.assertClose([du], torch.autograd.grad(layer(u).pow(2).sum(), u))
        with self.assertRaisesRegex(RuntimeError, "no second derivatives"):
            du.sum().backward()
        plain = make(backend="torch")
        du, = torch.autograd.grad(plain(u).pow(2).sum(), u, create_graph=True)
        du.sum().backward()

    def test_checkpoint_and_hooks_on_saved_tensors(self):
        layer = make(layer_norm=True)
        wanted = call(layer, self.u)
        transposed = self.u.transpose(1, 2).contiguous().transpose(1, 2)
        for way in ("reentrant", "not reentrant", "cpu", "contiguous"):
            u = transposed.detach().requires_grad_()
            if way == "cpu":
                with torch.autograd.graph.save_on_cpu():
                    y = layer(u)
            elif way == "contiguous":
                with torch.autograd.graph.saved_tensors_hooks(lambda x: x.contiguous().clone(),
                                                              lambda x: x):
                    y = layer(u)
            else:
                y = checkpoint(layer, u, use_reentrant=way == "reentrant")
            y.sum().backward()
            with self.subTest(way=way):
                self.assertClose([y, u.grad, *[p.grad for p in layer.parameters()]], wanted)
            layer.zero_grad(set_to_none=True)

    def test_parameters_may_change_before_backward(self):
        layer = make()
        wanted = call(layer, self.u)
        y = layer(self.u)
        with torch.no_grad():
            layer.A.zero_()
        y.sum().backward()
        self.assertClose([layer.A.grad], [wanted[2]])

    def test_input_must_not_change_before_backward(self):
        layer = make()
        u = self.u.clone()
        y = layer(u)
        u.zero_()
        with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
            y.sum().backward()


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


class Squares(torch.utils.data.Dataset):
    """Runs a layer that was made, and used, before the workers were forked."""

    def __init__(self, layer, u):
        self.layer, self.u = layer, u

    def __len__(self):
        return 8

    def __getitem__(self, i):
        return call(self.layer, self.u * (i + 1))[1]


class Threads(Case):
    def test_python_threads(self):
        layer = make(32, layer_norm=True)
        # long enough to meet
        inputs = [torch.randn(4, 12, 12, 32, dtype=torch.float64) for _ in range(6)]
        wanted = [call(layer, u) for u in inputs]
        problems = []
        frozen = copy.deepcopy(layer).eval()

        def work(i):
            try:
                for _ in range(10):
                    self.assertClose(call(layer, inputs[i]), wanted[i])
                    with torch.no_grad():
                        for _ in range(3):
                            self.assertClose([frozen(inputs[i])], wanted[i][:1])
            except BaseException as problem:
                problems.append(problem)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(problems, [])

    def test_thread_count(self):
        layer = make()
        before = torch.get_num_threads()
        self.addCleanup(torch.set_num_threads, before)
        self.addCleanup(set_num_threads, None)
        results = []
        for torch_says, given, count in ((1, None, 1), (2, None, 2), (1, 3, 3)):
            torch.set_num_threads(torch_says)
            set_num_threads(given)
            results.append(call(layer, self.u))
            self.assertIn(count, [key[-1] for key in layer._runner.shapes])
        for other in results[1:]:
            for x, y in zip(results[0], other):
                # the number of threads does not matter to the last bit
                self.assertTrue(torch.equal(x, y))

    def test_data_loader_workers(self):
        layer = make()
        wanted = [call(layer, self.u * (i + 1))[1] for i in range(8)]
        loader = torch.utils.data.DataLoader(Squares(layer, self.u), batch_size=None, num_workers=2)
        self.assertClose(list(loader), wanted)

    def test_fork(self):
        self.addCleanup(set_num_threads, None)
        set_num_threads(2)
        u = torch.randn(8, 9, 9, 64, dtype=torch.float64)
        layer = make(64)
        wanted = call(layer, u)
        graph = layer(u)
        child = os.fork()
        if not child:
            status = 1
            try:
                graph.sum().backward()  # a graph from before the fork
                self.assertClose([layer.A.grad], [wanted[2]])
                self.assertClose(call(layer, u), wanted)
                self.assertClose([copy.deepcopy(layer)(u)], wanted[:1])
                status = 0
            finally:
                os._exit(status)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertClose(call(layer, u), wanted)


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
        import json
        count = 0
        for folder in sorted(MODELS.iterdir()):
            if not folder.is_dir():
                continue
            config = json.loads((folder / "config.json").read_text())
            weights = ssm2d.load_safetensors(folder / "weights.safetensors")
            total = sum(w.size for w in weights.values())
            self.assertEqual(total,
                             json.loads((folder / "expected.json").read_text())["parameters"])
            mixer = config["mixer"]
            if not mixer or mixer["kind"] != "ssm2d":
                continue
            for prefix in {name.split(".mixer.")[0] for name in weights if ".mixer." in name}:
                with self.subTest(case=folder.name, prefix=prefix):
                    width = weights[f"{prefix}.mixer.D"].size
                    layer = SSM2d(width,
                                  **options_of(mixer)).load_mixer(folder / "weights.safetensors",
                                                                  prefix)
                    np.testing.assert_array_equal(layer.D.detach().numpy(),
                                                  weights[f"{prefix}.mixer.D"])
                    count += 1
        self.assertGreaterEqual(count, 8)


if __name__ == "__main__":
    unittest.main()
