"""NaN, infinity, the largest and the smallest values: they affect dependent outputs only, or
are refused by name."""
import copy
import unittest

import numpy as np

import ssm2d
from tests.support import torch

if torch:
    from ssm2d.torch import Layer, SSM2d

BATCH, ROWS, COLS, CHANNELS = 3, 9, 11, 5
CELL = (1, 4, 5, 2)  # image, row, column, channel
CONFIGS = (dict(directions=1), dict(directions=4), dict(directions=2, values="polar"))


def large(dtype) -> float:
    return float(np.finfo(dtype).max) * 0.9


def problem(config: dict, dtype) -> tuple:
    u = np.random.default_rng(1).standard_normal((BATCH, ROWS, COLS, CHANNELS)).astype(dtype)
    return u, ssm2d.init_params(channels=CHANNELS, seed=1, dtype=dtype, **config)


def elsewhere() -> np.ndarray:
    """Images and channels that do not depend on the cell."""
    mask = np.ones((BATCH, ROWS, COLS, CHANNELS), bool)
    mask[CELL[0], :, :, CELL[3]] = False
    return mask


def depends(config: dict) -> np.ndarray:
    """Outputs that depend on the cell, when the layer only looks up and to the left."""
    mask = ~elsewhere()
    if config["directions"] == 1:
        mask[:, :CELL[1]] = mask[:, :, :CELL[2]] = False
    elif config["directions"] == 2:
        row, col = np.indices((ROWS, COLS))
        reach = (row >= CELL[1]) & (col >= CELL[2]) | (row <= CELL[1]) & (col <= CELL[2])
        mask &= reach[None, :, :, None]
    return mask


class Arrays(unittest.TestCase):
    def test_inputs(self):
        for config in CONFIGS:
            for dtype in (np.float32, np.float64):
                u, params = problem(config, dtype)
                for algorithm in ("auto", "direct", "fft", "scan"):
                    clean = ssm2d.forward(u, params, algorithm=algorithm, **config)
                    for value in (np.nan, np.inf, -np.inf, large(dtype)):
                        spoilt = u.copy()
                        spoilt[CELL] = value
                        with np.errstate(all="ignore"):
                            y = ssm2d.forward(spoilt, params, algorithm=algorithm, **config)
                        told = f"{config} {dtype.__name__} {algorithm} {value}"
                        same = elsewhere()
                        if algorithm == "scan":
                            same = ~depends(config)
                        self.assertTrue((y == clean)[same].all(), told)
                        if not np.isfinite(value):
                            self.assertFalse(np.isfinite(y[depends(config)]).any(), told)

    def test_inputs_of_every_kind(self):
        """Other images keep every bit, and so do other channels unless coefficients depend on all
        channels."""
        for kind, about in ssm2d.kinds.items():
            layer, others = ssm2d.Layer(kind, channels=CHANNELS), elsewhere()
            if not about.kernel:
                others[CELL[0]] = False
            for dtype in (np.float32, np.float64):
                params, u = layer.init_params(seed=1, dtype=dtype), problem({}, dtype)[0]
                for algorithm in about.algorithms if 2 in about.axes else ():
                    clean = layer.forward(u, params, algorithm=algorithm)
                    for value in (np.nan, np.inf, -np.inf, large(dtype)):
                        spoilt = u.copy()
                        spoilt[CELL] = value
                        y = layer.forward(spoilt, params, algorithm=algorithm)
                        told = f"{kind} {dtype.__name__} {algorithm} {value}"
                        self.assertTrue((y == clean)[others].all(), told)
                        if np.isnan(value):
                            self.assertTrue(np.isnan(y[~others]).any(), told)

    def test_subnormal_inputs_count_as_zero(self):
        """Subnormal inputs count as zero, and other outputs stay correct."""
        u, params = problem(CONFIGS[1], np.float32)
        for algorithm in ("direct", "fft", "scan"):
            y = ssm2d.forward(u * np.float32(1e-41), params, algorithm=algorithm, **CONFIGS[1])
            self.assertLess(np.abs(y).max(), 1e-36)

    def test_parameters(self):
        for config in CONFIGS:
            for dtype in (np.float32, np.float64):
                u, params = problem(config, dtype)
                for name in params:
                    for value in (np.nan, np.inf, -np.inf):
                        spoilt = dict(params, **{name: params[name].copy()})
                        spoilt[name].flat[1] = value
                        for call in (lambda: ssm2d.forward(u, spoilt, **config),
                                     lambda: ssm2d.kernel(spoilt, 4, 4, **config),
                                     lambda: ssm2d.Stream(spoilt, 1, 4, dtype=dtype, directions=1)
                                     if config["directions"] == 1 else
                                     ssm2d.scan(u, spoilt, **config)):
                            with self.assertRaisesRegex(ValueError, rf"^{name}\[1\]=.*finite"):
                                call()
                    # through a sigmoid, or a factor of the output
                    spoilt = dict(params, **{name: params[name].copy()})
                    spoilt[name].flat[1] = large(dtype)
                    y = ssm2d.forward(u, spoilt, **config)
                    if name[0] in "AB":
                        self.assertTrue(np.isfinite(y).all(), name)

    def test_parameters_beyond_float_are_refused(self):
        """Parameters given as doubles that overflow float are refused, not made infinite."""
        u, params = problem(CONFIGS[0], np.float32)
        with self.assertRaisesRegex(ValueError, "D.*finite"), np.errstate(all="ignore"):
            ssm2d.forward(u, dict(params, D=np.full(CHANNELS, 1e300)), **CONFIGS[0])


