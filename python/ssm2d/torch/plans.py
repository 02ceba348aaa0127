"""Runs the library on CPU tensors: plans and workspaces, which layers with the same configuration
share, and the autograd function of eager calls."""
import weakref
from typing import Optional

import torch

from .. import arrays
from .._library import DOUBLE, FLOAT, Workspace, check, typed
from ..config import Config
from . import tracing

TYPES = {torch.float32: FLOAT, torch.float64: DOUBLE}
CHECKS = {dtype: typed("ssm2d_params_check", type) for dtype, type in TYPES.items()}
MAX_SHAPES = 32  # plans kept by layers of one configuration
MAX_HOLES = 4    # a view may reach over this many times its own elements before it is copied

_threads: Optional[int] = None


def set_num_threads(threads: Optional[int]) -> None:
    """Sets the number of threads that the library uses; None: torch.get_num_threads() at each
    call."""
    global _threads
    if threads is not None and (isinstance(threads, bool) or not isinstance(threads, int)
                                or threads < 1):
        raise ValueError(f"threads={threads!r}: use a whole number from 1, or None")
    _threads = threads


def get_num_threads() -> int:
    return _threads or torch.get_num_threads()


# ---- plans ---------------------------------------------------------------------------------------

def overlaps(size, stride) -> bool:
    """Whether two cells of a view may share an element."""
    reach = 0
    for length, step in sorted((s for s in zip(size, stride) if s[0] > 1), key=lambda s: s[1]):
        if step <= reach:
            return True
        reach += (length - 1) * step
    return False


def check_input(u, layout: str, channels: int) -> tuple:
    """The axes of batch, grid and channels; raises an error if the shape of u does not fit."""
    axes = arrays.order(layout)
    sizes = tracing.sizes(u)
    if len(sizes) != len(axes):
        raise ValueError(f"u: shape {tuple(sizes)}, expected {len(axes)} dimensions ({layout})")
    if sizes[axes[-1]] != channels:
        raise ValueError(f"u: {sizes[axes[-1]]} channels (shape {tuple(sizes)}, layout "
                         f"{layout}), but the layer has channels={channels}")
    return axes


class Shape:
    """The plan for inputs of one shape, strides and dtype."""
    __slots__ = ("copy", "plan", "stride", "out_stride", "dense", "__weakref__")

    def zeros(self, u):
        """An array for the gradient of u, with u's strides."""
        if self.dense:
            return torch.zeros_like(u)
        return torch.empty_strided(u.shape, self.stride, dtype=u.dtype).zero_()


class Runner:
    """The plans of layers with one configuration, by shape."""

    def __init__(self, config: Config, layout: str, algorithm: str, measure: bool, max_bytes: int):
        self.config, self.layout, self.algorithm = config, layout, algorithm
        self.measure, self.max_bytes = measure, max_bytes
        self.shapes = {}

    def shape(self, u: torch.Tensor, grad: int) -> Shape:
        """grad: 0 for none, 1 for parameters only, 2 for the input as well."""
        threads = _threads or torch.get_num_threads()
        key = (u.shape, u.stride(), u.dtype, grad, threads)
        found = self.shapes.get(key)
        if found is None:
            made = self.make(u, grad, threads)
            while len(self.shapes) >= MAX_SHAPES:
                try:
                    # the oldest; current users keep it alive
                    del self.shapes[next(iter(self.shapes))]
                except (KeyError, RuntimeError, StopIteration):
                    pass  # another thread was quicker
            found = self.shapes.setdefault(key, made)
        return found

    def make(self, u: torch.Tensor, grad: int, threads: int) -> Shape:
        axes = check_input(u, self.layout, self.config.channels)
        if u.dtype not in TYPES:
            raise TypeError(f"u: dtype {u.dtype}; on the CPU use torch.float32 or torch.float64")
        made = Shape()
        made.stride = u.stride()
        reach = 1 + sum((length - 1) * step for length, step in zip(u.shape, made.stride))
        made.copy = overlaps(u.shape, made.stride) or (grad == 2 and reach > MAX_HOLES * u.numel())
        if made.copy:
            return made
        made.out_stride = torch.empty_like(u, device="meta").stride()
        made.dense = made.stride == made.out_stride
        batch, *grid, _ = [u.shape[a] for a in axes]
        made.plan = arrays.plan(self.config, batch, grid, TYPES[u.dtype], self.algorithm,
                                inference=not grad, strides=[made.stride[a] for a in axes],
                                out_strides=[made.out_stride[a] for a in axes], threads=threads,
                                measure=self.measure, max_bytes=self.max_bytes)
        return made

    def fit(self, u: torch.Tensor, grad: int) -> tuple:
        """u, or a copy that the library can read, and its Shape."""
        shape = self.shape(u, grad)
        if shape.copy:
            u = u.contiguous()
            shape = self.shape(u, grad)
        return u, shape


