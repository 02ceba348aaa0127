"""SSM2d, the layer as a PyTorch module. CPU tensors go to the library as they are; others take
recursion.py."""
import inspect
import json
import math
import weakref
from contextlib import nullcontext
from typing import Optional

import numpy as np
import torch
from torch import nn

from .. import arrays
from .._library import Workspace, check, lib
from ..config import Config, describe, options
from ..safetensors import load_safetensors
from . import export, recursion, tracing
from .authors import convert
from .operator import refuse_second_derivative

TYPES = {torch.float32: 0, torch.float64: 1}
BACKENDS = ("auto", "library", "torch")
MAX_SHAPES = 32  # plans kept by layers of one configuration
PLAIN = (torch.Tensor, nn.Parameter)
compiling = getattr(getattr(torch, "compiler", None), "is_compiling", lambda: False)
MAX_HOLES = 4    # a view may reach over this many times its own numbers before it is copied instead

_threads: Optional[int] = None


def set_num_threads(threads: Optional[int]) -> None:
    """How many threads the library uses from now on; None: as many as torch.get_num_threads() says
    at each call."""
    global _threads
    if threads is not None and (isinstance(threads, bool) or not isinstance(threads, int)
                                or threads < 1):
        raise ValueError(f"threads={threads!r}: use a whole number from 1, or None")
    _threads = threads


def get_num_threads() -> int:
    return _threads or torch.get_num_threads()


def overlaps(size, stride) -> bool:
    """Whether two cells of a view may share a number."""
    reach = 0
    for length, step in sorted((s for s in zip(size, stride) if s[0] > 1), key=lambda s: s[1]):
        if step <= reach:
            return True
        reach += (length - 1) * step
    return False


def dense_strides(size) -> tuple:
    return tuple(math.prod(size[i + 1:]) for i in range(len(size)))


def same_strides(size, a, b) -> bool:
    return all(x == y or length == 1 for length, x, y in zip(size, a, b))


class Shape:
    """What is decided once for inputs of one shape, strides and dtype."""
    __slots__ = ("copy", "plan", "address", "stride", "out_stride", "dense", "__weakref__")

    def zeros(self, u):
        """For the gradient of u: with u's strides."""
        if self.dense:
            return torch.zeros_like(u)
        return torch.empty_strided(u.shape, self.stride, dtype=u.dtype).zero_()


class Runner:
    """Plans and workspaces, shared by the layers of one configuration."""

    def __init__(self, config, layout, algorithm, measure, max_bytes):
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
                    # the oldest; whoever still uses it keeps it alive
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
        sizes = [u.shape[a] for a in axes]
        made.plan = arrays.plan(self.config, *sizes[:3], TYPES[u.dtype], self.algorithm,
                                inference=not grad,
                                strides=[made.stride[a] for a in axes],
                                out_strides=[made.out_stride[a] for a in axes],
                                threads=threads, measure=self.measure, max_bytes=self.max_bytes)
        made.address = made.plan.address
        return made


def check_input(u, layout: str, channels: int) -> tuple:
    """Where batch, rows, columns and channels are, when u fits."""
    axes = arrays.order(layout)
    sizes = tracing.sizes(u)
    if len(sizes) != 4:
        raise ValueError(f"u: shape {tuple(sizes)}, expected four dimensions ({layout})")
    if sizes[axes[3]] != channels:
        raise ValueError(f"u: {sizes[axes[3]]} channels (shape {tuple(sizes)}, layout "
                         f"{layout}), but the layer has "
                         f"channels={channels}")
    return axes


_runners = weakref.WeakValueDictionary()


def runner(*key) -> Runner:
    return _runners.get(key) or _runners.setdefault(key, Runner(*key))


class Lease:
    """A workspace that a forward keeps for its backward; goes back to its pool after that, or with
    the graph."""
    __slots__ = ("pool", "held")

    def __init__(self, pool: list, workspace: Workspace):
        self.pool = pool
        self.held = [workspace]

    def __del__(self):
        if self.held:
            self.pool.append(self.held.pop())


