"""Layers on NumPy arrays: initial values, forward, backward, kernels, and a stream that takes a row
at a time. `Layer` is for every kind; the functions are for the 2-D SSM."""
from typing import Mapping, Optional, Union

import numpy as np

from . import _library
from ._library import Grid, PlanOptions, Strides, Workspace, check, lib, typed
from .config import Config, kinds

# by the number of axes of a grid
LAYOUTS = {1: ("BLC", "BCL"), 2: ("BHWC", "BCHW"), 3: ("BDHWC", "BCDHW")}
SIDES = {1: ("cells",), 2: ("rows", "cols"), 3: ("planes", "rows", "cols")}
TYPES = {"float32": _library.FLOAT, "float64": _library.DOUBLE}
MAX_RANK = 4  # of kernels
Params = Union[np.ndarray, Mapping[str, np.ndarray]]


def order(layout: str) -> tuple:
    """The axes of batch, grid and channels in a layout."""
    known = [name for names in LAYOUTS.values() for name in names]
    if layout not in known:
        raise ValueError(f"layout={layout!r}: use one of {', '.join(map(repr, known))}")
    return tuple(layout.index(letter) for letter in layout if letter != "C") + (layout.index("C"),)


def default_layout(config: Config) -> str:
    """Channels last, and two axes if the kind can have them."""
    axes = kinds[config.kind].axes
    return LAYOUTS[2 if 2 in axes else axes[0]][0]


def check_sides(sides, batch: int = 1) -> None:
    if len(sides) not in SIDES:
        raise ValueError(f"grid={tuple(sides)}: use one to three sides")
    for name, value in (("batch", batch), *zip(SIDES[len(sides)], sides)):
        if value < 1:
            raise ValueError(f"{name}={value}: use 1 or more")


def number_type(dtype, name: str) -> int:
    kind = str(np.dtype(dtype))
    if kind not in TYPES:
        raise TypeError(f"{name}: dtype {kind}; use float32 or float64")
    return TYPES[kind]


def address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def plan(config: Config, batch: int, grid, type: int, algorithm: str = "auto", *,
         inference: bool = True, strides=None, out_strides=None, threads: int = 0,
         measure: bool = False, max_bytes: int = 0) -> _library.Plan:
    """strides: of batch, the axes of the grid and channels, in elements; None: dense."""
    check_sides(grid, batch)

    def fill(s) -> Strides:
        return Strides(s[0], tuple(s[1:-1]), s[-1]) if s else Strides()

    options = PlanOptions(batch=batch, grid=Grid(len(grid), tuple(grid)), type=type,
                          algorithm=algorithm.encode(), measure=measure, inference=inference,
                          max_bytes=max_bytes, input=fill(strides), output=fill(out_strides))
    return _library.Plan(_library.context(threads), config, options)


def by_name(config: Config, flat: np.ndarray) -> dict:
    """Views of the parameter arrays in the flat array, by name."""
    return {p.name: flat[p.offset:p.offset + p.size].reshape(p.shape) for p in config.params}


def flatten(config: Config, params: Params, dtype) -> np.ndarray:
    """The flat array of all parameters, checked, from a mapping by name or from such an array."""
    if isinstance(params, Mapping):
        flat = np.empty(config.total, dtype)
        unknown = set(params) - {p.name for p in config.params}
        if unknown:
            raise ValueError(f"params: {', '.join(sorted(unknown))} is not of this layer, which "
                             f"has {', '.join(p.name for p in config.params)}")
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
                             f"{config.total} elements")
    check(typed("ssm2d_params_check", number_type(dtype, "params")), config.address, address(flat))
    return flat


def _strided(a: np.ndarray) -> np.ndarray:
    """The array, or a copy if the library cannot read it in place."""
    bad = any(s % a.itemsize for s in a.strides) or 0 in a.strides or not a.flags.aligned
    return a.copy() if bad else a


