"""roesser, the core of pLSTM in two dimensions: matrices of states that move along rows and along
columns."""
import math

import torch

from ..tracing import sizes
from . import connected

FLIPS = {1: ((),), 2: ((), (1, 2)), 4: ((), (1,), (2,), (1, 2))}  # axes


def linear(params: dict, name: str, u: torch.Tensor, direction: int, scale: float = 1):
    """bias + scale weight u of the heads, [batch][rows][cols][heads]."""
    return params[name + "_bias"][direction] + scale * (u @ params[name + "_weight"][direction].T)


def gates(config, params: dict, u: torch.Tensor, direction: int) -> tuple:
    """(s_r, s_d, m_l, m_u, t_rl, t_ru, t_dl, t_du)"""
    def gate(name, scale=1):
        return linear(params, name, u, direction, scale).sigmoid()

    def transition(name):
        p = linear(params, name, u, direction)
        return torch.tanh(5 * p) if config.transition == "tanh" else p.sigmoid()

    if config.mode == "P":
        o = gate("o", 0.5 / config.channels)
        s, t, m = o * gate("s"), o * transition("eig"), gate("m")
        return s, 1 - s, m, m, t, t, 1 - t, 1 - t
    x, t_rl, t_du = transition("tx"), transition("tr"), transition("td")
    turns = (x, 0 * x) if config.chirality == "L" else (0 * x, x)
    return gate("sr"), gate("sd"), gate("ml"), gate("mu"), t_rl, *turns, t_du


def scan(all_gates: tuple, q: torch.Tensor, kv: torch.Tensor) -> torch.Tensor:
    """One direction: q [batch][rows][cols][heads][d_qk], kv = k v^T."""
    rows, cols = sizes(q)[1:3]
    nothing = torch.zeros_like(kv[:, 0, 0])
    above, lines = [nothing] * cols, []  # S^r
    for i in range(rows):
        left, line = nothing, []  # S^d
        for j in range(cols):
            s_r, s_d, m_l, m_u, t_rl, t_ru, t_dl, t_du = (
                g[:, i, j, :, None, None] for g in all_gates)
            up, new = above[j], kv[:, i, j]
            line.append((q[:, i, j, :, None] @ (m_l * up + m_u * left))[:, :, 0])
            above[j], left = (t_rl * up + t_ru * left + s_r * new,
                              t_dl * up + t_du * left + s_d * new)
        lines.append(torch.stack(line, 1))
    return torch.stack(lines, 1)


def forward(config, params: dict, u: torch.Tensor) -> torch.Tensor:
    u = u.movedim(1, -1)
    q, k, v = (torch.einsum("bijc,hkc->bijhk", u, params[name]) for name in ("Wq", "Wk", "Wv"))
    direct = (params["direct_bias"] + u @ params["direct_weight"].T).sigmoid()
    y = (direct * (q * k).sum(-1))[..., None] * v
    kv = k[..., :, None] * v[..., None, :]
    for direction, axes in enumerate(FLIPS[config.directions]):
        parts = tuple(g.flip(axes) for g in gates(config, params, u, direction))
        y = y + scan(parts, q.flip(axes), kv.flip(axes)).flip(axes)
    return connected((y / math.sqrt(config.d_qk)).flatten(-2).movedim(-1, 1), params)