@unittest.skipUnless(torch, "torch is not installed")
class Modules(unittest.TestCase):
    def layer(self, config: dict) -> "SSM2d":
        return SSM2d(CHANNELS, seed=1, **config)

    def test_inputs(self):
        mask = torch.from_numpy(elsewhere())
        for config in CONFIGS:
            for training in (True, False):
                for algorithm in ("direct", "fft", "scan"):
                    layer = self.layer(dict(config, algorithm=algorithm)).train(training)
                    u = torch.from_numpy(problem(config, np.float32)[0]).requires_grad_()
                    clean = layer(u)
                    dy = torch.randn_like(clean)
                    want = torch.autograd.grad(clean, u, dy)[0]
                    for value in (float("nan"), float("inf"), large(np.float32)):
                        spoilt = u.detach().clone()
                        spoilt[CELL] = value
                        spoilt.requires_grad_()
                        y = layer(spoilt)
                        self.assertTrue((y == clean)[mask].all())
                        if value != large(np.float32):
                            self.assertFalse(y.isfinite()[~mask].all())
                        du, dD = torch.autograd.grad(y, (spoilt, layer.D), dy)
                        # the layer is linear: the input's gradient does not depend on the input
                        self.assertTrue(torch.equal(du, want))
                        others = torch.arange(CHANNELS) != CELL[3]
                        self.assertTrue(dD[others].isfinite().all())
                        if value != value:
                            self.assertTrue(dD[CELL[3]].isnan())
                    # a gradient that comes in
                    bad = dy.clone()
                    bad[CELL] = float("nan")
                    du, = torch.autograd.grad(layer(u), u, bad)
                    self.assertTrue((du == want)[mask].all())
                    self.assertTrue(du[CELL].isnan())

    def test_parameters(self):
        u = torch.from_numpy(problem({}, np.float32)[0])
        for original in [*map(self.layer, CONFIGS),
                         *[Layer(kind, CHANNELS, seed=1) for kind in ssm2d.kinds]]:
            for value in (float("nan"), float("inf"), float("-inf")):
                for name in original.names:
                    layer = copy.deepcopy(original)
                    layer(u)
                    at = min(1, getattr(layer, name).numel() - 1)
                    with torch.no_grad():
                        getattr(layer, name).view(-1)[at] = value
                    for training in (True, False):
                        layer.train(training)
                        for how in (torch.enable_grad, torch.no_grad):
                            with how(), self.assertRaisesRegex(ValueError, rf"^{name}\[{at}\]="):
                                layer(u)
                    with torch.no_grad():  # and it works again
                        getattr(layer, name).view(-1)[at] = 0.25
                    self.assertTrue(layer(u).isfinite().all())

    def test_large_parameters(self):
        for config in CONFIGS:
            u = torch.from_numpy(problem(config, np.float32)[0]).requires_grad_()
            for name, p in self.layer(config).named_parameters():
                layer = self.layer(config)
                for value in (3e38, -3e38, 1e-40):
                    with torch.no_grad():
                        getattr(layer, name).view(-1)[1] = value
                    y = layer(u)
                    grads = torch.autograd.grad(y, (u, *layer.parameters()), torch.ones_like(y))
                    if name[0] in "AB" or abs(value) < 1:
                        self.assertTrue(all(t.isfinite().all() for t in (y, *grads)), name)
                    self.assertFalse(y.isnan().any() and name[0] in "AB")
