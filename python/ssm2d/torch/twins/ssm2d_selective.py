"""The selective 2-D SSM: a loop over the rows and columns of each direction."""
import math

import torch
from torch.nn import functional as F

from ..tracing import sizes
from .ssm2d import assignments, flips


def own(config, x: torch.Tensor, direction: int, flip: tuple) -> torch.Tensor:
    """x [batch][rows][cols][systems] of the channels of a direction, flipped."""
    base, first, period = (assignments(config) * config.directions)[direction]
    channels = torch.arange(config.channels, device=x.device)
    return mirrored(x, flip)[:, :, :, base + (first + channels) % period]


def mirrored(x: torch.Tensor, flip: tuple) -> torch.Tensor:
    """x [batch][rows][cols] .. with rows and columns in the opposite order where flip says so."""
    return x.flip([axis for axis, flipped in zip((1, 2), flip) if flipped])


def scan(config, a, b, c, x: torch.Tensor) -> torch.Tensor:
    """One direction without D: a(m, i, j) is coefficient m of cell (i, j), [batch][channels][N];
    b [2][channels][N]; c [2][batch][rows][cols][channels][N], or without batch and cells;
    x [batch][rows][cols][channels]."""
    border, inside = {"none": (1.0, 1.0), "half": (0.5, 0.5), "relaxed": (1.0, 0.5)}[config.norm]
    b1, b2 = b
    rows, cols = sizes(x)[1:3]
    nothing = torch.zeros_like(b1 * x[:, 0, 0, :, None])
    above, lines = [(nothing, nothing, nothing, nothing)] * cols, []
    for i in range(rows):
        left, line = (nothing, nothing, nothing, nothing), []
        for j in range(cols):
            a1, a2, a3, a4 = (a(m, i, j) for m in range(4))
            # (r, q, P, Q) of the neighbours
            r_left, q_left, P_left, Q_left = left
            r_up, q_up, P_up, Q_up = above[j]
            xl = x[:, i, j - 1, :, None] if j else nothing
            xu = x[:, i - 1, j, :, None] if i else nothing
            left = (border * (a1 * r_left + (a1 * b1 + a2 * b2) * xl),
                    border * (a4 * q_up + (a3 * b1 + a4 * b2) * xu),
                    inside * (a1 * P_left + a2 * (Q_left + q_left)),
                    inside * (a3 * (P_up + r_up) + a4 * Q_up))
            above[j] = left
            r, q, P, Q = left
            here = x[:, i, j, :, None]
            c1, c2 = (part[:, i, j] if part.dim() > 3 else part for part in c)
            line.append((c1 * (b1 * here + r + P) + c2 * (b2 * here + q + Q)).sum(-1))
        lines.append(torch.stack(line, 1))
    return torch.stack(lines, 1) / math.sqrt(config.d_state)


def forward(config, params: dict, u: torch.Tensor) -> torch.Tensor:
    u = u.movedim(1, -1)
    z = u @ params["W1"].T
    dt = F.softplus(z @ params["W2"].T + params["dt_bias"])  # [batch][rows][cols][systems]
    decay, B, total = F.softplus(-params["A"]), params["B"].sigmoid(), 0
    systems = torch.arange(sizes(dt)[-1], device=u.device)[None, None, None]
    for direction, flip in enumerate(flips(config)):
        used = own(config, systems, direction, (False, False))[0, 0, 0]
        steps, x = own(config, dt, direction, flip), mirrored(u, flip)
        rates = decay[:, used]
        if config.input_dt:
            x = steps * x
        if config.c_per_channel:
            first = 0 if config.share_directions else direction * config.channels
            c = params["C"][:, first:first + config.channels]
        else:
            c = params["C"][:, used]
        if config.c_cell:
            c = c[:, None, None, None] + torch.einsum("dhnr,bijr->dbijhn", params["Wc"][:, used],
                                                      mirrored(z, flip))

        def coefficient(m, i, j):
            return torch.exp(-steps[:, i, j, :, None] * rates[m])

        y = scan(config, coefficient, B[:, used], c.unbind(0), x)
        total = total + mirrored(y, flip)
    if config.skip:
        total = total + params["D"] * u
    return total.movedim(-1, 1)
