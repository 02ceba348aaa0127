"""chimera, the scan of Chimera in linear time: a matrix of states per head, from four corners."""
import math

import torch
from torch.nn import functional as F

from ..tracing import sizes
from . import connected


def scan(t: torch.Tensor, B: torch.Tensor, C: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """One corner, the top left one: t [batch][rows][cols][heads][2 edges], B and C
    [batch][rows][cols][q], x [batch][rows][cols][heads][P]."""
    rows, cols = sizes(x)[1:3]
    nothing = B[:, 0, 0, None, :, None] * x[:, 0, 0, :, None, :] * 0
    above, lines = [None] * cols, []
    for i in range(rows):
        left, line = None, []
        for j in range(cols):
            edges = [(edge, before) for edge, before in ((0, left), (1, above[j]))
                     if before is not None]
            state = nothing
            for edge, before in edges:
                step = t[:, i, j, :, edge, None, None]
                state = state + torch.exp(-step) * before + step * (
                    B[:, i, j, None, :, None] * x[:, i, j, :, None, :])
            left = above[j] = state / math.sqrt(max(1, len(edges)))
            line.append((C[:, i, j, None, :, None] * left).sum(2))
        lines.append(torch.stack(line, 1))
    return torch.stack(lines, 1)


def forward(config, params: dict, u: torch.Tensor) -> torch.Tensor:
    u, heads = u.movedim(1, -1), sizes(params["D"])[0]
    x = u.unflatten(-1, (heads, -1))
    # sets 0 and 1 of B, of C, and the steps of (head, set, edge)
    *given, raw = (u @ params["x_proj"].T).split((*4 * [config.d_qk], 4 * heads), -1)
    t = F.softplus(raw.unflatten(-1, (heads, 2, 2)) + params["dt_bias"][:, None, None])
    total = params["D"][:, None] * x
    for corner in range(4):
        down, right = corner // 2, corner % 2  # the rows, the columns are mirrored
        axes = [axis for axis, flipped in ((1, down), (2, right)) if flipped]
        parts = (t[..., down, :], given[down], given[2 + down], x)
        total = total + scan(*(part.flip(axes) for part in parts)).flip(axes) / 2
    return connected(total.flatten(-2).movedim(-1, 1), params)
