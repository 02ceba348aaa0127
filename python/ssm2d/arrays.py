"""The layer on NumPy arrays: kernel, forward, scan, and a stream that takes a row at a time."""
from typing import Mapping, Union

import numpy as np

from . import _library
from ._library import PlanOptions, Strides, Workspace, check, lib
from .config import Config

LAYOUTS = {"BHWC": (0, 1, 2, 3), "BCHW": (0, 2, 3, 1)}  # where batch, rows, columns, channels are
TYPES = {"float32": 0, "float64": 1}
INITS = ("identity", "authors")
Params = Union[np.ndarray, Mapping[str, np.ndarray]]


def order(layout: str) -> tuple:
    if layout not in LAYOUTS:
        raise ValueError(f"layout={layout!r}: use 'BHWC' or 'BCHW'")
    return LAYOUTS[layout]


def number_type(dtype, name: str) -> int:
    kind = str(np.dtype(dtype))
    if kind not in TYPES:
        raise TypeError(f"{name}: dtype {kind}; use float32 or float64")
    return TYPES[kind]


def address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def plan(config: Config, batch: int, rows: int, cols: int, type: int, algorithm: str = "auto",
         inference: bool = True,
         strides: tuple = (0, 0, 0, 0), out_strides: tuple = (0, 0, 0, 0), threads: int = 0,
         measure: bool = False,
         max_bytes: int = 0) -> _library.Plan:
    for name, value in (("batch", batch), ("rows", rows), ("cols", cols)):
        if value < 1:
            raise ValueError(f"{name}={value}: use 1 or more")
    options = PlanOptions(batch=batch, rows=rows, cols=cols, type=type,
                          algorithm=algorithm.encode(), measure=measure,
                          inference=inference, max_bytes=max_bytes, input=Strides(*strides),
                          output=Strides(*out_strides))
    return _library.Plan(_library.context(threads), config, options)


def init_params(*, init: str = "identity", seed: int = 0, dtype=np.float32, **options) -> dict:
    """Initial parameters by name. The same seed gives the same numbers everywhere."""
    config = Config(**options)
    if init not in INITS:
        raise ValueError(f"init={init!r}: use one of {', '.join(map(repr, INITS))}")
    if not 0 <= seed < 2**64:
        raise ValueError(f"seed={seed}: use 0 to 2**64 - 1")
    flat = np.empty(config.total, dtype)
    kind = number_type(dtype, "dtype")
    check(lib.ssm2d_params_init, config.address, INITS.index(init), seed, kind, address(flat))
    return {p.name: flat[p.offset:p.offset + p.size].reshape(p.shape) for p in config.params}


def flatten(config: Config, params: Params, dtype) -> np.ndarray:
    """One array of all parameters, checked, from a mapping by name (or from such an array)."""
    if isinstance(params, Mapping):
        flat = np.empty(config.total, dtype)
        unknown = set(params) - {p.name for p in config.params}
        if unknown:
            raise ValueError(f"params: {', '.join(sorted(unknown))} is not of this layer, which "
                             f"has "
                             f"{', '.join(p.name for p in config.params)}")
        for p in config.params:
            if p.name not in params:
                raise ValueError(f"params: {p.name} is missing")
            value = np.asarray(params[p.name])
            if value.shape != p.shape:
                raise ValueError(f"params[{p.name!r}]: shape {value.shape}, expected {p.shape}")
            flat[p.offset:p.offset + p.size] = value.reshape(-1)
    else:
        flat = np.ascontiguousarray(params, dtype)
        if flat.shape != (config.total,):
            raise ValueError(f"params: shape {flat.shape}, expected a mapping by name or "
                             f"{config.total} numbers")
    check(lib.ssm2d_params_check, config.address, number_type(dtype, "params"), address(flat))
    return flat


