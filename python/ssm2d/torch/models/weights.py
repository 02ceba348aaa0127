"""Reads and writes the weights of a model as safetensors files, and adapts them to another image
size."""
import math
import re

import numpy as np
import torch
from torch.nn import functional as F

from ...safetensors import read_safetensors, save_safetensors
from .blocks import Model
from .config import min_elements

COUNTER = ".num_batches_tracked"  # PyTorch's counter beside the moments of a BatchNorm; unused


# ---- other image sizes ---------------------------------------------------------------------------

def resize_grid(table: np.ndarray, old: tuple, new: tuple) -> np.ndarray:
    """Resizes a table with a vector per cell of a grid: bicubic, half-pixel centres, edges
    repeated, no antialiasing. table: [old cells][dim]"""
    cells = torch.from_numpy(table.astype(np.float64)).reshape(1, *old, -1).permute(0, 3, 1, 2)
    made = F.interpolate(cells, size=tuple(new), mode="bicubic", align_corners=False)
    return made.permute(0, 2, 3, 1).flatten(0, 2).float().numpy()


def resize_offsets(table: np.ndarray, old: tuple, positions: int, new: tuple) -> np.ndarray:
    """Resizes a table that is indexed by distance in raster order. A distance o = i * columns + j,
    with j as close to 0 as possible, is i rows and j columns. The offset is scaled to the other
    grid, and entries are interpolated linearly. table: [2 * old positions - 1]"""
    last = len(table) // 2
    offset = np.arange(1 - positions, positions)
    # rounds halves away from zero, as C's lround
    row = np.trunc(offset / new[1] + np.copysign(0.5, offset)).astype(np.int64)
    down = row * (old[0] / new[0])
    across = (offset - row * new[1]) * (old[1] / new[1])
    first = np.floor(down).astype(np.int64) * old[1] + np.floor(across).astype(np.int64)
    down, across = down - np.floor(down), across - np.floor(across)
    total = np.zeros(len(offset))
    for i in (0, 1):
        for j in (0, 1):
            at = np.clip(first + i * old[1] + j, -last, last) + last
            total += (down if i else 1 - down) * (across if j else 1 - across) * table[at]
    return total.astype(np.float32)


