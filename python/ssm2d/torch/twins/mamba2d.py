"""mamba2d, the scan of Mamba2D: one state with a predecessor above and one on the left."""
import torch

from ..tracing import sizes
from . import connected
from .ss2d import gates


def scan(aT, sT, aL, sL) -> torch.Tensor:
    """The states of all cells; arguments and result are [batch][rows][cols][channels][N]."""
    rows, cols = sizes(aT)[1:3]
    above, lines = [None] * cols, []
    for i in range(rows):
        left = None
        for j in range(cols):
            top = aT[:, i, j] * above[j] + sT[:, i, j] if i else 0
            if j:
                side = aL[:, i, j] * left + sL[:, i, j]
            else:
                side = 0 if i else sL[:, 0, 0]
            left = above[j] = (top + side) / 2 if i and j else top + side
        lines.append(torch.stack(above, 1))
    return torch.stack(lines, 1)


def forward(config, params: dict, u: torch.Tensor) -> torch.Tensor:
    u, total = u.movedim(1, -1), 0
    rank, states = sizes(params["dt_projT"])[-1], config.d_state
    for direction in range(config.directions):
        turned = (1, 2) if direction or config.corner == "bottom_right" else ()
        x = u.flip(turned)
        # ranks of T and L, B of T and L, C
        *parts, C = (x @ params["x_proj"][direction].T).split((rank, rank, *3 * [states]), -1)
        (aT, sT), (aL, sL) = (gates(x, parts[g], parts[2 + g], *(
            params[name + side][direction] for name, side in (
                ("dt_proj", "TL"[g]), ("dt_bias", "TL"[g]), ("A", "TL"[g] + "_log"))))
                              for g in range(2))
        y = (scan(aT, sT, aL, sL) @ C[..., None])[..., 0] + params["D"][direction] * x
        total = total + y.flip(turned) / config.directions
    return connected(total.movedim(-1, 1), params)