def _channels_of(params: Params, options: dict) -> dict:
    """Fills in `channels` from D, gamma or beta when it was not given."""
    if "channels" not in options and isinstance(params, Mapping):
        for name in ("D", "gamma"):
            if name in params:
                return dict(options, channels=np.asarray(params[name]).size)
    return options


def kernel(params: Params, rows: int, cols: int, *, dtype=None, threads: int = 0,
           **options) -> np.ndarray:
    """The causal kernel of every direction and channel, [directions][channels][rows][cols], without
    D."""
    config = Config(**_channels_of(params, options))
    if dtype is None:
        dtype = np.asarray(next(iter(params.values())) if isinstance(params, Mapping)
                           else params).dtype
    flat = flatten(config, params, dtype)
    p = plan(config, 1, rows, cols, number_type(dtype, "params"), threads=threads)
    out = np.empty((config.directions, config.channels, rows, cols), dtype)
    workspace = Workspace(p)
    lib.ssm2d_kernel(p.address, workspace.address, address(flat), address(out))
    return out


def forward(u: np.ndarray, params: Params, *, layout: str = "BHWC", algorithm: str = "auto",
            threads: int = 0,
            **options) -> np.ndarray:
    """The layer's output for u (batch, rows, columns, channels, or as `layout` says), in the same
    layout and dtype."""
    axes = order(layout)
    u = np.asarray(u)
    if u.ndim != 4:
        raise ValueError(f"u: shape {u.shape}, expected four dimensions ({layout})")
    kind = number_type(u.dtype, "u")
    sizes = [u.shape[a] for a in axes]
    if "channels" in options and options["channels"] != sizes[3]:
        raise ValueError(f"u: {sizes[3]} channels in layout {layout}, but "
                         f"channels={options['channels']}")
    config = Config(**dict(options, channels=sizes[3]))
    flat = flatten(config, params, u.dtype)
    if any(s % u.itemsize for s in u.strides) or 0 in u.strides or not u.flags.aligned:
        u = u.copy()
    y = np.empty(u.shape, u.dtype)
    strides = [[a.strides[axis] // a.itemsize for axis in axes] for a in (u, y)]
    p = plan(config, *sizes[:3], kind, algorithm, strides=strides[0], out_strides=strides[1],
             threads=threads)
    workspace = Workspace(p)
    lib.ssm2d_forward(p.address, workspace.address, address(flat), address(u), address(y))
    return y


def scan(u: np.ndarray, params: Params, *, layout: str = "BHWC", threads: int = 0,
         **options) -> np.ndarray:
    """The same as `forward`, by the recurrence over rows instead of a convolution."""
    return forward(u, params, layout=layout, algorithm="scan", threads=threads, **options)


class Stream:
    """The layer as a recurrence that takes a row at a time and keeps one row of state, for
    directions that look up
    only: `directions=1`, or `directions=2` with `pair="columns"`."""

    def __init__(self, params: Params, batch: int, cols: int, *, dtype=np.float32, threads: int = 0,
                 **options):
        self.config = Config(**_channels_of(params, options))
        self.dtype = np.dtype(dtype)
        flat = flatten(self.config, params, self.dtype)
        context = _library.context(threads)
        self.stream = _library.Owner(lib.ssm2d_stream_destroy, context.handle,
                                     lib.ssm2d_stream_create, context.address,
                                     self.config.address, batch, cols, number_type(dtype, "dtype"),
                                     address(flat))
        self.shape = (batch, cols, self.config.channels)

    def push(self, u: np.ndarray) -> np.ndarray:
        """The output for the next row, (batch, columns, channels)."""
        u = np.ascontiguousarray(u, self.dtype)
        if u.shape != self.shape:
            raise ValueError(f"u: shape {u.shape}, expected a row of {self.shape} (batch, columns, "
                             f"channels)")
        y = np.empty_like(u)
        lib.ssm2d_stream_push(self.stream.address, address(u), address(y))
        return y

    def reset(self) -> None:
        """Back to before the first row."""
        lib.ssm2d_stream_reset(self.stream.address)
