"""Numbers that a trace should not follow."""
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