def check_params(config: Config, flat: torch.Tensor, u: torch.Tensor) -> None:
    """Refuses parameters that do not go with u, or are not finite."""
    if flat.dtype is not u.dtype:
        raise TypeError(f"u: dtype {u.dtype}, but the layer's parameters are {flat.dtype}; "
                        f"convert one of them")
    arguments = config.address, TYPES[flat.dtype], flat.data_ptr()
    if lib.ssm2d_params_check(*arguments, None):
        check(lib.ssm2d_params_check, *arguments)  # raises, by name


def with_strides(tensor: torch.Tensor, stride) -> torch.Tensor:
    """The tensor, or a copy that has these strides where they matter."""
    if same_strides(tensor.shape, tensor.stride(), stride):
        return tensor
    return torch.empty_strided(tensor.shape, stride, dtype=tensor.dtype).copy_(tensor)


def backward_again(shape: "Shape", flat, u, dy) -> tuple:
    """Gradients of input and parameters, from a forward that is computed for them."""
    dy = with_strides(dy, shape.out_stride)
    du, dflat, y = shape.zeros(u), torch.zeros_like(flat), torch.empty_like(dy)
    workspace = shape.plan.take()
    lib.ssm2d_forward(shape.address, workspace.address, flat.data_ptr(), u.data_ptr(),
                      y.data_ptr())
    lib.ssm2d_backward(shape.address, workspace.address, flat.data_ptr(), u.data_ptr(),
                       dy.data_ptr(), du.data_ptr(), dflat.data_ptr())
    shape.plan.free.append(workspace)
    return du, dflat


def execute_backward(ctx, dy):
    u, flat = ctx.saved_tensors
    shape, layer, lease, needs = ctx.shape, ctx.layer, ctx.lease, ctx.needs_input_grad
    if u.stride() != shape.stride:  # hooks on saved tensors may bring back another layout
        u = torch.empty_strided(u.shape, shape.stride, dtype=u.dtype).copy_(u)
    if dy.stride() != shape.out_stride and not same_strides(dy.shape, dy.stride(),
                                                            shape.out_stride):
        dy = torch.empty_strided(dy.shape, shape.out_stride, dtype=dy.dtype).copy_(dy)
    du = shape.zeros(u) if needs[0] else None
    dflat = torch.zeros_like(flat) if True in needs[4:] else None
    pool = lease.pool
    try:
        workspace = lease.held.pop()
    # a second backward through a retained graph: the workspace may have served others since
    except IndexError:
        workspace, pool = shape.plan.take(), shape.plan.free
        y = torch.empty_strided(dy.shape, shape.out_stride, dtype=dy.dtype)
        lib.ssm2d_forward(shape.address, workspace.address, flat.data_ptr(), u.data_ptr(),
                          y.data_ptr())
    lib.ssm2d_backward(shape.address, workspace.address, flat.data_ptr(), u.data_ptr(),
                       dy.data_ptr(),
                       None if du is None else du.data_ptr(), None if dflat is None
                       else dflat.data_ptr())
    pool.append(workspace)
    if dflat is None:
        return (du, None, None, None) + (None,) * len(layer.names)
    parts = [dflat.as_strided(*place) if need else None
             for place, need in zip(layer.places, needs[4:])]
    return (du, None, None, None, *parts)


class Apply(torch.autograd.Function):
    @staticmethod
    def forward(ctx, u, flat, shape, layer, *params):
        y = torch.empty_like(u)
        if layer.training:
            check_params(layer.config, flat, u)
            pool = shape.plan.free
            workspace = shape.plan.take()
            lib.ssm2d_forward(shape.address, workspace.address, flat.data_ptr(), u.data_ptr(),
                              y.data_ptr())
        else:
            pool, workspace = layer.prepared(shape, flat, u)
            lib.ssm2d_apply(shape.address, workspace.address, u.data_ptr(), y.data_ptr())
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
        return refuse_second_derivative(gradients, "SSM2d")


