"""scan2d, the scan of 2DMamba: along the rows of an image, then along its columns, with the same
coefficients."""
import torch

from .ss2d import chain, finished, mapped, projected, unmapped


def forward(config, params: dict, u: torch.Tensor) -> torch.Tensor:
    u, total = u.movedim(1, -1), 0
    for direction in range(config.directions):
        x = mapped(u, direction)
        a, s, C = projected(config, params, x, direction)
        g = chain(a.transpose(1, 2), s.transpose(1, 2)).transpose(1, 2)
        y = (chain(a, g) @ C[..., None])[..., 0] + params["D"][direction] * x
        total = total + unmapped(y, direction)
    return finished(config, params, total)