class Layer:
    """A layer of any kind: Layer("s4nd", channels=64, d_state=8).

    kind: one of `ssm2d.kinds`; threads: 0 for all processors; settings: of the kind, see
    `ssm2d.describe(kind)`. Arrays are (batch, rows, columns, channels), or as `layout` says, in
    float32 or float64. Parameters are a mapping by name, or the flat array of the library."""

    def __init__(self, kind: str, /, *, threads: int = 0, **settings):
        self.config, self.threads = Config(kind, **settings), threads

    def __repr__(self) -> str:
        settings = [f"{n}={v!r}" for n, v in self.config.changed.items()]
        return f"Layer({', '.join([repr(self.config.kind), *settings])})"

    @property
    def params(self) -> tuple:
        """The description of each parameter array: name, shape, .."""
        return self.config.params

    def init_params(self, *, seed: int = 0, dtype=np.float32) -> dict:
        """Initial parameters by name. The same seed gives the same values everywhere."""
        if not 0 <= seed < 2**64:
            raise ValueError(f"seed={seed}: use 0 to 2**64 - 1")
        flat = np.empty(self.config.total, dtype)
        check(typed("ssm2d_params_init", number_type(dtype, "dtype")), self.config.address, seed,
              address(flat))
        return by_name(self.config, flat)

    def _plan(self, u, layout: Optional[str], algorithm: str, inference: bool) -> tuple:
        """(u in a form that the library can read, an array for the result, the plan)"""
        layout = layout or default_layout(self.config)
        axes = order(layout)
        u = _strided(np.asarray(u))
        if u.ndim != len(axes):
            raise ValueError(f"u: shape {u.shape}, expected {len(axes)} dimensions ({layout})")
        type = number_type(u.dtype, "u")
        batch, *grid, channels = [u.shape[a] for a in axes]
        if channels != self.config.channels:
            raise ValueError(f"u: {channels} channels in layout {layout}, but "
                             f"channels={self.config.channels}")
        y = np.empty(u.shape, u.dtype)
        strides = [[a.strides[axis] // a.itemsize for axis in axes] for a in (u, y)]
        return u, y, plan(self.config, batch, grid, type, algorithm, inference=inference,
                          strides=strides[0], out_strides=strides[1], threads=self.threads)

    def forward(self, u: np.ndarray, params: Params, *, layout: Optional[str] = None,
                algorithm: str = "auto") -> np.ndarray:
        """The output for u, in its layout and dtype."""
        u, y, p = self._plan(u, layout, algorithm, True)
        flat, workspace = flatten(self.config, params, u.dtype), Workspace(p)
        p.forward(p.address, workspace.address, address(flat), address(u), address(y))
        return y

    def backward(self, u: np.ndarray, params: Params, dy: np.ndarray, *,
                 layout: Optional[str] = None, algorithm: str = "auto") -> tuple:
        """The gradients (du, {name: gradient}) of a loss whose gradient by the output is dy."""
        u, y, p = self._plan(np.ascontiguousarray(u), layout, algorithm, False)
        dy = np.ascontiguousarray(dy, u.dtype)
        if dy.shape != u.shape:
            raise ValueError(f"dy: shape {dy.shape}, expected that of u, {u.shape}")
        flat, workspace = flatten(self.config, params, u.dtype), Workspace(p)
        du = np.zeros(u.shape, u.dtype)
        dflat = np.zeros_like(flat)
        p.forward(p.address, workspace.address, address(flat), address(u), address(y))
        p.backward(p.address, workspace.address, address(flat), address(u), address(dy),
                   address(du), address(dflat))
        return du, by_name(self.config, dflat)

    def kernel(self, params: Params, *grid: int, dtype=None) -> np.ndarray:
        """The convolution kernels for a grid, such as (rows, columns), without the skip term (D,
        omega): for the 2-D SSM [directions][channels][rows][columns], causal. ssm2d.h has the
        shapes for other kinds."""
        if dtype is None:
            dtype = np.asarray(next(iter(params.values())) if isinstance(params, Mapping)
                               else params).dtype
        flat = flatten(self.config, params, dtype)
        p = plan(self.config, 1, grid, number_type(dtype, "params"), threads=self.threads)
        shape = (_library.c_size_t * MAX_RANK)()
        rank = lib.ssm2d_kernel_shape(p.address, shape)
        if not rank:
            raise ValueError(f"kind={self.config.kind!r}: layers of this kind have no kernel, as "
                             "their coefficients depend on the input; use forward")
        out, workspace = np.empty(shape[:rank], dtype), Workspace(p)
        p.kernel(p.address, workspace.address, address(flat), address(out))
        return out

    def stream(self, params: Params, batch: int, cols: int, *, dtype=np.float32) -> "Stream":
        """A stream: the layer as a recurrence over rows."""
        return Stream(params, batch, cols, dtype=dtype, layer=self)


# ---- functions for the 2-D SSM -------------------------------------------------------------------

def _layer(params: Params, threads: int, options: dict) -> Layer:
    """Fills in `channels` from D or gamma when it was not given."""
    if "channels" not in options and isinstance(params, Mapping):
        for name in ("D", "gamma"):
            if name in params:
                options = dict(options, channels=np.asarray(params[name]).size)
                break
    return Layer("ssm2d", threads=threads, **options)


def init_params(*, seed: int = 0, dtype=np.float32, **options) -> dict:
    """Initial parameters of a 2-D SSM by name. The same seed gives the same values everywhere."""
    return Layer("ssm2d", **options).init_params(seed=seed, dtype=dtype)


def kernel(params: Params, rows: int, cols: int, *, dtype=None, threads: int = 0,
           **options) -> np.ndarray:
    """The causal kernel of every direction and channel of a 2-D SSM,
    [directions][channels][rows][cols], without D."""
    return _layer(params, threads, options).kernel(params, rows, cols, dtype=dtype)


def forward(u: np.ndarray, params: Params, *, layout: str = "BHWC", algorithm: str = "auto",
            threads: int = 0, **options) -> np.ndarray:
    """The output of a 2-D SSM for u (batch, rows, columns, channels, or as `layout` says), in the
    same layout and dtype."""
    axes = order(layout)
    if "channels" not in options and np.ndim(u) == len(axes):
        options = dict(options, channels=np.shape(u)[axes[-1]])
    return _layer(params, threads, options).forward(u, params, layout=layout, algorithm=algorithm)


def scan(u: np.ndarray, params: Params, *, layout: str = "BHWC", threads: int = 0,
         **options) -> np.ndarray:
    """The same as `forward`, computed by the recurrence over rows instead of a convolution."""
    return forward(u, params, layout=layout, algorithm="scan", threads=threads, **options)


class Stream:
    """A layer as a recurrence that takes a row at a time and keeps one row of state, for layers
    whose output depends on earlier rows only: the 2-D SSM with `directions=1`, or `directions=2`
    and `pair="columns"`."""

    def __init__(self, params: Params, batch: int, cols: int, *, dtype=np.float32, threads: int = 0,
                 layer: Optional[Layer] = None, **options):
        layer = layer or _layer(params, threads, options)
        check_sides((1, cols), batch)
        self.config, self.dtype = layer.config, np.dtype(dtype)
        flat = flatten(self.config, params, self.dtype)
        context, type = _library.context(layer.threads), number_type(dtype, "dtype")
        self.stream = _library.Owner(lib.ssm2d_stream_destroy, context.handle,
                                     typed("ssm2d_stream_create", type), context.address,
                                     self.config.address, batch, cols, address(flat))
        self._push = typed("ssm2d_stream_push", type)
        self.shape = (batch, cols, self.config.channels)

    def push(self, u: np.ndarray) -> np.ndarray:
        """The output for the next row, (batch, columns, channels)."""
        u = np.ascontiguousarray(u, self.dtype)
        if u.shape != self.shape:
            raise ValueError(f"u: shape {u.shape}, expected a row of {self.shape} (batch, columns, "
                             f"channels)")
        y = np.empty_like(u)
        self._push(self.stream.address, address(u), address(y))
        return y

    def reset(self) -> None:
        """Resets the state to that before the first row."""
        lib.ssm2d_stream_reset(self.stream.address)
