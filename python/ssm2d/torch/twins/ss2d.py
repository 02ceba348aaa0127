"""ss2d, the scan of VMamba: loops over all cells in four orders; and what it shares with mamba2d
and scan2d."""
import torch
from torch.nn import functional as F

from ..tracing import sizes


def mapped(x: torch.Tensor, direction: int) -> torch.Tensor:
    """x [batch][rows][cols] .. as direction 0 to 3 sees it: 1 and 3 transposed, 2 and 3 turned."""
    x = x.transpose(1, 2) if direction % 2 else x
    return x.flip((1, 2)) if direction >= 2 else x


def unmapped(x: torch.Tensor, direction: int) -> torch.Tensor:
    """The inverse."""
    x = x.flip((1, 2)) if direction >= 2 else x
    return x.transpose(1, 2) if direction % 2 else x


def gates(x, p, B, weight, bias, A_log) -> tuple:
    """Coefficients and inputs (a, s) of the recurrence, [..][channels][N], of cells x
    [..][channels] with ranks p [..][R] and B [..][N]."""
    dt = F.softplus(p @ weight.T + bias)
    return (torch.exp(-dt[..., None] * A_log.exp()), (dt * x)[..., None] * B[..., None, :])


def projected(config, params: dict, x: torch.Tensor, direction: int) -> tuple:
    """(a, s, C) of a direction with one predecessor."""
    rank, states = sizes(params["dt_proj"])[-1], config.d_state
    p, B, C = (x @ params["x_proj"][direction].T).split((rank, states, states), -1)
    a, s = gates(x, p, B, *(params[name][direction] for name in ("dt_proj", "dt_bias", "A_log")))
    return a, s, C


def chain(a: torch.Tensor, s: torch.Tensor) -> torch.Tensor:
    """h(t) = a(t) h(t-1) + s(t) along axis 1."""
    h, states = torch.zeros_like(s[:, 0]), []
    for now, given in zip(a.unbind(1), s.unbind(1)):
        h = now * h + given
        states.append(h)
    return torch.stack(states, 1)


def finished(config, params: dict, y: torch.Tensor) -> torch.Tensor:
    """The final norm, and channels in front."""
    if config.normalize:
        y = F.layer_norm(y, (config.channels,), params["gamma"], params["beta"], 1e-5)
    return y.movedim(-1, 1)


def forward(config, params: dict, u: torch.Tensor) -> torch.Tensor:
    u, total = u.movedim(1, -1), 0
    for direction in range(config.directions):
        x = mapped(u, direction)
        a, s, C = projected(config, params, x, direction)
        h = chain(a.flatten(1, 2), s.flatten(1, 2)).unflatten(1, tuple(sizes(x)[1:3]))
        y = (h @ C[..., None])[..., 0] + params["D"][direction] * x
        total = total + unmapped(y, direction)
    return finished(config, params, total)
