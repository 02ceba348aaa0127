"""Helpers for tests of the PyTorch modules. Importing this skips the tests if torch is missing."""
import functools
import unittest

import ssm2d
from ssm2d import _library
from tests.support import error, torch

if torch is None:
    raise unittest.SkipTest("torch is not installed")
from ssm2d.torch import Layer, twins
from ssm2d.torch.layer import create

SMALL = {"ssm2d": dict(d_state=3, n_ssm=2, init="authors"), "s4nd": dict(d_state=4, n_ssm=2),
         "ema": dict(d_state=3),
         **{kind: dict(d_state=2, dt_rank=2) for kind in (
             "ssm2d_selective", "ss2d", "mamba2d", "scan2d")},
         "chimera": dict(d_qk=2, heads=3), "roesser": dict(d_qk=2, heads=3)}
# every option on which the PyTorch operations of a kind branch
VARIANTS = {
    "ssm2d": [dict(directions=r, complex=c, norm=n, **more) for r, c, n, more in (
        (1, False, "none", {}), (2, False, "relaxed", {}),
        (4, False, "paper", dict(c_per_channel=True, layer_norm=True)),
        (2, True, "half", dict(share_directions=True, average=True)),
        (4, "cartesian", "relaxed", dict(c_per_channel=True, skip=False)),
        (2, "polar", "paper", dict(pair="columns", trunc=(2, 3))),
        (4, False, "relaxed", dict(share_directions=True, c_per_channel=True)),
        (4, False, "relaxed", dict(activation="silu")),
        (2, "cartesian", "relaxed", dict(activation="silu", assign="paper", skip=False)),
        (4, False, "relaxed", dict(assign="distinct")),
        (4, False, "relaxed", dict(assign="paper")),
        (2, True, "relaxed", dict(assign="paper", c_per_channel=True)),
        (2, True, "relaxed", dict(assign="distinct", c_per_channel=True)),
        (4, False, "half", dict(assign="distinct", c_per_channel=True)),
        (4, False, "relaxed", dict(assign="distinct", share_directions=True)))],
    "s4nd": [{}, dict(d_state=6, n_ssm=5, rate=0.4), dict(dt_per_channel=True),
             dict(form="dplr", d_state=6, n_ssm=4), dict(form="dplr", n_ssm=9, rate=0.4)],
    "ema": [{}, dict(d_state=5, shift=False), dict(d_state=2, bidirectional=False),
            dict(trunc=4)],
    "ssm2d_selective": [
        dict(), dict(directions=1, norm="half"), dict(directions=2, norm="none", input_dt=False),
        dict(directions=2, pair="columns", c_cell=True, skip=False),
        dict(c_per_channel=True, assign="authors"),
        dict(share_directions=True, c_per_channel=True, c_cell=True),
        dict(share_directions=True), dict(assign="paper", c_cell=True)],
    "ss2d": [{}, dict(normalize=True)],
    "mamba2d": [{}, dict(corner="bottom_right"), dict(corner="both", directions=2)],
    "scan2d": [dict(directions=1), dict(normalize=True)],
    "chimera": [{}, dict(heads=1)],
    "roesser": [dict(directions=1, mode="P"), dict(mode="P", transition="tanh"),
                dict(directions=2, chirality="R"), dict(chirality="L", transition="tanh"),
                dict(heads=1, d_v=0)]}
# kinds on images; kinds of the library that are not listed are tested with their defaults
KINDS = [name for name, kind in ssm2d.kinds.items() if 2 in kind.axes]
# a few of them, for slower tests
CONFIGS = [("ssm2d", dict(directions=1)), ("ssm2d", dict(complex=True, layer_norm=True)),
           ("ssm2d", dict(complex="cartesian", average=True, trunc=3, layout="BCHW")),
           ("ssm2d", dict(norm="paper", skip=False, c_per_channel=True)),
           ("ssm2d", dict(activation="silu")), ("s4nd", dict(form="dplr")),
           ("ema", dict(bidirectional=False, trunc=3, layout="BCHW")), ("ema", dict(shift=False)),
           *[(kind, {}) for kind in KINDS if kind != "ssm2d"]]


def variants():
    """(kind, options) of layers that differ."""
    return [(kind, options) for kind in KINDS for options in VARIANTS.get(kind, [{}])]


def backends(kind: str) -> list:
    return ["library", "torch"] if twins.find(kind) else ["library"]


def make(channels=6, kind="ssm2d", *, dtype=torch.float64, **options) -> Layer:
    layer = create(kind, channels, dtype=dtype,
                   **{"seed": 5, **SMALL.get(kind, {}), **options})
    with torch.no_grad():
        for p in layer.parameters():  # gamma and beta too
            p.add_(0.1 * torch.randn(p.shape, dtype=p.dtype,
                                     generator=torch.Generator().manual_seed(p.numel())))
    return layer


def make_normed(kind: str, channels=6, **options) -> Layer:
    """The options plus the final norm, if the kind has one."""
    return make(channels, kind, **dict(layer_norm=True) if kind == "ssm2d" else {}, **options)


def input_of(options={}, batch=2, rows=5, cols=4, **how):
    sizes = (batch, 6, rows, cols) if options.get("layout") == "BCHW" else (batch, rows, cols, 6)
    return torch.randn(sizes, **how)


def call(layer, u, dy=None) -> list:
    """[y, du, gradients of the parameters]"""
    u = u.detach().requires_grad_()
    y = layer(u)
    grads = torch.autograd.grad(y, [u, *layer.parameters()], torch.ones_like(y) if dy is None
                                else dy)
    return [y.detach(), *grads]


def for_each_kind(test):
    """Decorator: runs a test once for each kind."""
    @functools.wraps(test)
    def run(self):
        for kind in KINDS:
            with self.subTest(kind=kind):
                self.setUp()
                test(self, kind)
    return run


class Case(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)
        self.u = torch.randn(2, 5, 4, 6, dtype=torch.float64)

    def assertClose(self, found, wanted, most=1e-10):
        self.assertEqual(len(found), len(wanted))
        # what is zero but for rounding (as the steps of S4ND's dplr on one cell) is compared with
        # the largest
        zero = 1e-13 * max(float(y.detach().abs().max()) for y in wanted)
        for x, y in zip(found, wanted):
            x, y = x.detach(), y.detach()
            if float(y.abs().max()) > zero or float(x.abs().max()) > zero:
                self.assertLess(error(x.numpy(), y.numpy()), most)

    def spy(self, layer) -> list:
        """A list to which each executing call of the library appends (name, arguments)."""
        calls, real = [], _library.typed

        def typed(name, type):
            function = real(name, type)
            return lambda *arguments: (calls.append((name, arguments)), function(*arguments))

        _library.typed = typed
        self.addCleanup(setattr, _library, "typed", real)
        layer._runner.shapes.clear()
        return calls
