"""Adds a layer to the blocks of vision transformers: on patch tokens, after a block's first
norm."""
import math
from functools import partial
from typing import Optional

import torch
from torch import nn

from .layer import SSM2d, create


class Mix:
    """Forward hook of a block's first norm: mixes its output. Tokens that are not patches pass
    unchanged."""

    def __init__(self, mixer: nn.Module, grid, others: int):
        self.mixer, self.grid, self.others = mixer, grid, others

    def __call__(self, norm, inputs, x):
        if x.dim() == 4:  # a map
            return self.mixer(x)
        rows, cols = self.sides(x.shape[1] - self.others)
        mixed = self.mixer(x[:, self.others:].unflatten(1, (rows, cols))).flatten(1, 2)
        return torch.cat([x[:, :self.others], mixed], 1) if self.others else mixed

    def sides(self, tokens: int) -> tuple:
        if self.grid and self.grid[0] * self.grid[1] == tokens:
            return self.grid
        side = math.isqrt(max(tokens, 0))
        if side * side != tokens or not side:
            raise ValueError(f"{tokens} patch tokens are neither a square nor the model's grid "
                             f"{self.grid}; give "
                             "add_mixers the grid=(rows, columns)")
        return side, side


def _pair(value) -> tuple:
    return tuple(value) if isinstance(value, (tuple, list)) else (value, value)


def _grid(model: nn.Module) -> Optional[tuple]:
    patches = getattr(model, "patch_embed", None)  # timm
    if getattr(patches, "grid_size", None) is not None:
        return _pair(patches.grid_size)
    # torchvision
    image, patch = getattr(model, "image_size", None), getattr(model, "patch_size", None)
    if image is not None and patch is not None:
        return tuple(i // p for i, p in zip(_pair(image), _pair(patch)))
    return None


def _others(model: nn.Module) -> int:
    if hasattr(model, "num_prefix_tokens"):  # timm
        return model.num_prefix_tokens
    return sum(isinstance(getattr(model, name, None), torch.Tensor)
               for name in ("class_token", "cls_token", "dist_token"))


def _first_norm(block: nn.Module) -> Optional[nn.Module]:
    for norm, attention in (("ln_1", "self_attention"), ("norm1", "attn")):
        if isinstance(getattr(block, norm, None),
                      nn.Module) and isinstance(getattr(block, attention, None), nn.Module):
            if hasattr(getattr(block, attention), "logit_scale"):
                raise ValueError(f"model: the blocks, {type(block).__name__}, norm after the "
                                 f"attention (Swin "
                                 "V2), which is not supported")
            return getattr(block, norm)
    return None


def add_mixers(model: nn.Module, *, mixer=SSM2d, grid: Optional[tuple] = None,
               class_tokens: Optional[int] = None,
               **options) -> nn.Module:
    """Adds an SSM2d, or another mixer, as `mixer` to every block of a torchvision vit_* or swin_*
    model, or of a timm model built like them: the output of the block's first norm is mixed and
    then goes to the attention. Changes the model and returns it. Its own parameters keep their
    names; those of the layers are `<block>.mixer.<name>`.

    mixer: SSM2d, S4ND, EMA, or the name of a kind; grid: (rows, columns) of patch tokens, if the
    model does not have it; class_tokens: number of leading tokens that are not patches (they pass
    unchanged), if the model does not have it; options: of the mixer, except channels and layout."""
    if isinstance(mixer, str):
        mixer = partial(create, mixer)
    for name in ("channels", "layout"):
        if name in options:
            raise TypeError(f"{name}={options[name]!r}: is taken from the model")
    blocks = [(b, _first_norm(b)) for b in model.modules() if _first_norm(b) is not None]
    if not blocks:
        raise ValueError(f"model={type(model).__name__}: no blocks with ln_1 and self_attention, "
                         f"or norm1 and attn")
    if any(hasattr(b, "mixer") for b, _ in blocks):
        raise ValueError(f"model={type(model).__name__}: its blocks have a mixer already")
    grid = _pair(grid) if grid is not None else _grid(model)
    others = _others(model) if class_tokens is None else class_tokens
    for block, norm in blocks:
        if len(getattr(norm, "normalized_shape", ())) != 1:
            raise ValueError(f"model: {type(norm).__name__} of {type(block).__name__} is not a "
                             f"LayerNorm over channels")
        weight = next(block.parameters())
        block.mixer = mixer(norm.normalized_shape[0],
                            **{"device": weight.device, "dtype": weight.dtype, **options})
        block.mixer.train(block.training)
        stage = getattr(block, "input_resolution", None)  # of timm's swin blocks, which norm tokens
        norm.register_forward_hook(Mix(block.mixer, _pair(stage) if stage is not None else grid,
                                       others))
    return model
