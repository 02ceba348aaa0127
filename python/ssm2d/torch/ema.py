"""EMA, the moving average of Mega, as a PyTorch module."""
import math

import torch
from torch.nn import functional

from ..baselines import describe
from .baseline import Baseline, check_sides
from .tracing import not_traced, sizes


class EMA(Baseline):
    """EMA: a moving average with several decays for each channel, over the cells in raster order.
    y = SiLU(conv(u) + omega.u)

    EMA(channels, d_state=16, bidirectional=True, shift=True, trunc=0, layout="BHWC")

Input and output: (batch, rows, columns, channels), or (batch, channels, rows, columns) with
layout="BCHW"; a sequence is an image of one row. Options:
{options}
    layout, seed, algorithm, measure, max_bytes, backend: as of SSM2d
Parameters are named and shaped as in the library: alpha, delta, beta (rows, d_state, 1), gamma
(rows, d_state), omega (channels); rows are channels, or twice as many when bidirectional."""
    kind = "ema"

    def _kernel(self, params: dict, cells: int) -> torch.Tensor:
        alpha = params["alpha"][..., 0].sigmoid()
        decay = torch.log1p(-alpha * params["delta"][..., 0].sigmoid())
        weight = alpha * params["beta"][..., 0] * params["gamma"] / math.sqrt(self.config.d_state)
        taps = min(cells, self.config.trunc or cells)
        lags = torch.arange(taps, device=alpha.device, dtype=alpha.dtype)
        return torch.einsum("kn,knt->kt", weight, torch.exp(decay[:, :, None] * lags))

    def twin(self, params: dict, u: torch.Tensor) -> torch.Tensor:
        x = u.flatten(2)
        cells = int(sizes(x)[2])
        k = self._kernel(params, cells)
        # both directions in one circular kernel, long enough that nothing meets from behind
        length = 2 * cells
        both = functional.pad(k[:self.channels], (0, length - k.shape[1]))
        if self.config.bidirectional:
            back = functional.pad(k[self.channels:], (0, length - k.shape[1]))
            # offset -(t+1) is at length-1-t; without shift offset -t is at (length-t) mod length
            both = both + back.flip(-1).roll(0 if self.config.shift else 1, -1)
        z = torch.fft.irfft(torch.fft.rfft(x, n=length) * torch.fft.rfft(both, n=length),
                            n=length)[..., :cells]
        return functional.silu(z + params["omega"][:, None] * x).view(u.shape)

    def exported(self, params: dict, u: torch.Tensor) -> torch.Tensor:
        with not_traced(), torch.no_grad():
            rows, cols = u.shape[2:]
            cells = rows * cols
            k = self._kernel(params, cells)
            # the weight of the input at offset o from the output is entry o + cells - 1
            weights = functional.pad(k[:self.channels].flip(-1), (cells - k.shape[1], cells - 1))
            weights[:, cells - 1] += params["omega"]
            if self.config.bidirectional:
                first = cells if self.config.shift else cells - 1
                taps = min(k.shape[1], 2 * cells - 1 - first)
                weights[:, first:first + taps] += k[self.channels:, :taps]
            weights = weights[:, None, None].contiguous()
        x = u.flatten(2)[:, :, None]
        z = functional.conv2d(x, weights, padding=(0, cells - 1), groups=self.channels)
        return functional.silu(z).reshape(-1, self.channels, rows, cols)

    def kernel(self, rows: int, cols: int) -> torch.Tensor:
        """The kernel of every row of parameters, (rows, cells), cut to `trunc` cells, without
        omega; differentiable."""
        check_sides(rows, cols)
        return self._kernel(dict(self.named_parameters()), rows * cols)


EMA.__doc__ = EMA.__doc__.replace("{options}", describe("ema"))
