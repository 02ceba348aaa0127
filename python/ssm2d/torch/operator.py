"""Layers as operators of PyTorch, ssm2d::layer_forward and ssm2d::layer_backward, for
callers that cannot call the library directly: torch.jit.trace, which records operators by name,
fake and meta tensors, torch.compile, torch.export, torch.func.

A recorded operator runs wherever ssm2d.torch is imported: its arguments describe it completely,
with kind and settings as JSON. Operators keep no state between calls: backward recomputes the
kernels, and nothing is cached. Eager calls of layers do not use these operators."""
import json
import warnings
from contextlib import contextmanager
from functools import lru_cache

import torch

from ..config import Config
from . import plans, tracing, twins

OWN = ("layout", "algorithm", "measure", "max_bytes")  # keys that are not settings of the kind
_library = torch.library.Library("ssm2d", "DEF")


def settings_of(layer) -> str:
    own = {name: getattr(layer, name) for name in OWN}
    return json.dumps({**layer.config.settings, **own, "kind": layer.config.kind}, sort_keys=True)


@lru_cache(maxsize=64)
def runner_of(settings: str) -> plans.Runner:
    given = json.loads(settings)
    own = [given.pop(name) for name in OWN]
    # traces of version 0.2 name no kind
    return plans.runner(Config(given.pop("kind", "ssm2d"), **given), *own)


# ---- computing -----------------------------------------------------------------------------------

def prepare(u, params, settings: str, grad: int) -> tuple:
    """(runner, input, its Shape or None if it is empty, flat parameters)"""
    run, shape = runner_of(settings), None
    if u.numel():
        u, shape = run.fit(u, grad)
    else:
        plans.check_input(u, run.layout, run.config.channels)
    flat = torch.cat([p.reshape(-1) for p in params])
    plans.check_params(run.config, flat, u)
    return run, u, shape, flat


def compute_forward(u, params, settings: str):
    run, u, shape, flat = prepare(u, params, settings, 0)
    if shape is None:
        return u.clone()
    workspace = shape.plan.take()
    y = plans.forward(shape, workspace, flat, u)
    shape.plan.free.append(workspace)
    return y


def compute_backward(dy, u, params, settings: str):
    run, u, shape, flat = prepare(u, params, settings, 2)
    du, dflat = torch.zeros_like(u), torch.zeros_like(flat)
    if shape is not None:
        workspace = shape.plan.take()
        plans.forward(shape, workspace, flat, u)
        du, dflat = plans.backward(shape, workspace, flat, u,
                                   plans.with_strides(dy, shape.out_stride))
        shape.plan.free.append(workspace)
    parts = [dflat[p.offset:p.offset + p.size].view(p.shape).clone() for p in run.config.params]
    return [du, *parts]


def shape_of_forward(u, params, settings: str):
    run = runner_of(settings)
    plans.check_input(u, run.layout, run.config.channels)
    return torch.empty_like(u)


def shapes_of_backward(dy, u, params, settings: str):
    return [torch.empty_like(t) for t in (u, *params)]


# ---- gradients -----------------------------------------------------------------------------------

@contextmanager
def below():
    """Within this context operators compute without autograd: for the forward of an
    autograd.Function, and to prevent infinite recursion."""
    guard = torch._C._AutoDispatchBelowAutograd()
    if hasattr(guard, "__enter__"):
        with guard:
            yield
        return
    try:  # before torch 2 it was active as long as it existed
        yield
    finally:
        del guard


class Apply(torch.autograd.Function):
    @staticmethod
    def forward(ctx, settings, u, *params):
        with below():
            y = torch.ops.ssm2d.layer_forward(u, params, settings)
        ctx.save_for_backward(u, *params)
        ctx.settings = settings
        return y

    @staticmethod
    def backward(ctx, dy):
        u, *params = ctx.saved_tensors
        return (None, *torch.ops.ssm2d.layer_backward(dy, u, params, ctx.settings))


def autograd_forward(u, params, settings: str):
    return Apply.apply(settings, u, *params)


def autograd_backward(dy, u, params, settings: str):
    with below():
        gradients = torch.ops.ssm2d.layer_backward(dy, u, params, settings)
    if torch.is_grad_enabled() and any(t.requires_grad for t in (dy, u, *params)):
        kind = runner_of(settings).config.kind
        return list(tracing.refuse_second_derivative(tuple(gradients), kind))
    return gradients


class Transformed(torch.autograd.Function):
    """The layer inside transforms of torch.func, which call forward with unwrapped tensors."""
    @staticmethod
    def forward(settings, u, *params):
        return compute_forward(u, params, settings)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.settings, *tensors = inputs
        ctx.save_for_backward(*tensors)

    @staticmethod
    def backward(ctx, dy):
        return (None, *TransformedBackward.apply(ctx.settings, dy, *ctx.saved_tensors))

    @staticmethod
    def vmap(info, in_dims, settings, *tensors):
        kind = runner_of(settings).config.kind
        raise RuntimeError(f"{kind}: torch.func.vmap cannot follow the library"
                           f"{twins.advice(kind)}")


class TransformedBackward(torch.autograd.Function):
    @staticmethod
    def forward(settings, dy, u, *params):
        return tuple(compute_backward(dy, u, params, settings))

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.settings = inputs[0]

    @staticmethod
    def backward(ctx, *gradients):
        raise RuntimeError(tracing.no_second_derivative(runner_of(ctx.settings).config.kind))

    vmap = Transformed.vmap


# ---- registering ---------------------------------------------------------------------------------

def register(name: str, schema: str, compute, shapes, autograd) -> None:
    """Registers ssm2d::<name><schema>.

    compute: implementation for CPU tensors; shapes: for tensors without data, returns empty ones;
    autograd: called where gradients may be required; it computes with `below`."""
    def compute_or_warn(*arguments):
        try:
            return compute(*arguments)
        except Exception as error:  # running a trace would lose its message
            warnings.warn(f"ssm2d::{name}: {error}", RuntimeWarning)
            raise

    _library.define(name + schema)
    _library.impl(name, compute_or_warn, "CPU")
    _library.impl(name, shapes, "Meta")
    _library.impl(name, autograd, "Autograd")


register("layer_forward", "(Tensor u, Tensor[] params, str settings) -> Tensor",
         compute_forward, shape_of_forward, autograd_forward)
register("layer_backward", "(Tensor dy, Tensor u, Tensor[] params, str settings) -> Tensor[]",
         compute_backward, shapes_of_backward, autograd_backward)
