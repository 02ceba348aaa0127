"""What the modules S4ND and EMA share: CPU tensors go to the library as they are, others take the
module's own PyTorch operations."""
from contextlib import nullcontext
from typing import Optional

import torch
from torch import nn

from .. import _library, arrays
from .._library import PlanOptions, Strides, lib
from ..baselines import BaselineConfig, algorithms, options
from . import layer, tracing
from .layer import BACKENDS, TYPES, SSM2d, check_input, overlaps

MAX_SHAPES = 32  # plans kept by one module


class Shape:
    """What is decided once for inputs of one shape, strides and dtype."""
    __slots__ = ("copy", "plan", "stride", "out_stride")


class Lease:
    """A workspace that a forward keeps for its backward; goes back to its pool with the graph."""
    __slots__ = ("pool", "workspace")

    def __init__(self, plan):
        self.pool, self.workspace = plan.free, None
        self.workspace = plan.take()

    def __del__(self):
        if self.workspace is not None:
            self.pool.append(self.workspace)


def with_strides(x, stride):
    return x if x.stride() == stride else torch.empty_strided(x.shape, stride,
                                                              dtype=x.dtype).copy_(x)


class Apply(torch.autograd.Function):
    @staticmethod
    def forward(ctx, u, flat, shape, module, *params):
        y = torch.empty_strided(u.shape, shape.out_stride, dtype=u.dtype)
        lease = Lease(shape.plan)
        lib.ssm2d_baseline_forward(shape.plan.address, lease.workspace.address, flat.data_ptr(),
                                   u.data_ptr(), y.data_ptr())
        ctx.save_for_backward(u, flat)
        ctx.shape, ctx.module, ctx.lease = shape, module, lease
        return y

    @staticmethod
    def backward(ctx, dy):
        if not torch.is_grad_enabled():
            return execute_backward(ctx, dy)
        with torch.no_grad():
            gradients = execute_backward(ctx, dy)
        # Only with create_graph is there a graph in which the result could be differentiated.
        name = type(ctx.module).__name__.encode()
        refuse = torch._C._functions.DelayedError(
            name + b": the library has no second derivatives; use backend='torch'",
            len(gradients))
        return refuse(*[None if g is None else g.detach().requires_grad_() for g in gradients])


def execute_backward(ctx, dy):
    u, flat = ctx.saved_tensors
    shape, module, needs = ctx.shape, ctx.module, ctx.needs_input_grad
    u = with_strides(u, shape.stride)  # hooks on saved tensors may bring back another layout
    dy = with_strides(dy, shape.out_stride)
    du = torch.empty_strided(u.shape, shape.stride, dtype=u.dtype).zero_() if needs[0] else None
    dflat = torch.zeros_like(flat) if True in needs[4:] else None
    lib.ssm2d_baseline_backward(shape.plan.address, ctx.lease.workspace.address, flat.data_ptr(),
                                u.data_ptr(), dy.data_ptr(), None if du is None else du.data_ptr(),
                                None if dflat is None else dflat.data_ptr())
    parts = [dflat[p.offset:p.offset + p.size].view(p.shape) if need else None
             for p, need in zip(module.config.params, needs[4:])]
    return (du, None, None, None, *parts)


