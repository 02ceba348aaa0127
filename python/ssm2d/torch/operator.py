"""Operators of PyTorch: functions that torch.jit.trace records by name, and whose shapes are known
without computing (fake and meta tensors, torch.compile).

A recorded operator runs wherever ssm2d.torch was imported: its arguments say everything about it,
settings as one text of JSON."""
import warnings
from contextlib import contextmanager

import torch

_library = torch.library.Library("ssm2d", "DEF")


def refuse_second_derivative(gradients: tuple, name: str) -> tuple:
    """The gradients, such that differentiating them again is an error. torch's
    once_differentiable refuses only where the incoming gradient needs one: here they depend on the
    input and the parameters as well."""
    text = f"{name}: the library has no second derivatives; use backend='torch'"
    error = torch._C._functions.DelayedError(text.encode(), len(gradients))
    return error(*[None if g is None else g.detach().requires_grad_() for g in gradients])


def register(name: str, schema: str, compute, shapes, autograd=None):
    """Registers ssm2d::<name><schema> and returns it, to be called.

    compute: of CPU tensors; shapes: of tensors without numbers, gives empty ones; autograd: what is
    called where gradients may be wanted; it computes by `below`."""
    def compute_or_warn(*arguments):
        try:
            return compute(*arguments)
        except Exception as error:  # a trace that runs it raises another one, without the text
            warnings.warn(f"ssm2d::{name}: {error}", RuntimeWarning)
            raise

    _library.define(name + schema)
    _library.impl(name, compute_or_warn, "CPU")
    _library.impl(name, shapes, "Meta")
    if autograd is not None:
        _library.impl(name, autograd, "Autograd")
    return getattr(torch.ops.ssm2d, name)


@contextmanager
def below():
    """Inside, operators compute without asking for gradients: for the forward of an
    autograd.Function, and so that an operator does not call itself for ever."""
    guard = torch._C._AutoDispatchBelowAutograd()
    if hasattr(guard, "__enter__"):
        with guard:
            yield
        return
    try:  # before torch 2 it was in force for as long as it lived
        yield
    finally:
        del guard
