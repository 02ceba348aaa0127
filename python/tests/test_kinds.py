"""Every kind and setting that the library lists, and misuse. Nothing is listed by hand."""
import ctypes
import pickle
import unittest

import numpy as np

import ssm2d
from ssm2d import _library
from ssm2d._library import DOUBLE, FLOAT, Setting, lib
from ssm2d.arrays import address, plan
from tests.support import error, torch

if torch:
    from ssm2d.torch import Layer, twins

CHANNELS = 12
# what a setting needs beside it
NEEDS = {("mamba2d", "directions", 2): dict(corner="both"),
         ("mamba2d", "corner", "both"): dict(directions=2),
         **{("roesser", "d_v", width): dict(heads=CHANNELS // width) for width in (2, 4, 6)}}
REFUSED = {("chimera", "project", False)}  # for arrays in files only

def values_of(option: ssm2d.config.Option) -> list:
    """Values to build a layer with: every one that can be chosen, or a few in between."""
    if option.type == Setting.FLAG:
        return [False, True]
    if option.choices or option.allowed:
        return option.choices or option.allowed
    if option.type == Setting.REAL:
        return [option.minimum, option.maximum, 0.5]
    return sorted({min(max(option.minimum, value), option.maximum) for value in (0, 2, 4, 6)})


def layers():
    """A layer for each value of each setting of each kind."""
    for kind, about in ssm2d.kinds.items():
        for name, option in about.options.items():
            for value in values_of(option):
                key = kind, name, value
                if key not in REFUSED:
                    settings = {"channels": CHANNELS, name: value, **NEEDS.get(key, {})}
                    yield ssm2d.Layer(kind, **settings), name, value


def settings_text(config) -> str:
    """All settings, as the library prints them."""
    text = ctypes.create_string_buffer(1000)
    lib.ssm2d_layer_settings(config.address, text, len(text))
    return text.value.decode()


def input_of(layer) -> np.ndarray:
    axes = len(ssm2d.arrays.default_layout(layer.config)) - 2
    shape = (2, *(4, 3, 2)[:axes], layer.config.channels)
    return np.random.default_rng(1).standard_normal(shape)


class Kinds(unittest.TestCase):
    def test_there_are_kinds(self):
        self.assertLessEqual({"ssm2d", "s4nd", "ema"}, set(ssm2d.kinds))
        for kind, about in ssm2d.kinds.items():
            self.assertEqual(about.name, kind)
            self.assertTrue(about.help and about.algorithms and about.axes)
            self.assertEqual(next(iter(about.options)), "channels")
            for name, option in about.options.items():
                self.assertIn(f"    {name}: {option.help} (", ssm2d.describe(kind))

    def test_every_setting(self):
        """The library understands what Python writes, and executes it."""
        count = 0
        for layer, name, value in layers():
            with self.subTest(layer=layer, value=value):
                count += 1
                config = layer.config
                self.assertEqual(config.settings[name], value)
                self.assertEqual(getattr(config, name), value)
                words = dict(word.split("=") for word in settings_text(config).split())
                self.assertEqual(list(words), list(config.settings))
                for key, given in config.settings.items():
                    parse = "true".__eq__ if isinstance(given, bool) else type(given)
                    self.assertEqual(parse(words[key]), given, key)
                self.assertEqual(config.total, sum(p.size for p in config.params))
                again = pickle.loads(pickle.dumps(config))
                self.assertEqual((again, hash(again)), (config, hash(config)))
                params = layer.init_params(dtype=np.float64)
                y = layer.forward(input_of(layer), params)
                self.assertTrue(np.isfinite(y).all())
        self.assertGreater(count, 60)

    def test_settings_that_need_others(self):
        for kind, name, value in (*NEEDS, *REFUSED):
            with self.assertRaisesRegex(ValueError, name):
                ssm2d.Layer(kind, **{"channels": CHANNELS, name: value})

    def test_values_out_of_bounds_are_refused_by_the_library(self):
        for kind, about in ssm2d.kinds.items():
            for option in about.options.values():
                if option.choices:
                    continue
                for value in (option.minimum - 1, option.maximum * 2 + 1, 10**30):
                    with self.assertRaisesRegex(ValueError, f"^{option.name}="):
                        ssm2d.Layer(kind, **{"channels": 4, option.name: value})

    def test_every_grid(self):
        """Grids of one axis and of three are the cells of two in the same order, for a kind that
        takes them in raster order; other kinds refuse what they do not have."""
        for kind, about in ssm2d.kinds.items():
            layer = ssm2d.Layer(kind, channels=4)
            params = layer.init_params(dtype=np.float64)
            for axes, layouts in ssm2d.arrays.LAYOUTS.items():
                for layout in layouts:
                    sizes = dict(B=2, C=4, L=24, D=2, H=3, W=4)
                    if axes == 2:
                        sizes["H"] = 6
                    u = np.random.default_rng(1).standard_normal([sizes[x] for x in layout])
                    with self.subTest(kind=kind, layout=layout):
                        if axes not in about.axes:
                            with self.assertRaisesRegex(ValueError, "axes"):
                                layer.forward(u, params, layout=layout)
                            continue
                        y = layer.forward(u, params, layout=layout)
                        if layout[-1] != "C":
                            last = layer.forward(np.moveaxis(u, 1, -1), params, layout=layouts[0])
                            self.assertLess(error(np.moveaxis(y, 1, -1), last), 1e-13)
                        elif kind == "ema":
                            flat = layer.forward(u.reshape(2, 24, 4), params, layout="BLC")
                            self.assertLess(error(y.reshape(flat.shape), flat), 1e-13)

    def test_what_a_kind_can_do(self):
        for kind, about in ssm2d.kinds.items():
            layer = ssm2d.Layer(kind, channels=4)
            params, sides = layer.init_params(), input_of(layer).shape[1:-1]
            if about.kernel:
                self.assertTrue(np.isfinite(layer.kernel(params, *sides)).all())
            else:
                with self.assertRaisesRegex(ValueError, f"{kind}.*no kernel.*; use forward$"):
                    layer.kernel(params, *sides)
            if not about.stream:
                with self.assertRaisesRegex(ValueError, kind):
                    layer.stream(params, 1, 4)


class Misuse(unittest.TestCase):
    """Errors of the library become exceptions, and nothing is computed."""

    def setUp(self):
        self.layer = ssm2d.Layer("ssm2d", channels=4)
        self.flat, self.u = np.zeros(self.layer.config.total), np.ones((1, 4, 4, 4))

    def plan(self, type=DOUBLE, inference=False):
        p = plan(self.layer.config, 1, (4, 4), type, inference=inference)
        return p, _library.Workspace(p)

    def refused(self, function, *arguments):
        with self.assertRaisesRegex(ValueError, f"^{function.__name__}: "):
            function(*arguments)

    def test_number_type_of_another_plan(self):
        p, workspace = self.plan(FLOAT)
        y = np.full_like(self.u, 7)
        self.refused(lib.ssm2d_forward_double, p.address, workspace.address, address(self.flat),
                     address(self.u), address(y))
        self.assertTrue((y == 7).all())
        stream = ssm2d.Stream(ssm2d.init_params(channels=4, directions=1), 1, 4, directions=1)
        self.refused(lib.ssm2d_stream_push_double, stream.stream.address, address(self.u),
                     address(y))

    def test_calls_in_the_wrong_order(self):
        p, workspace = self.plan()
        y = np.empty_like(self.u)
        arrays = [address(a) for a in (self.flat, self.u, y)]
        self.refused(p.apply, p.address, workspace.address, *arrays[1:])
        self.refused(p.backward, p.address, workspace.address, *arrays, None, arrays[0])
        self.refused(p.forward, p.address, workspace.address, None, *arrays[1:])
        other, _ = self.plan()
        self.refused(other.forward, other.address, workspace.address, *arrays)
        frozen, workspace = self.plan(inference=True)
        frozen.forward(frozen.address, workspace.address, *arrays)
        self.refused(frozen.backward, frozen.address, workspace.address, *arrays, None, arrays[0])

    def test_lines_of_the_library(self):
        for call, kind, line in (
                (lambda: ssm2d.Layer("s4md", channels=4), ValueError,
                 "kind=s4md: unknown kind of layer; did you mean s4nd"),
                (lambda: ssm2d.Layer(3, channels=4), TypeError, "kind=3"),
                (lambda: ssm2d.Layer("s4nd"), TypeError, "channels"),
                (lambda: ssm2d.Layer("s4nd", channels=4, n_sm=4), TypeError, "n_ssm"),
                (lambda: ssm2d.Layer("ssm2d", channels=4, norm="half d_state=2"), ValueError,
                 "norm='half d_state=2'"),
                (lambda: ssm2d.Layer("s4nd", channels=4, rate=float("nan")), ValueError, "rate="),
                (lambda: ssm2d.Layer("s4nd", channels=4, rate="1"), TypeError, "rate='1'"),
                (lambda: self.layer.backward(self.u, self.flat, self.u[0]), ValueError, "dy"),
                (lambda: self.layer.kernel(self.flat, 4, 4, 4, 4), ValueError, "grid"),
                (lambda: self.layer.init_params(seed=-1), ValueError, "seed=-1")):
            with self.assertRaises(kind, msg=line) as caught:
                call()
            self.assertIn(line, str(caught.exception))


@unittest.skipUnless(torch, "torch is not installed")
class Modules(unittest.TestCase):
    def module(self, layer, **options):
        return Layer(layer.config.kind, seed=0, dtype=torch.float64, **options,
                     **layer.config.settings)

    def test_every_setting(self):
        """The module computes what the layer on arrays computes, forward and backward."""
        for layer, name, value in layers():
            with self.subTest(layer=layer, value=value):
                module, u = self.module(layer), input_of(layer)
                arrays = layer.init_params(dtype=np.float64)
                x = torch.from_numpy(u).requires_grad_()
                y = module(x)
                np.testing.assert_array_equal(y.detach().numpy(), layer.forward(u, arrays))
                y.sum().backward()
                du, dparams = layer.backward(u, arrays, np.ones_like(u))
                np.testing.assert_array_equal(x.grad.numpy(), du)
                for key, p in module.named_parameters():
                    np.testing.assert_array_equal(p.grad.numpy(), dparams[key])

    def test_grids_of_other_axes(self):
        for backend in ("library", "torch"):
            for layout in ("BLC", "BCL", "BDHWC", "BCDHW"):
                module = Layer("ema", channels=4, layout=layout, backend=backend, seed=0,
                               dtype=torch.float64)
                u = torch.randn(2, *[4, 3, 2][:len(layout) - 2], 4, dtype=torch.float64)
                last = layout[-1] == "C"
                y = module(u if last else u.movedim(-1, 1))
                y = y if last else y.movedim(1, -1)
                flat = Layer("ema", channels=4, layout="BLC", seed=0, dtype=torch.float64)
                self.assertLess(error(y.flatten(1, -2).detach().numpy(),
                                      flat(u.flatten(1, -2)).detach().numpy()), 1e-12)
                with self.assertRaisesRegex(ValueError, "expected .* dimensions"):
                    module(u[0])

    def test_kind_without_torch_operations(self):
        """A kind without PyTorch operations, as every new kind of the library."""
        real = twins.find
        twins.find = lambda kind: None
        self.addCleanup(setattr, twins, "find", real)
        for kind in ssm2d.kinds:
            layer = ssm2d.Layer(kind, channels=4)
            with self.assertRaisesRegex(ValueError, f"backend='torch': kind '{kind}' has no"):
                Layer(kind, channels=4, backend="torch")
            module, u = self.module(layer), torch.from_numpy(input_of(layer)).requires_grad_()
            module(u).sum().backward()
            self.assertGreater(u.grad.abs().sum().item(), 0)
            recorded = torch.jit.trace(module, u.detach())
            self.assertLess((recorded(u) - module(u)).abs().max().item(), 1e-12)
            with self.assertRaisesRegex(ValueError, f"kind '{kind}' has no PyTorch operations"):
                module.to("meta")(u.to("meta"))
            module = self.module(layer)
            arrays = {n: p.detach().numpy() for n, p in module.named_parameters()}
            if ssm2d.kinds[kind].kernel:
                sides = u.shape[1:-1]
                np.testing.assert_array_equal(module.kernel(*sides).numpy(),
                                              layer.kernel(arrays, *sides))
            du, = torch.autograd.grad(module(u).square().sum(), u, create_graph=True)
            with self.assertRaisesRegex(RuntimeError, "no second derivatives$"):
                du.sum().backward()