_runners = weakref.WeakValueDictionary()


def runner(*key) -> Runner:
    return _runners.get(key) or _runners.setdefault(key, Runner(*key))


# ---- executing -----------------------------------------------------------------------------------

def check_params(config: Config, flat: torch.Tensor, u: torch.Tensor) -> None:
    """Refuses parameters whose dtype differs from u's, or that are not finite."""
    if flat.dtype is not u.dtype:
        raise TypeError(f"u: dtype {u.dtype}, but the layer's parameters are {flat.dtype}; "
                        f"convert one of them")
    if CHECKS[flat.dtype](config.address, flat.data_ptr(), None):
        check(CHECKS[flat.dtype], config.address, flat.data_ptr())  # raises, by name


def with_strides(tensor: torch.Tensor, stride) -> torch.Tensor:
    """The tensor, or a copy that has these strides on axes longer than 1."""
    if tensor.stride() == stride or all(x == y or length == 1 for length, x, y
                                        in zip(tensor.shape, tensor.stride(), stride)):
        return tensor
    return torch.empty_strided(tensor.shape, stride, dtype=tensor.dtype).copy_(tensor)


def forward(shape: Shape, workspace: Workspace, flat, u) -> torch.Tensor:
    y = torch.empty_strided(u.shape, shape.out_stride, dtype=u.dtype)
    plan = shape.plan
    plan.forward(plan.address, workspace.address, flat.data_ptr(), u.data_ptr(), y.data_ptr())
    return y


def apply(shape: Shape, workspace: Workspace, u) -> torch.Tensor:
    """Runs forward in a workspace that holds the kernels."""
    y = torch.empty_strided(u.shape, shape.out_stride, dtype=u.dtype)
    plan = shape.plan
    plan.apply(plan.address, workspace.address, u.data_ptr(), y.data_ptr())
    return y


def backward(shape: Shape, workspace: Workspace, flat, u, dy, of_u=True, of_params=True) -> tuple:
    """Gradients of input and parameters, each None if not requested."""
    du = shape.zeros(u) if of_u else None
    dflat = torch.zeros_like(flat) if of_params else None
    plan = shape.plan
    plan.backward(plan.address, workspace.address, flat.data_ptr(), u.data_ptr(), dy.data_ptr(),
                  du.data_ptr() if of_u else None, dflat.data_ptr() if of_params else None)
    return du, dflat


class Lease:
    """A workspace that forward keeps for backward; it is returned to its pool after that, or when
    the graph is freed."""
    __slots__ = ("pool", "held")

    def __init__(self, pool: list, workspace: Workspace):
        self.pool = pool
        self.held = [workspace]

    def __del__(self):
        if self.held:
            self.pool.append(self.held.pop())


def execute_backward(ctx, dy) -> tuple:
    u, flat = ctx.saved_tensors
    shape, layer, lease, needs = ctx.shape, ctx.layer, ctx.lease, ctx.needs_input_grad
    u = with_strides(u, shape.stride)  # hooks on saved tensors may change the layout
    dy = with_strides(dy, shape.out_stride)
    pool = lease.pool
    try:
        workspace = lease.held.pop()
    # a second backward through a retained graph: the workspace may have served others since
    except IndexError:
        workspace, pool = shape.plan.take(), shape.plan.free
        forward(shape, workspace, flat, u)
    du, dflat = backward(shape, workspace, flat, u, dy, needs[0], True in needs[4:])
    pool.append(workspace)
    parts = [dflat.as_strided(*place) if need else None
             for place, need in zip(layer.places, needs[4:])]
    return (du, None, None, None, *parts)


class Apply(torch.autograd.Function):
    @staticmethod
    def forward(ctx, u, flat, shape, layer, *params):
        if layer.training:
            check_params(layer.config, flat, u)
            pool = shape.plan.free
            workspace = shape.plan.take()
            y = forward(shape, workspace, flat, u)
        else:
            pool, workspace = layer.prepared(shape, flat, u)
            y = apply(shape, workspace, u)
        ctx.save_for_backward(u, flat)
        ctx.shape = shape
        ctx.layer = layer
        ctx.lease = Lease(pool, workspace)
        return y

    @staticmethod
    def backward(ctx, dy):
        # Only with create_graph is there a graph in which the result could be differentiated.
        if not torch.is_grad_enabled():
            return execute_backward(ctx, dy)
        with torch.no_grad():
            gradients = execute_backward(ctx, dy)
        return tracing.refuse_second_derivative(gradients, ctx.layer.config.kind)
