"""S4ND as a PyTorch module."""
import torch

from ..baselines import describe
from .baseline import Baseline, check_sides
from .tracing import not_traced, sizes


class S4ND(Baseline):
    """S4ND: one diagonal state-space kernel for each axis and side; the 2-D kernel is the product
    of those of the axes. y = conv(u) + D.u

    S4ND(channels, d_state=16, n_ssm=8, rate=1.0, layout="BHWC")

Input and output: (batch, rows, columns, channels), or (batch, channels, rows, columns) with
layout="BCHW"; any number of rows and columns. Options:
{options}
    init: "authors" (as published) or "identity" (the layer starts close to doing nothing)
    layout, seed, algorithm, measure, max_bytes, backend: as of SSM2d
Parameters are named and shaped as in the library: log_dt, A_re, A_im, C, D."""
    kind = "s4nd"

    def _taps(self, params: dict, axis: int, side: int) -> torch.Tensor:
        """Of an axis with so many cells, by offsets from 1-side to side-1: (n_ssm, 2*side-1)."""
        a = torch.complex(-params["A_re"][axis].exp(), params["A_im"][axis])
        x = a * (self.config.rate * params["log_dt"][axis].exp())[:, None]
        gain = (x.exp() - 1) / a
        lags = torch.arange(side, device=x.device, dtype=params["A_re"].dtype)
        powers = torch.exp(x[:, :, None] * lags)  # (n_ssm, pairs, lags)
        c = torch.view_as_complex(params["C"][axis].contiguous())
        k = 2 * torch.einsum("dsn,snl->dsl", c * gain, powers).real
        return torch.cat([k[1, :, :side - 1].flip(-1), k[0]], -1)

    def _matrix(self, params: dict, axis: int, side: int) -> torch.Tensor:
        """The convolution along an axis: (channels, side, side)."""
        taps = self._taps(params, axis, side)
        cells = torch.arange(side, device=taps.device)
        system = torch.arange(self.channels, device=taps.device) % self.config.n_ssm
        return taps[:, cells[:, None] - cells + side - 1][system]

    def twin(self, params: dict, u: torch.Tensor) -> torch.Tensor:
        rows, cols = (self._matrix(params, i, int(side)) for i, side in enumerate(sizes(u)[2:]))
        return rows @ (u @ cols.transpose(1, 2)) + params["D"][:, None, None] * u

    def exported(self, params: dict, u: torch.Tensor) -> torch.Tensor:
        with not_traced(), torch.no_grad():
            rows, cols = (self._matrix(params, i, side) for i, side in enumerate(u.shape[2:]))
            cols, skip = cols.transpose(1, 2).contiguous(), params["D"][:, None, None].clone()
        return rows @ (u @ cols) + skip * u

    def kernel(self, rows: int, cols: int) -> torch.Tensor:
        """The kernel of every system, (n_ssm, 2*rows-1, 2*cols-1), offset (o1, o2) at (o1+rows-1,
        o2+cols-1), without D; differentiable."""
        check_sides(rows, cols)
        params = dict(self.named_parameters())
        return self._taps(params, 0, rows)[:, :, None] * self._taps(params, 1, cols)[:, None, :]


S4ND.__doc__ = S4ND.__doc__.replace("{options}", describe("s4nd"))