class SSM2d(nn.Module):
    """The 2-D state-space layer: a convolution over the image whose kernel comes from a few small
    state-space systems.

    SSM2d(channels, d_state=16, n_ssm=8, directions=2, norm="relaxed", complex=False, ...,
          layout="BHWC")

Input and output: (batch, rows, columns, channels), or (batch, channels, rows, columns) with
layout="BCHW"; any number of rows and columns, the same parameters serve all. Options:
{options}
    complex: short for values: False, True (polar), "polar" or "cartesian"
    trunc: short for trunc_rows and trunc_cols: one number or a pair
    layout: "BHWC" or "BCHW"
    init: "identity" (the layer starts close to doing nothing) or "authors" (as published)
    seed: of the initial values; None: from PyTorch's generator
    algorithm: "auto" or one of the library's; measure: auto times the candidates; max_bytes: bound
        of a workspace
    backend: "auto" (the library for CPU tensors, PyTorch operations for others), "library", or
        "torch"
Parameters are named and shaped as in the library: A, B, C (complex: A_angle, A_radius, ..), D,
gamma, beta."""

    def __init__(self, channels: int, *, layout: str = "BHWC", init: str = "identity",
                 seed: Optional[int] = None,
                 algorithm: str = "auto", backend: str = "auto", measure: bool = False,
                 max_bytes: int = 0, device=None,
                 dtype=None, **options):
        super().__init__()
        self.config = Config(channels=channels, **options)
        arrays.order(layout)
        if backend not in BACKENDS:
            raise ValueError(f"backend={backend!r}: use one of {', '.join(map(repr, BACKENDS))}")
        names = ["auto"]
        while lib.ssm2d_algorithm_name(len(names) - 1):
            names.append(lib.ssm2d_algorithm_name(len(names) - 1).decode())
        if algorithm not in names:
            raise ValueError(f"algorithm={algorithm!r}: use one of {', '.join(map(repr, names))}")
        if dtype is not None and not dtype.is_floating_point:
            raise TypeError(f"dtype={dtype}: use a floating-point type")
        self.channels, self.layout, self.init, self.backend = channels, layout, init, backend
        self.algorithm, self.measure, self.max_bytes = algorithm, measure, max_bytes
        for p in self.config.params:
            self.register_parameter(p.name, nn.Parameter(torch.empty(p.shape, device=device,
                                                                     dtype=dtype)))
        self._set_up()
        self.reset_parameters(seed)

    def _set_up(self) -> None:
        self.names = [p.name for p in self.config.params]
        self.shapes = [p.shape for p in self.config.params]
        self._runner = runner(self.config, self.layout, self.algorithm, self.measure,
                              self.max_bytes)
        self.places = [(p.shape, dense_strides(p.shape), p.offset) for p in self.config.params]
        own = {name: getattr(self, name) for name in ("layout", "algorithm", "measure",
                                                      "max_bytes")}
        self._settings = json.dumps({**self.config.settings, **own}, sort_keys=True)
        self._views = None  # (addresses of the parameters, flat views of them)
        self._cache = None  # (flat parameters, {Shape: workspaces with their kernels})

    def __prepare_scriptable__(self):
        raise RuntimeError("SSM2d: torch.jit.script cannot compile the layer; use torch.jit.trace")

    def __getstate__(self):
        state = self.__dict__.copy()
        del state["_runner"], state["_views"], state["_cache"]
        return state

    def __setstate__(self, state):
        super().__setstate__(state)
        self._set_up()

    def extra_repr(self) -> str:
        changed = {n: v for n, v in self.config.settings.items() if v != options[n].default
                   or n == "channels"}
        for name, usual in (("layout", "BHWC"), ("algorithm", "auto"), ("backend", "auto")):
            if getattr(self, name) != usual:
                changed[name] = getattr(self, name)
        return ", ".join(f"{n}={v!r}" for n, v in changed.items())

    @torch.no_grad()
    def reset_parameters(self, seed: Optional[int] = None) -> None:
        if seed is None:
            seed = int(torch.randint(2**62, ()))
        values = arrays.init_params(init=self.init, seed=seed, dtype=np.float64,
                                    **self.config.settings)
        for name, value in values.items():
            getattr(self, name).copy_(torch.from_numpy(value))

    def forward(self, u: torch.Tensor) -> torch.Tensor:
        if not isinstance(u, torch.Tensor):
            raise TypeError(f"u: expected a torch.Tensor, got {type(u).__name__}")
        own = self._parameters
        try:
            if "_attr_to_path" in self.__dict__:  # inside functional_call, before torch 2
                raise KeyError
            params = [own[name] for name in self.names]
        except KeyError:  # parametrized or pruned: an attribute instead of a parameter
            params = [getattr(self, name) for name in self.names]
        if u.dtype is not params[0].dtype and tracing.autocast_enabled():
            u = u.to(params[0].dtype)
        # They see operators alone: what the library computes would be a constant to them.
        recorded = torch.jit.is_tracing() or type(u) not in PLAIN or compiling()
        if recorded and torch.onnx.is_in_onnx_export():
            return self._forward_torch(u, params, export.forward)
        if self.backend == "torch" or u.device.type != "cpu" or params[0].device.type != "cpu":
            return self._forward_torch(u, params)
        if recorded:
            return torch.ops.ssm2d.layer_forward(u, params, self._settings)
        grad = 0
        if torch.is_grad_enabled():
            if u.requires_grad:
                grad = 2
            else:
                for p in params:
                    if p.requires_grad:
                        grad = 1
                        break
        if u.numel() == 0:
            check_input(u, self.layout, self.channels)
            return u.clone()
        if u.is_neg():  # its memory has the opposite numbers
            u = u.resolve_neg()
        shape = self._runner.shape(u, grad)
        if shape.copy:
            u = u.contiguous()
            shape = self._runner.shape(u, grad)
        flat = self.gather(params)
        if grad:
            return Apply.apply(u, flat, shape, self, *params)
        pool, workspace = self.prepared(shape, flat, u)
        y = torch.empty_like(u)
        lib.ssm2d_apply(shape.address, workspace.address, u.data_ptr(), y.data_ptr())
        pool.append(workspace)
        return y

    def gather(self, params) -> torch.Tensor:
        """The flat array of the library. A copy, so that backward has the values that forward
        had."""
        addresses = [p.data_ptr() for p in params]
        cached = self._views
        # the views keep that memory, so it is the same
        if cached is not None and cached[0] == addresses:
            return torch.cat(cached[1])
        for name, size, p in zip(self.names, self.shapes, params):
            if p.shape != size:
                raise ValueError(f"parameter {name}: shape {tuple(p.shape)}, expected {size}")
            if p.dtype is not params[0].dtype:
                raise TypeError(f"parameter {name}: dtype {p.dtype}, but {self.names[0]} is "
                                f"{params[0].dtype}")
        views = [p.detach().reshape(-1) for p in params]
        if all(p.is_contiguous() for p in params):
            self._views = addresses, views
        return torch.cat(views)

    def prepared(self, shape: Shape, flat: torch.Tensor, u: torch.Tensor) -> tuple:
        """A workspace that holds the kernels of these parameters, and the pool that it goes back
        to."""
        cache = self._cache
        # By value, not by version counters: those do not see what is written through .data or by
        # another process.
        if (cache is None or len(cache[1]) > MAX_SHAPES or cache[0].dtype is not flat.dtype
                or flat.dtype is not u.dtype or not torch.equal(cache[0], flat)):
            check_params(self.config, flat, u)
            cache = self._cache = (flat, {})
        pool = cache[1].get(shape)
        if pool is None:
            pool = cache[1].setdefault(shape, [])
        try:
            return pool, pool.pop()
        except IndexError:
            workspace = Workspace(shape.plan)
            lib.ssm2d_prepare(shape.address, workspace.address, flat.data_ptr())
            return pool, workspace

    def _forward_torch(self, u: torch.Tensor, params, forward=recursion.forward) -> torch.Tensor:
        if self.backend == "library" and forward is recursion.forward:
            raise ValueError(f"u: on {u.device}, parameters on {params[0].device}; "
                             f"backend='library' needs the CPU")
        axes = check_input(u, self.layout, self.channels)
        for name, p in zip(self.names, params):
            if p.device != u.device:
                raise ValueError(f"u: on {u.device}, but parameter {name} is on {p.device}")
            if p.dtype is not u.dtype:
                raise TypeError(f"u: dtype {u.dtype}, but parameter {name} is {p.dtype}; convert "
                                f"one of them")
        if 0 in tracing.sizes(u):
            return u.clone()
        channels_last = axes[3] == 3
        plain = nullcontext()
        if u.device.type in ("cpu", "cuda"):
            plain = torch.autocast(u.device.type, enabled=False)
        with plain:
            y = forward(self.config, dict(zip(self.names, params)), u.movedim(3, 1)
                                  if channels_last else u)
        return y.movedim(1, 3) if channels_last else y

    def kernel(self, rows: int, cols: int) -> torch.Tensor:
        """The causal kernel of every direction and channel, [directions][channels][rows][cols],
        without D; differentiable."""
        for name, value in (("rows", rows), ("cols", cols)):
            if value < 1:
                raise ValueError(f"{name}={value}: use 1 or more")
        return recursion.kernel(self.config, {name: getattr(self, name) for name in self.names},
                                rows, cols)

    @torch.no_grad()
    def load_mixer(self, path, prefix: str) -> "SSM2d":
        """Loads the parameters `<prefix>.mixer.<name>` (or `<prefix>.<name>`) of a safetensors
        file, such as `ssm2d train` writes; prefix is a block, as "blocks.0"."""
        found = load_safetensors(path)
        if any(f"{prefix}.mixer.{name}" in found for name in self.names):
            prefix += ".mixer"
        wanted = {f"{prefix}.{name}": name for name in self.names}
        extra = [name for name in found if name.startswith(prefix + ".mixer.") or
                 prefix.endswith("mixer") and name.startswith(prefix + ".") and name not in wanted]
        missing = [name for name in wanted if name not in found]
        if missing or extra:
            raise ValueError(f"{path}: prefix={prefix!r} does not fit this layer: missing "
                             f"{missing}, unknown {extra}")
        for full, name in wanted.items():
            own = getattr(self, name)
            if found[full].shape != tuple(own.shape):
                raise ValueError(f"{path}: {full} has shape {found[full].shape}, but the layer's "
                                 f"is {tuple(own.shape)}")
            own.copy_(torch.from_numpy(found[full]))
        return self

    @classmethod
    def from_authors_state_dict(cls, state_dict, prefix: str = "", *,
                                directions: Optional[int] = None,
                                skip: bool = True, **settings) -> "SSM2d":
        """A layer with the weights of the paper's published PyTorch module (see docs/python.md for
        names and shapes).

        prefix: of the module in a model's state dict, as "transformer.layers.0.0.fn.move.";
        directions: needed for early versions, which do not show it; skip: whether the residual
        inside the layer (omega) was in use."""
        config, values = convert(state_dict, prefix, directions, skip)
        layer = cls(**config, **settings)
        layer.load_state_dict(values)
        return layer


