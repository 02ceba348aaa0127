"""The 2-D SSM: the kernel by its recursion, the convolution by one FFT.

A cell of the recursion needs its left and its upper neighbour, so all cells of an anti-diagonal can
be computed at once: the loop is over rows + columns - 1 diagonals, each for all systems,
coordinates and rows together."""
import math

import torch
from torch.nn import functional as F

from ..tracing import not_traced
from ..tracing import sizes as sizes_of


def flips(config) -> tuple:
    """(rows, columns) for each direction: whether it looks from the other side."""
    if config.directions == 4:
        return (False, False), (True, False), (False, True), (True, True)
    second = (False, True) if config.pair == "columns" else (True, True)
    return ((False, False), second)[:config.directions]


def assignments(config) -> tuple:
    """(base, first, period) for each direction that has systems of its own (one when they share
    them): channel h uses system base + (first + h) % period."""
    if config.share_directions:
        return ((0, 0, config.n_ssm),)
    directions, systems = range(config.directions), config.directions * config.n_ssm
    if config.assign == "paper":
        return tuple((r * config.n_ssm, 0, config.n_ssm) for r in directions)
    step = config.n_ssm if config.assign == "distinct" else config.channels
    return tuple((0, r * step, systems) for r in directions)


def system(config, raw: dict) -> tuple:
    """A [4][systems][N], B [2][systems][N], C [2][rows of C][N] from raw parameters."""
    def polar(name, radius):
        angle = 2 * math.pi * torch.sigmoid(raw[name + "_angle"])
        return radius * torch.polar(torch.ones_like(angle), angle)

    if config.values == "real":
        return torch.sigmoid(raw["A"]), torch.sigmoid(raw["B"]), raw["C"]
    A = polar("A", torch.sigmoid(raw["A_radius"]))
    if config.values == "polar":
        return A, polar("B", torch.sigmoid(raw["B_radius"])), polar("C", raw["C_radius"])
    B = torch.view_as_complex(torch.sigmoid(raw["B"]).contiguous())
    return A, B, torch.view_as_complex(raw["C"].contiguous())


def states(config, A, B, rows: int, cols: int) -> tuple:
    """h and v, each [rows][cols][systems][N]."""
    a1, a2, a3, a4 = A.unbind(0)
    b1, b2 = B.unbind(0)
    # inside, on the border
    half = {"none": (1.0, 1.0), "half": (0.5, 0.5)}.get(config.norm, (0.5, 1.0))
    outside = torch.zeros_like(b1).expand(rows, *b1.shape)[1:]
    h = torch.cat([b1[None], outside])  # on diagonal d: [row][system][N], cell (row, d - row)
    v = torch.cat([b2[None], outside])
    diagonals = [(h, v)]
    row = torch.arange(rows, device=b1.device)
    # at minimum once, so that A has a gradient on a grid of one cell, too
    for d in range(1, max(2, rows + cols - 1)):
        border = (row == 0) | (row == d)
        g = torch.where(border, half[1], half[0]).to(a1.real.dtype)[:, None, None]
        # from the row above
        down = F.pad((a3 * h + a4 * v)[:-1].movedim(0, -1), (1, 0)).movedim(-1, 0)
        h, v = g * (a1 * h + a2 * v), g * down
        diagonals.append((h, v))
    i = row[:, None]
    j = torch.arange(cols, device=row.device)[None, :]
    return tuple(torch.stack(part)[i + j, i] for part in zip(*diagonals))


def causal(config, raw: dict, rows: int, cols: int) -> torch.Tensor:
    """kernel[directions][channels][rows][cols]; what the configuration cuts off is left out, not
    zero."""
    rows = min(rows, config.trunc_rows or rows)
    cols = min(cols, config.trunc_cols or cols)
    A, B, C = system(config, raw)
    h, v = states(config, A, B, rows, cols)
    if config.c_per_channel:
        # C of a direction as [turn][system], filled up in front to its first system and at the end
        # to whole turns
        parts = []
        for (base, first, period), own in zip(assignments(config), C.split(config.channels, 1)):
            first %= period
            filled = F.pad(own.movedim(1, -1), (first, -(first + config.channels) % period))
            turns = filled.movedim(-1, 1).unflatten(1, (-1, period))
            used = slice(base, base + period)
            k = (torch.einsum("ijkn,tkn->tkij", h[:, :, used], turns[0])
                 + torch.einsum("ijkn,tkn->tkij", v[:, :, used], turns[1]))
            parts.append(k.flatten(0, 1)[first:first + config.channels])
        k = torch.cat(parts)
    else:
        k = torch.einsum("ijkn,kn->kij", h, C[0]) + torch.einsum("ijkn,kn->kij", v, C[1])
        channels = torch.arange(config.channels, device=k.device)
        k = k[torch.cat([base + (first + channels) % period
                         for base, first, period in assignments(config)])]
    if k.is_complex():
        k = k.real
    k = k * math.sqrt(1 / config.d_state)
    if config.norm == "paper":
        top = torch.arange(rows, device=k.device) == 0
        border = top[:, None] | (torch.arange(cols, device=k.device) == 0)
        k = torch.where(border, 2 * k, k)
    return k.unflatten(0, (-1, config.channels)).expand(config.directions, -1, -1, -1)


