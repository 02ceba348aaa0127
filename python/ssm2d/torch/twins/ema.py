"""EMA, the moving average of Mega: a convolution over cells in raster order, with one FFT."""
import math

import torch
from torch.nn import functional

from ..tracing import not_traced, sizes


def kernel(config, params: dict, *sides: int) -> torch.Tensor:
    """The kernel (rows of parameters, cells), truncated to `trunc` cells."""
    cells = math.prod(sides)
    alpha = params["alpha"][..., 0].sigmoid()
    decay = torch.log1p(-alpha * params["delta"][..., 0].sigmoid())
    weight = alpha * params["beta"][..., 0] * params["gamma"] / math.sqrt(config.d_state)
    taps = min(cells, config.trunc or cells)
    lags = torch.arange(taps, device=alpha.device, dtype=alpha.dtype)
    return torch.einsum("kn,knt->kt", weight, torch.exp(decay[:, :, None] * lags))


def forward(config, params: dict, u: torch.Tensor) -> torch.Tensor:
    x = u.flatten(2)
    cells = int(sizes(x)[2])
    k = kernel(config, params, cells)
    # both directions in one circular kernel, long enough that nothing wraps around
    length = 2 * cells
    both = functional.pad(k[:config.channels], (0, length - k.shape[1]))
    if config.bidirectional:
        back = functional.pad(k[config.channels:], (0, length - k.shape[1]))
        # offset -(t+1) is at length-1-t; without shift offset -t is at (length-t) mod length
        both = both + back.flip(-1).roll(0 if config.shift else 1, -1)
    z = torch.fft.irfft(torch.fft.rfft(x, n=length) * torch.fft.rfft(both, n=length),
                        n=length)[..., :cells]
    return functional.silu(z + params["omega"][:, None] * x).view(u.shape)


def exported(config, params: dict, u: torch.Tensor) -> torch.Tensor:
    with not_traced(), torch.no_grad():
        sides = u.shape[2:]
        cells = math.prod(sides)
        k = kernel(config, params, cells)
        # the weight of the input at offset o from the output is entry o + cells - 1
        weights = functional.pad(k[:config.channels].flip(-1), (cells - k.shape[1], cells - 1))
        weights[:, cells - 1] += params["omega"]
        if config.bidirectional:
            first = cells if config.shift else cells - 1
            taps = min(k.shape[1], 2 * cells - 1 - first)
            weights[:, first:first + taps] += k[config.channels:, :taps]
        weights = weights[:, None, None].contiguous()
    x = u.flatten(2)[:, :, None]
    z = functional.conv2d(x, weights, padding=(0, cells - 1), groups=config.channels)
    return functional.silu(z).reshape(-1, config.channels, *sides)
