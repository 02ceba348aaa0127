"""S4ND: a convolution along each axis, as products with matrices."""
import torch

from ..tracing import not_traced, sizes


def taps(config, params: dict, axis: int, side: int) -> torch.Tensor:
    """The kernel of an axis of `side` cells, offsets from 1-side to side-1: (n_ssm, 2*side-1)."""
    a = torch.complex(-params["A_re"][axis].exp(), params["A_im"][axis])
    x = a * (config.rate * params["log_dt"][axis].exp())[:, None]
    gain = (x.exp() - 1) / a
    lags = torch.arange(side, device=x.device, dtype=params["A_re"].dtype)
    powers = torch.exp(x[:, :, None] * lags)  # (n_ssm, pairs, lags)
    c = torch.view_as_complex(params["C"][axis].contiguous())
    k = 2 * torch.einsum("dsn,snl->dsl", c * gain, powers).real
    return torch.cat([k[1, :, :side - 1].flip(-1), k[0]], -1)


def matrix(config, params: dict, axis: int, side: int) -> torch.Tensor:
    """The matrix of the convolution along an axis: (channels, side, side)."""
    k = taps(config, params, axis, side)
    cells = torch.arange(side, device=k.device)
    system = torch.arange(config.channels, device=k.device) % config.n_ssm
    return k[:, cells[:, None] - cells + side - 1][system]


def forward(config, params: dict, u: torch.Tensor) -> torch.Tensor:
    rows, cols = (matrix(config, params, i, int(side)) for i, side in enumerate(sizes(u)[2:]))
    return rows @ (u @ cols.transpose(1, 2)) + params["D"][:, None, None] * u


def exported(config, params: dict, u: torch.Tensor) -> torch.Tensor:
    with not_traced(), torch.no_grad():
        rows, cols = (matrix(config, params, i, side) for i, side in enumerate(u.shape[2:]))
        cols, skip = cols.transpose(1, 2).contiguous(), params["D"][:, None, None].clone()
    return rows @ (u @ cols) + skip * u


def kernel(config, params: dict, rows: int, cols: int) -> torch.Tensor:
    """(n_ssm, 2*rows-1, 2*cols-1), offset (o1, o2) at (o1+rows-1, o2+cols-1)."""
    return taps(config, params, 0, rows)[:, :, None] * taps(config, params, 1, cols)[:, None, :]
