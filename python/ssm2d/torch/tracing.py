"""Detects tracing, compilation, torch.func transforms and autocast, and hides code from them."""
from contextlib import contextmanager

import torch

from . import twins


@contextmanager
def not_traced():
    """Within this context results become constants of the trace, and sizes are Python ints."""
    state = torch._C._get_tracing_state()
    torch._C._set_tracing_state(None)
    try:
        yield
    finally:
        torch._C._set_tracing_state(state)


def sizes(tensor: torch.Tensor) -> tuple:
    """The tensor's shape as Python ints, also in a trace."""
    if not torch.jit.is_tracing():
        return tensor.shape
    with not_traced():
        return tuple(tensor.shape)


def _never() -> bool:
    return False


# Whether a transform of torch.func (grad, vmap, ..) is active: its tensors have no memory of their
# own, and a torch.autograd.Function sees through them only if it has setup_context, since torch 2.
transformed = getattr(torch._C, "_are_functorch_transforms_active", _never)


# Whether torch.compile or torch.export is active; since torch 2.1.
compiling = getattr(getattr(torch, "compiler", None), "is_compiling", _never)


def no_second_derivative(kind: str) -> str:
    return f"{kind}: the library has no second derivatives{twins.advice(kind)}"


def refuse_second_derivative(gradients: tuple, kind: str) -> tuple:
    """The gradients, marked so that differentiating them again raises an error. torch's
    once_differentiable only raises if the incoming gradient requires grad; these gradients also
    depend on the input and the parameters."""
    text = no_second_derivative(kind)
    error = torch._C._functions.DelayedError(text.encode(), len(gradients))
    return error(*[None if g is None else g.detach().requires_grad_() for g in gradients])


def _autocast_of_kinds() -> bool:
    return torch.is_autocast_enabled("cpu") or torch.is_autocast_enabled("cuda")


def _autocast_before() -> bool:
    return torch.is_autocast_cpu_enabled() or torch.is_autocast_enabled()


try:  # since torch 2.4, which deprecates the older function
    torch.is_autocast_enabled("cpu")
    autocast_enabled = _autocast_of_kinds
except TypeError:
    autocast_enabled = _autocast_before