def two_sided(config, k: torch.Tensor, rows: int, cols: int, sizes: tuple) -> torch.Tensor:
    """All directions in one kernel [channels][sizes], shift s at index s modulo the size."""
    total = 0
    for part, flip in zip(k.unbind(0), flips(config)):
        part = F.pad(part, (0, sizes[1] - part.shape[2], 0, sizes[0] - part.shape[1]))
        dims = [dim for dim, flipped in zip((1, 2), flip) if flipped]
        # index s to index -s modulo the size: mirror, and bring 0 back to its place
        total = total + (part.flip(dims).roll([1] * len(dims), dims) if dims else part)
    return total / config.directions if config.average else total


def good_size(minimum: int) -> int:
    """The next size that is a product of 2, 3 and 5, and even."""
    size = minimum + minimum % 2
    while True:
        rest = size
        for factor in (2, 3, 5):
            while rest % factor == 0:
                rest //= factor
        if rest == 1:
            return size
        size += 2


def convolve(config, u: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    """u [batch][channels][rows][cols] with the causal kernels k of each direction."""
    rows, cols, trunc_rows, trunc_cols = *sizes_of(u)[2:], *sizes_of(k)[2:]
    sizes = good_size(rows + trunc_rows - 1), good_size(cols + trunc_cols - 1)
    spectrum = torch.fft.rfft2(two_sided(config, k, rows, cols, sizes), s=sizes)
    return torch.fft.irfft2(torch.fft.rfft2(u, s=sizes) * spectrum, s=sizes)[..., :rows, :cols]


def kernel(config, raw: dict, rows: int, cols: int) -> torch.Tensor:
    """kernel[directions][channels][rows][cols], as the library's ssm2d_kernel."""
    k = causal(config, raw, rows, cols)
    return F.pad(k, (0, cols - k.shape[3], 0, rows - k.shape[2]))


def forward(config, raw: dict, u: torch.Tensor) -> torch.Tensor:
    """The layer; u and the result are [batch][channels][rows][cols]."""
    y = convolve(config, u, causal(config, raw, *sizes_of(u)[2:]))
    if config.skip:
        y = y + raw["D"][:, None, None] * u
    if config.layer_norm:
        y = F.layer_norm(y.movedim(1, -1), (config.channels,), raw["gamma"], raw["beta"],
                         1e-5).movedim(-1, 1)
    return F.silu(y) if config.activation == "silu" else y


def exported(config, raw: dict, u: torch.Tensor) -> torch.Tensor:
    """One convolution per channel with the two-sided kernel of the grid as a constant. Right for
    this grid and smaller ones."""
    with not_traced(), torch.no_grad():
        rows, cols = u.shape[2:]
        k = causal(config, raw, rows, cols)
        k = two_sided(config, k, rows, cols, (2 * rows - 1, 2 * cols - 1))
        k = k.roll((rows - 1, cols - 1), (1, 2))  # no shift in the middle
        if config.skip:
            k[:, rows - 1, cols - 1] += raw["D"]
        k = k.flip((1, 2))[:, None].contiguous()  # a convolution of PyTorch and ONNX does not flip
    y = F.conv2d(u, k, padding=(rows - 1, cols - 1), groups=config.channels)
    if config.layer_norm:
        y = F.layer_norm(y.permute(0, 2, 3, 1), (config.channels,), raw["gamma"], raw["beta"],
                         1e-5).permute(0, 3, 1, 2)
    return F.silu(y) if config.activation == "silu" else y