def _signature() -> inspect.Signature:
    keyword = inspect.Parameter.KEYWORD_ONLY
    own = [p for p in inspect.signature(SSM2d.__init__).parameters.values() if p.kind == keyword]
    fields = [inspect.Parameter(o.name, keyword, default=o.default) for o in options.values()
              if o.name not in ("channels", "values")]
    fields.append(inspect.Parameter("complex", keyword, default=False))
    return inspect.Signature([inspect.Parameter("channels",
                                                inspect.Parameter.POSITIONAL_OR_KEYWORD), *fields,
                                                *own])


SSM2d.__doc__ = SSM2d.__doc__.replace("{options}", describe())
SSM2d.__signature__ = _signature()


def decay_groups(model: nn.Module, weight_decay: float) -> list:
    """Two groups of parameters for an optimizer: without weight decay are A, B, C of the layers,
    biases and norms."""
    systems = {id(getattr(m, p.name)) for m in model.modules() if isinstance(m, SSM2d)
               for p in m.config.params
               if not p.decay}
    params = [p for p in model.parameters() if p.requires_grad]
    kept = [p for p in params if id(p) in systems or p.dim() < 2]
    decayed = [p for p in params if id(p) not in systems and p.dim() >= 2]
    return [{"params": decayed, "weight_decay": weight_decay},
            {"params": kept, "weight_decay": 0.0}]
