"""Layers as PyTorch modules: Layer for every kind of the library, and SSM2d, S4ND and EMA. CPU
tensors are computed by the library; others by the kind's PyTorch operations (twins/)."""
import inspect
import math
from contextlib import nullcontext
from typing import Optional

import numpy as np
import torch
from torch import nn

from .. import arrays
from .._library import Workspace
from ..config import Config, describe, kinds
from ..safetensors import load_safetensors
from . import operator, plans, tracing, twins
from .authors import convert

BACKENDS = ("auto", "library", "torch")
PLAIN = (torch.Tensor, nn.Parameter)


def dense_strides(size) -> tuple:
    return tuple(math.prod(size[i + 1:]) for i in range(len(size)))


class Layer(nn.Module):
    """A layer of any kind: Layer("s4nd", channels=64, d_state=8). Its settings are those of the
    kind, see `ssm2d.describe(kind)`.

    layout: of input and output, "BHWC" (batch, rows, columns, channels), "BCHW", or for kinds on
        grids of one or three axes "BLC", "BCL", "BDHWC", "BCDHW"; None: channels last
    seed: of the initial values; None: from PyTorch's generator
    algorithm: "auto" or one of the library's; measure: auto times the candidates; max_bytes: bound
        for a workspace
    backend: "auto" (the library for CPU tensors, PyTorch operations for others), "library", or
        "torch"
    Parameters are named and shaped as in the library."""

    def __init__(self, kind: str, channels: int, *, layout: Optional[str] = None,
                 seed: Optional[int] = None, algorithm: str = "auto", backend: str = "auto",
                 measure: bool = False, max_bytes: int = 0, device=None, dtype=None, **settings):
        super().__init__()
        self.config = Config(kind, channels=channels, **settings)
        self.layout = arrays.default_layout(self.config) if layout is None else layout
        arrays.order(self.layout)
        for name, value, known in (("backend", backend, BACKENDS),
                                   ("algorithm", algorithm, ("auto", *kinds[kind].algorithms))):
            if value not in known:
                raise ValueError(f"{name}={value!r}: use one of {', '.join(map(repr, known))}")
        if backend == "torch" and not twins.find(kind):
            raise ValueError(f"backend='torch': kind {kind!r} has no PyTorch operations; use "
                             "'library'")
        if dtype is not None and not dtype.is_floating_point:
            raise TypeError(f"dtype={dtype}: use a floating-point type")
        self.channels, self.backend, self.algorithm = channels, backend, algorithm
        self.measure, self.max_bytes = measure, max_bytes
        for p in self.config.params:
            self.register_parameter(p.name, nn.Parameter(torch.empty(p.shape, device=device,
                                                                     dtype=dtype)))
        self._set_up()
        self.reset_parameters(seed)

    def _set_up(self) -> None:
        self.names = [p.name for p in self.config.params]
        self.shapes = [p.shape for p in self.config.params]
        self.places = [(p.shape, dense_strides(p.shape), p.offset) for p in self.config.params]
        self._runner = plans.runner(self.config, self.layout, self.algorithm, self.measure,
                                    self.max_bytes)
        self._twin = twins.find(self.config.kind)
        self._settings = operator.settings_of(self)
        self._views = None  # (addresses of the parameters, flat views of them)
        self._cache = None  # (flat parameters, {Shape: workspaces with their kernels})

    def __prepare_scriptable__(self):
        raise RuntimeError(f"{type(self).__name__}: torch.jit.script cannot compile the layer; use "
                           "torch.jit.trace")

    def __getstate__(self):
        state = self.__dict__.copy()
        del state["_runner"], state["_twin"], state["_views"], state["_cache"]
        return state

    def __setstate__(self, state):
        super().__setstate__(state)
        self._set_up()

    def extra_repr(self) -> str:
        changed = self.config.changed
        for name, usual in (("layout", arrays.default_layout(self.config)), ("algorithm", "auto"),
                            ("backend", "auto")):
            if getattr(self, name) != usual:
                changed[name] = getattr(self, name)
        kind = [repr(self.config.kind)] if type(self) is Layer else []
        return ", ".join(kind + [f"{n}={v!r}" for n, v in changed.items()])

    @torch.no_grad()
    def reset_parameters(self, seed: Optional[int] = None) -> None:
        """Draws new initial values, according to the setting `init` if the kind has it."""
        if seed is None:
            seed = int(torch.randint(2**62, ()))
        layer = arrays.Layer(self.config.kind, **self.config.settings)
        for name, value in layer.init_params(seed=seed, dtype=np.float64).items():
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
        # These see operators only: the library's results would be constants to them.
        recorded = torch.jit.is_tracing() or type(u) not in PLAIN or tracing.compiling()
        if recorded and torch.onnx.is_in_onnx_export():
            return self._forward_torch(u, params, True)
        if self.backend == "torch" or u.device.type != "cpu" or params[0].device.type != "cpu":
            return self._forward_torch(u, params, False)
        if recorded:
            return torch.ops.ssm2d.layer_forward(u, params, self._settings)
        if tracing.transformed():
            return operator.Transformed.apply(self._settings, u, *params)
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
            plans.check_input(u, self.layout, self.channels)
            return u.clone()
        if u.is_neg():  # its memory has the opposite values
            u = u.resolve_neg()
        u, shape = self._runner.fit(u, grad)
        flat = self.gather(params)
        if grad:
            return plans.Apply.apply(u, flat, shape, self, *params)
        pool, workspace = self.prepared(shape, flat, u)
        y = plans.apply(shape, workspace, u)
        pool.append(workspace)
        return y

    def gather(self, params) -> torch.Tensor:
        """The parameters as the library's flat array; a copy, so that backward uses the values that
        forward used."""
        addresses = [p.data_ptr() for p in params]
        cached = self._views
        # the views keep that memory alive, so equal addresses mean the same memory
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

    def prepared(self, shape: plans.Shape, flat: torch.Tensor, u: torch.Tensor) -> tuple:
        """(a workspace that holds the kernels of these parameters, the pool to return it to)"""
        cache = self._cache
        # By value, not by version counters: those do not see what is written through .data or by
        # another process.
        if (cache is None or len(cache[1]) > plans.MAX_SHAPES or cache[0].dtype is not flat.dtype
                or flat.dtype is not u.dtype or not torch.equal(cache[0], flat)):
            plans.check_params(self.config, flat, u)
            cache = self._cache = (flat, {})
        pool = cache[1].get(shape)
        if pool is None:
            pool = cache[1].setdefault(shape, [])
        try:
            return pool, pool.pop()
        except IndexError:
            plan, workspace = shape.plan, Workspace(shape.plan)
            plan.prepare(plan.address, workspace.address, flat.data_ptr())
            return pool, workspace

    def _forward_torch(self, u: torch.Tensor, params, exported: bool) -> torch.Tensor:
        """Computes with PyTorch operations; exported: only with those that ONNX has."""
        if self.backend == "library" and not exported:
            raise ValueError(f"u: on {u.device}, parameters on {params[0].device}; "
                             f"backend='library' needs the CPU")
        if exported and not hasattr(self._twin, "exported"):
            raise ValueError(f"torch.onnx: kind {self.config.kind!r} has no form in ONNX; use "
                             "torch.jit.trace, or another kind of layer")
        if self._twin is None:
            raise ValueError(f"u: on {u.device}, parameters on {params[0].device}: kind "
                             f"{self.config.kind!r} has no PyTorch operations and runs on the CPU "
                             "only; move both there")
        axes = plans.check_input(u, self.layout, self.channels)
        for name, p in zip(self.names, params):
            if p.device != u.device:
                raise ValueError(f"u: on {u.device}, but parameter {name} is on {p.device}")
            if p.dtype is not u.dtype:
                raise TypeError(f"u: dtype {u.dtype}, but parameter {name} is {p.dtype}; convert "
                                f"one of them")
        if 0 in tracing.sizes(u):
            return u.clone()
        forward = self._twin.exported if exported else self._twin.forward
        plain = nullcontext()
        if u.device.type in ("cpu", "cuda"):
            plain = torch.autocast(u.device.type, enabled=False)
        with plain:
            y = forward(self.config, dict(zip(self.names, params)), u.movedim(axes[-1], 1))
        return y.movedim(1, axes[-1])

    def kernel(self, *grid: int) -> torch.Tensor:
        """The convolution kernels for a grid, such as kernel(rows, columns), without the skip term
        (D, omega): for the 2-D SSM [directions][channels][rows][columns], causal; ssm2d.h has the
        shapes for other kinds. Differentiable if the kind has PyTorch operations. Kinds whose
        coefficients depend on the input have no kernel: ValueError."""
        arrays.check_sides(grid)
        params = {name: getattr(self, name) for name in self.names}
        if hasattr(self._twin, "kernel"):
            return self._twin.kernel(self.config, params, *grid)
        layer = arrays.Layer(self.config.kind, threads=plans.get_num_threads(),
                             **self.config.settings)
        return torch.from_numpy(layer.kernel({n: p.detach().numpy() for n, p in params.items()},
                                             *grid))

    @torch.no_grad()
    def load_mixer(self, path, prefix: str) -> "Layer":
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


