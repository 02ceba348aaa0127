"""Layers in plain PyTorch operations, for any device and backend="torch": one file per kind, with
the name of the kind. Kinds without one run on the CPU only.

    forward(config, params, u)      the layer; u and the result are (batch, channels, grid ..)
    exported(config, params, u)     the same in operators that every ONNX runtime has, with
                                    constants for this grid
    kernel(config, params, *grid)   as ssm2d_kernel of the library, differentiable
params are tensors by name. Kinds whose coefficients depend on the input have `forward` only."""
import importlib.util
from functools import lru_cache

import torch


@lru_cache(maxsize=None)
def find(kind: str):
    """The module of a kind, or None."""
    name = f"{__name__}.{kind.replace('-', '_')}"
    return importlib.import_module(name) if importlib.util.find_spec(name) else None


def connected(y: torch.Tensor, params: dict) -> torch.Tensor:
    """y, which depends on every parameter: those without influence on a grid, as the coefficients
    of the row above on a grid of one row, have the gradient 0 as in the library, not none."""
    return y + sum(p.reshape(-1)[:0].sum() for p in params.values())


def advice(kind: str) -> str:
    """The end of error messages about unsupported operations of the library."""
    return "; use backend='torch'" if find(kind) else ""