class Baseline(nn.Module):
    """Base of S4ND and EMA, which define kind and twin."""
    kind: str

    def __init__(self, channels: int, *, layout: str = "BHWC", init: str = "authors",
                 seed: Optional[int] = None, algorithm: str = "auto", backend: str = "auto",
                 measure: bool = False, max_bytes: int = 0, device=None, dtype=None, **options):
        super().__init__()
        self.config = BaselineConfig(self.kind, channels=channels, **options)
        arrays.order(layout)
        if backend not in BACKENDS:
            raise ValueError(f"backend={backend!r}: use one of {', '.join(map(repr, BACKENDS))}")
        names = algorithms(self.kind)
        if algorithm not in names:
            raise ValueError(f"algorithm={algorithm!r}: use one of {', '.join(map(repr, names))}")
        if dtype is not None and not dtype.is_floating_point:
            raise TypeError(f"dtype={dtype}: use a floating-point type")
        self.channels, self.layout, self.init, self.backend = channels, layout, init, backend
        self.algorithm, self.measure, self.max_bytes = algorithm, measure, max_bytes
        for p in self.config.params:
            self.register_parameter(p.name, nn.Parameter(torch.empty(p.shape, device=device,
                                                                     dtype=dtype)))
        self._plans = {}
        self.reset_parameters(seed)

    @property
    def names(self) -> list:
        return [p.name for p in self.config.params]

    def __getstate__(self):
        return {**self.__dict__, "_plans": {}}

    def extra_repr(self) -> str:
        changed = {n: v for n, v in self.config.settings.items()
                   if n == "channels" or v != options[self.kind][n].default}
        for name, usual in (("layout", "BHWC"), ("algorithm", "auto"), ("backend", "auto")):
            if getattr(self, name) != usual:
                changed[name] = getattr(self, name)
        return ", ".join(f"{n}={v!r}" for n, v in changed.items())

    @torch.no_grad()
    def reset_parameters(self, seed: Optional[int] = None) -> None:
        if seed is None:
            seed = int(torch.randint(2**62, ()))
        for name, value in self.config.init_params(self.init, seed).items():
            getattr(self, name).copy_(torch.from_numpy(value))

    # the same names of arrays in files, and the same checks
    load_mixer = SSM2d.load_mixer

    def forward(self, u: torch.Tensor) -> torch.Tensor:
        name = type(self).__name__
        if not isinstance(u, torch.Tensor):
            raise TypeError(f"u: expected a torch.Tensor, got {type(u).__name__}")
        params = [getattr(self, name) for name in self.names]
        if u.dtype is not params[0].dtype and tracing.autocast_enabled():
            u = u.to(params[0].dtype)
        axes = check_input(u, self.layout, self.channels)
        for parameter, p in zip(self.names, params):
            if p.device != u.device:
                raise ValueError(f"u: on {u.device}, but parameter {parameter} is on {p.device}")
            if p.dtype is not u.dtype:
                raise TypeError(f"u: dtype {u.dtype}, but parameter {parameter} is {p.dtype}; "
                                f"convert one of them")
        if 0 in tracing.sizes(u):
            return u.clone()
        if torch.jit.is_tracing() and torch.onnx.is_in_onnx_export():
            return self._forward_torch(u, axes, params, self.exported)
        if self.backend == "torch" or u.device.type != "cpu":
            if self.backend == "library":
                raise ValueError(f"u: on {u.device}; backend='library' needs the CPU")
            return self._forward_torch(u, axes, params, self.twin)
        if torch.jit.is_tracing():  # it would record the result for this input as a constant
            raise RuntimeError(f"{name}: a trace cannot follow the library; make the layer with "
                               "backend='torch'")
        if u.dtype not in TYPES:
            raise TypeError(f"u: dtype {u.dtype}; on the CPU use torch.float32 or torch.float64")
        grad = torch.is_grad_enabled() and (u.requires_grad
                                            or any(p.requires_grad for p in params))
        shape = self._shape(u, axes, grad)
        if shape.copy:
            u = u.contiguous()
            shape = self._shape(u, axes, grad)
        # a copy, so that backward has the values that forward had
        flat = torch.cat([p.detach().reshape(-1) for p in params])
        if grad:
            return Apply.apply(u, flat, shape, self, *params)
        y = torch.empty_strided(u.shape, shape.out_stride, dtype=u.dtype)
        lease = Lease(shape.plan)
        lib.ssm2d_baseline_forward(shape.plan.address, lease.workspace.address, flat.data_ptr(),
                                   u.data_ptr(), y.data_ptr())
        return y

    def _shape(self, u, axes, grad: bool) -> Shape:
        threads = layer.get_num_threads()
        key = u.shape, u.stride(), u.dtype, grad, threads
        found = self._plans.get(key)
        if found is not None:
            return found
        made = Shape()
        made.stride = u.stride()
        made.copy = overlaps(u.shape, made.stride)
        if not made.copy:
            made.out_stride = torch.empty_like(u, device="meta").stride()
            sizes = [u.shape[a] for a in axes]
            made.plan = _library.BaselinePlan(
                _library.context(threads), self.config,
                PlanOptions(batch=sizes[0], rows=sizes[1], cols=sizes[2], type=TYPES[u.dtype],
                            algorithm=self.algorithm.encode(), measure=self.measure,
                            inference=not grad, max_bytes=self.max_bytes,
                            input=Strides(*[made.stride[a] for a in axes]),
                            output=Strides(*[made.out_stride[a] for a in axes])))
        while len(self._plans) >= MAX_SHAPES:
            try:
                # the oldest; whoever still uses it keeps it alive
                del self._plans[next(iter(self._plans))]
            except (KeyError, RuntimeError, StopIteration):
                pass  # another thread was quicker
        return self._plans.setdefault(key, made)

    def _forward_torch(self, u, axes, params, compute) -> torch.Tensor:
        channels_last = axes[3] == 3
        plain = nullcontext()
        if u.device.type in ("cpu", "cuda"):
            plain = torch.autocast(u.device.type, enabled=False)
        with plain:
            y = compute(dict(zip(self.names, params)), u.movedim(3, 1) if channels_last else u)
        return y.movedim(1, 3) if channels_last else y

    def twin(self, params: dict, u: torch.Tensor) -> torch.Tensor:
        """The layer in PyTorch operations; u and the result are (batch, channels, rows, cols)."""
        raise NotImplementedError

    def exported(self, params: dict, u: torch.Tensor) -> torch.Tensor:
        """The same in operators that every ONNX runtime has, with constants for this grid."""
        raise NotImplementedError

    def kernel(self, rows: int, cols: int) -> torch.Tensor:
        raise NotImplementedError


def check_sides(rows: int, cols: int) -> None:
    for name, value in (("rows", rows), ("cols", cols)):
        if value < 1:
            raise ValueError(f"{name}={value}: use 1 or more")


def decay_groups(model: nn.Module, weight_decay: float) -> list:
    """Two groups of parameters for an optimizer: without weight decay are the systems of the layers
    (A, B, C of SSM2d, all but D of S4ND, all but omega of EMA), biases and norms."""
    decayed, kept = layer.decay_groups(model, weight_decay)
    systems = {id(getattr(m, p.name)) for m in model.modules() if isinstance(m, Baseline)
               for p in m.config.params if not p.decay}
    kept["params"] += [p for p in decayed["params"] if id(p) in systems]
    decayed["params"] = [p for p in decayed["params"] if id(p) not in systems]
    return [decayed, kept]