# ---- classes for single kinds --------------------------------------------------------------------

def of_kind(kind: str):
    """Decorator for the class of a kind: completes its docstring and signature."""
    def decorate(cls):
        keyword = inspect.Parameter.KEYWORD_ONLY
        own = [p for p in inspect.signature(Layer.__init__).parameters.values()
               if p.kind == keyword]
        fields = [inspect.Parameter(o.name, keyword, default=o.default)
                  for o in kinds[kind].options.values() if o.name != "channels"]
        fields += [inspect.Parameter(name, keyword, default=None) for name in cls.short]
        first = inspect.Parameter("channels", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        cls.kind, cls.__signature__ = kind, inspect.Signature([first, *fields, *own])
        short = "".join(f"\n    {name}: {text}" for name, text in cls.short.items())
        cls.__doc__ = (f"{cls.__doc__}\n\nOptions:\n{describe(kind)}{short}\n"
                       "    layout, seed, algorithm, measure, max_bytes, backend: as for Layer\n"
                       "Parameters are named and shaped as in the library.")
        return cls
    return decorate


class Named(Layer):
    kind: str
    short = {}  # short forms of options: help

    def __init__(self, channels: int, **options):
        super().__init__(self.kind, channels, **options)

    def kernel(self, rows: int, cols: Optional[int] = None) -> torch.Tensor:
        return super().kernel(*(side for side in (rows, cols) if side is not None))

    @property
    def init(self) -> str:
        return self.config.settings.get("init", "authors")


@of_kind("ssm2d")
class SSM2d(Named):
    """The 2-D state-space layer: a convolution over the image whose kernel comes from a few small
    state-space systems.

    SSM2d(channels, d_state=16, n_ssm=2, directions=4, norm="relaxed", complex=False, ...,
          layout="BHWC")

Input and output: (batch, rows, columns, channels), or (batch, channels, rows, columns) with
layout="BCHW"; the same parameters work for any number of rows and columns."""
    short = {"complex": 'short for values: False, True (polar), "polar" or "cartesian"',
             "trunc": "short for trunc_rows and trunc_cols: one number or a pair"}

    @classmethod
    def from_authors_state_dict(cls, state_dict, prefix: str = "", *,
                                directions: Optional[int] = None,
                                skip: bool = True, **settings) -> "SSM2d":
        """A layer with the weights of the paper's published PyTorch module (see docs/python.md for
        names and shapes).

        prefix: of the module in a model's state dict, as "transformer.layers.0.0.fn.move.";
        directions: required for early versions, whose state dict does not determine it; skip:
        whether the skip connection inside the layer (omega) was in use."""
        config, values = convert(state_dict, prefix, directions, skip)
        layer = cls(**config, **settings)
        layer.load_state_dict(values)
        return layer


@of_kind("s4nd")
class S4ND(Named):
    """S4ND: one state-space kernel for each axis and side; the 2-D kernel is the product of the
    kernels of the axes. y = conv(u) + D.u

    S4ND(channels, d_state=16, n_ssm=8, rate=1.0, layout="BHWC")

Input and output are those of SSM2d."""


@of_kind("ema")
class EMA(Named):
    """EMA: an exponential moving average with several decays per channel, over cells in raster
    order. y = SiLU(conv(u) + omega.u)

    EMA(channels, d_state=16, bidirectional=True, shift=True, trunc=0, layout="BHWC")

Input and output are those of SSM2d; a sequence is an image of one row, or has layout="BLC"."""

    def __init__(self, channels: int, *, init: str = "authors", **options):
        if init != "authors":
            raise ValueError(f"init={init!r}: EMA has only one way to initialise; use authors")
        super().__init__(channels, **options)


CLASSES = {cls.kind: cls for cls in (SSM2d, S4ND, EMA)}


def create(kind: str, channels: int, **options) -> Layer:
    """A layer of a kind, as an instance of the kind's own class if it has one."""
    return CLASSES[kind](channels, **options) if kind in CLASSES else Layer(kind, channels,
                                                                            **options)
