"""S4ND: a convolution along each axis, as products with matrices.

Taps belong to a step dt. There is a set of them for each system, or for each channel where channels
have steps of their own; set w is of system w % n_ssm, and channel h uses set h % sets."""
import torch

from ..tracing import not_traced, sizes


def diagonal(config, params: dict, axis: int, side: int, system: torch.Tensor) -> torch.Tensor:
    """Taps of systems with a diagonal matrix: (2 sides, sets, side)."""
    a = torch.complex(-params["A_re"][axis].exp(), params["A_im"][axis])[system]
    x = a * (config.rate * params["log_dt"][axis].exp())[:, None]
    gain = (x.exp() - 1) / a
    lags = torch.arange(side, device=x.device, dtype=params["A_re"].dtype)
    powers = torch.exp(x[:, :, None] * lags)  # (sets, pairs, lags)
    c = torch.view_as_complex(params["C"][axis].contiguous())[:, system]
    return 2 * torch.einsum("dsn,snl->dsl", c * gain, powers).real


def low_rank(config, params: dict, axis: int, side: int, system: torch.Tensor) -> torch.Tensor:
    """The same for a matrix that is diagonal plus low rank: A = diag(lambda) - P P^*, bilinear
    steps, taps C (I - Ad^side)^-1 Ad^l Bd. In double, as the library, where the device has it:
    I - Ad^side is close to singular for small steps."""
    given = params["A_re"].dtype
    wide = given if params["A_re"].device.type == "mps" else torch.float64

    def whole(x):  # the second half of the elements are the conjugates
        return torch.cat([x, x.conj()], -1)

    def vectors(name):
        return whole(torch.view_as_complex(params[name][axis].to(wide).contiguous()))

    eigenvalues = whole(torch.complex(-params["A_re"][axis].to(wide).exp(),
                                      -params["A_im"][axis].to(wide)))
    p, one = vectors("P"), torch.eye(config.d_state, device=eigenvalues.device, dtype=wide)
    a = torch.diag_embed(eigenvalues) - p[:, :, None] * p.conj()[:, None, :]
    dt = (config.rate * params["log_dt"][axis].to(wide).exp())[:, None, None]
    half = dt / 2 * a[system]
    step = torch.linalg.solve(one - half, one + half)
    state = torch.linalg.solve(one - half, dt * vectors("B")[system][:, :, None])
    rest = (one - torch.linalg.matrix_power(step, side)).transpose(-2, -1)
    c = torch.linalg.solve(rest, vectors("C")[:, system].permute(1, 2, 0))  # (sets, N, 2 sides)
    found = []
    for _ in range(side):
        found.append((c * state).sum(1).real)
        state = step @ state
    return torch.stack(found, -1).transpose(0, 1).to(given)


def taps(config, params: dict, axis: int, side: int) -> torch.Tensor:
    """The kernel of an axis of `side` cells, offsets from 1-side to side-1: (sets, 2*side-1)."""
    system = torch.arange(params["log_dt"].shape[1], device=params["C"].device) % config.n_ssm
    form = low_rank if config.form == "dplr" else diagonal
    k = form(config, params, axis, side, system)
    return torch.cat([k[1, :, :side - 1].flip(-1), k[0]], -1)


def matrix(config, params: dict, axis: int, side: int) -> torch.Tensor:
    """The convolution along an axis: (channels, side, side)."""
    k = taps(config, params, axis, side)
    cells = torch.arange(side, device=k.device)
    used = torch.arange(config.channels, device=k.device) % k.shape[0]
    return k[:, cells[:, None] - cells + side - 1][used]


def forward(config, params: dict, u: torch.Tensor) -> torch.Tensor:
    rows, cols = (matrix(config, params, i, int(side)) for i, side in enumerate(sizes(u)[2:]))
    return rows @ (u @ cols.transpose(1, 2)) + params["D"][:, None, None] * u


def exported(config, params: dict, u: torch.Tensor) -> torch.Tensor:
    with not_traced(), torch.no_grad():
        rows, cols = (matrix(config, params, i, side) for i, side in enumerate(u.shape[2:]))
        cols, skip = cols.transpose(1, 2).contiguous(), params["D"][:, None, None].clone()
    return rows @ (u @ cols) + skip * u


def kernel(config, params: dict, rows: int, cols: int) -> torch.Tensor:
    """(sets, 2*rows-1, 2*cols-1), offset (o1, o2) at (o1+rows-1, o2+cols-1)."""
    return taps(config, params, 0, rows)[:, :, None] * taps(config, params, 1, cols)[:, None, :]