def _resize(kind: str, first: int, value: np.ndarray, old: tuple, new: tuple,
            shape: tuple) -> np.ndarray:
    """A parameter of that kind (Model.grids) for another grid."""
    if kind == "offsets":
        return resize_offsets(value.astype(np.float64), old, (shape[0] + 1) // 2, new)
    rows = value.reshape(-1, shape[-1])
    return np.concatenate([rows[:first], resize_grid(rows[first:], old, new)]).reshape(shape)


def resize_arrays(model: Model, made: Model) -> dict:
    """The state of a model, for another that differs in image size only."""
    state, old, new = model.state_dict(), model.grids(), made.grids()
    for name, (kind, first, *cells) in new.items():
        before = tuple(old[name][2:])
        if before != tuple(cells):
            shape = tuple(made.state_dict()[name].shape)
            value = state[name].detach().double().cpu().numpy()
            state[name] = torch.from_numpy(_resize(kind, first, value, before, tuple(cells), shape))
    return state


# ---- reading -------------------------------------------------------------------------------------

def _cells(text):
    """"7x13" """
    found = re.fullmatch(r"([1-9]\d{0,4})x([1-9]\d{0,4})", text or "")
    return tuple(map(int, found.groups())) if found else None


def _holds(kind: str, count: int, cells: tuple) -> bool:
    """Whether a table of this length fits a grid; a table of offsets may be for more tokens."""
    if kind == "offsets":
        return count % 2 == 1 and cells[0] * cells[1] <= (count + 1) // 2
    return cells[0] * cells[1] == count


def _fit(path, name: str, grid: tuple, value: np.ndarray, shape: tuple, own_grid) -> np.ndarray:
    """The array of a file, resized to the model's grid. own_grid: that of the array, if known."""
    kind, first, *cells = grid
    cells, axis = tuple(cells), 1 if kind == "grid" else 0
    same = value.ndim == len(shape) and all(a == b for i, (a, b) in
                                            enumerate(zip(value.shape, shape)) if i != axis)
    if not same or value.shape[axis] <= first:
        return value
    if value.shape == shape and own_grid in (None, cells):
        return value
    count = value.shape[axis] - first
    side = math.isqrt((count + 1) // 2 if kind == "offsets" else count)
    old = own_grid or (side, side)
    if not _holds(kind, count, old):
        raise ValueError(f"{path}: {name} has shape {value.shape}, which fits no known grid: "
                         f"the model needs {cells[0]} x {cells[1]}")
    return _resize(kind, first, value, old, cells, shape)


def _check_names(path, found: dict, wanted: dict) -> None:
    unknown = [name for name in found if name not in wanted]
    missing = [name for name in wanted if name not in found]
    if unknown:
        raise ValueError(f"{path}: has the array {unknown[0]!r:.80}, which the model does not "
                         "have: it was written with other settings (mixer, pos_embed, qkv_bias ..)")
    if missing:
        raise ValueError(f"{path}: the array {missing[0]} is missing")


PARTS = (".scale", ".input_scale", ".input_zero")  # of an array of 8 bits, after its name


def _in_float(path, found: dict) -> dict:
    """The arrays of a file with those of 8 bits times their scales."""
    made = {}
    for name, value in found.items():
        if any(name.endswith(part) and found.get(name[:-len(part)], value).dtype == np.int8
               for part in PARTS):
            continue
        if value.dtype == np.int8:
            scale = found.get(name + PARTS[0])
            if scale is None or scale.dtype != np.float32 or scale.shape != value.shape[:1]:
                raise ValueError(f"{path}: {name} is of 8 bits, but has no {name}{PARTS[0]} with a "
                                 "float32 for each row")
            value = value.astype("f4") * scale.reshape([-1] + [1] * (value.ndim - 1))
        made[name] = value
    return made


def read_weights(path, config: dict, quantized: bool = False) -> tuple:
    """(arrays, metadata) of a file that is large enough for the model. quantized: its arrays may be
    of 8 bits."""
    found, notes = read_safetensors(path)
    if quantized:
        found = _in_float(path, found)
    if notes.get("format", "").startswith("ssm2d checkpoint"):
        raise ValueError(f"{path}: is a checkpoint, for --resume: use the model.safetensors beside "
                         "it")
    elements, minimum = sum(value.size for value in found.values()), min_elements(config)
    if elements < minimum:
        raise ValueError(f"{path}: has {elements} elements, but the model has more than {minimum}: "
                         "it was made with other settings (dim, depth ..)")
    return found, notes


def load_weights(model: Model, path, found: dict, notes: dict) -> None:
    """Loads the result of read_weights. Position embeddings and tables of relative positions for
    another image size are interpolated."""
    wanted, grids = model.state_dict(), model.grids()
    found = {name: value for name, value in found.items() if not (
        name.endswith(COUNTER) and name[:-len(COUNTER)] + ".running_mean" in wanted)}
    _check_names(path, found, wanted)
    tokens = _cells(notes.get("grid"))
    first = next((name for name, grid in grids.items() if grid[0] != "relative"), None)
    if tokens and first:
        kind, skipped = grids[first][:2]
        if not _holds(kind, found[first].size // wanted[first].shape[-1] - skipped
                      if kind == "grid" else found[first].size, tokens):
            tokens = None
    state = {}
    for name, own in wanted.items():
        value = found[name]
        if value.dtype.kind != "f":
            raise ValueError(f"{path}: {name} is of type {value.dtype}: weights are floats")
        if name in grids:
            own_grid = _cells(notes.get(name)) if grids[name][0] == "relative" else tokens
            value = _fit(path, name, grids[name], value, tuple(own.shape), own_grid)
        if value.shape != tuple(own.shape):
            raise ValueError(f"{path}: {name} has shape {value.shape}, the model needs "
                             f"{tuple(own.shape)}")
        if not np.isfinite(value).all():
            raise ValueError(f"{path}: {name} has values that are not finite")
        if name.endswith(".running_var") and (value < 0).any():
            raise ValueError(f"{path}: {name} has a negative value")
        state[name] = torch.from_numpy(np.ascontiguousarray(value, np.float32))
    model.load_state_dict(state)


# ---- writing -------------------------------------------------------------------------------------

def weights_of(model: Model) -> tuple:
    """(arrays by name, metadata) of a file that the tool reads."""
    arrays, notes = {}, {"format": "pt"}  # readers of PyTorch weights look for it
    for name, value in model.state_dict().items():
        array = value.detach().to("cpu", torch.float32).contiguous().numpy()
        if not np.isfinite(array).all():
            raise ValueError(f"{name}: has values that are not finite")
        arrays[name] = array
    for name, (kind, _, rows, cols) in model.grids().items():
        if kind != "relative":
            notes.setdefault("grid", f"{rows}x{cols}")
        elif rows != cols:
            notes[name] = f"{rows}x{cols}"
    return arrays, notes


def save_weights(model: Model, path, overwrite: bool = False) -> None:
    arrays, notes = weights_of(model)
    save_safetensors(path, arrays, notes, overwrite=overwrite)
