"""Numbers that a trace should not follow, and the state of autocast."""
from contextlib import contextmanager

import torch


@contextmanager
def not_traced():
    """Inside, what is computed becomes a constant of the trace, and sizes are plain numbers."""
    state = torch._C._get_tracing_state()
    torch._C._set_tracing_state(None)
    try:
        yield
    finally:
        torch._C._set_tracing_state(state)


def sizes(tensor: torch.Tensor) -> tuple:
    """The tensor's shape, as numbers in a trace as well."""
    if not torch.jit.is_tracing():
        return tensor.shape
    with not_traced():
        return tuple(tensor.shape)


def _autocast_of_kinds() -> bool:
    return torch.is_autocast_enabled("cpu") or torch.is_autocast_enabled("cuda")


def _autocast_before() -> bool:
    return torch.is_autocast_cpu_enabled() or torch.is_autocast_enabled()


try:  # since torch 2.4; what was before is deprecated there
    torch.is_autocast_enabled("cpu")
    autocast_enabled = _autocast_of_kinds
except TypeError:
    autocast_enabled = _autocast_before
