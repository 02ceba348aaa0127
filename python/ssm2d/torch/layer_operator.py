"""The layer as operators of PyTorch, ssm2d::layer_forward and ssm2d::layer_backward, for what
cannot call the library itself: traces, fake tensors, compilers.

They keep nothing between calls: the backward computes the kernels again, and parameters are not
compared with those of the last call. Eager calls of SSM2d do not come here."""
import json
from functools import lru_cache

import torch

from .._library import lib
from ..config import Config
from . import layer
from .operator import below, refuse_second_derivative, register


@lru_cache(maxsize=64)
def runner_of(settings: str) -> layer.Runner:
    given = json.loads(settings)
    own = [given.pop(name) for name in ("layout", "algorithm", "measure", "max_bytes")]
    return layer.runner(Config(**given), *own)


def prepare(u, params, settings: str, grad: int) -> tuple:
    """Runner, input, its plan, and the parameters as the library has them."""
    run = runner_of(settings)
    if not u.numel():
        layer.check_input(u, run.layout, run.config.channels)
    shape = run.shape(u, grad) if u.numel() else None
    if shape is not None and shape.copy:
        u = u.contiguous()
        shape = run.shape(u, grad)
    flat = torch.cat([p.reshape(-1) for p in params])
    layer.check_params(run.config, flat, u)
    return run, u, shape, flat


def compute_forward(u, params, settings: str):
    run, u, shape, flat = prepare(u, params, settings, 0)
    if shape is None:
        return u.clone()
    y = torch.empty_like(u)
    workspace = shape.plan.take()
    lib.ssm2d_forward(shape.address, workspace.address, flat.data_ptr(), u.data_ptr(),
                      y.data_ptr())
    shape.plan.free.append(workspace)
    return y


def compute_backward(dy, u, params, settings: str):
    run, u, shape, flat = prepare(u, params, settings, 2)
    du, dflat = torch.zeros_like(u), torch.zeros_like(flat)
    if shape is not None:
        du, dflat = layer.backward_again(shape, flat, u, dy)
    parts = [dflat[p.offset:p.offset + p.size].view(p.shape).clone() for p in run.config.params]
    return [du, *parts]


def shape_of_forward(u, params, settings: str):
    run = runner_of(settings)
    layer.check_input(u, run.layout, run.config.channels)
    return torch.empty_like(u)


def shapes_of_backward(dy, u, params, settings: str):
    return [torch.empty_like(t) for t in (u, *params)]


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
        return list(refuse_second_derivative(tuple(gradients), "SSM2d"))
    return gradients


register("layer_forward", "(Tensor u, Tensor[] params, str settings) -> Tensor",
         compute_forward, shape_of_forward, autograd_forward)
register("layer_backward", "(Tensor dy, Tensor u, Tensor[] params, str settings) -> Tensor[]",
         compute_backward, shapes_of_backward, autograd_backward)
