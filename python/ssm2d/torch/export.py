"""The layer in operators that every ONNX runtime has: the two-sided kernel of the grid as a
constant, and one convolution per channel."""
import torch
from torch.nn import functional as F

from . import recursion
from .tracing import not_traced


def weights(config, raw: dict, rows: int, cols: int) -> torch.Tensor:
    """All directions and D as the weights [channels][1][2*rows-1][2*cols-1] of a convolution, in
    which PyTorch and ONNX do not flip the kernel."""
    k = recursion.causal(config, raw, rows, cols)
    k = recursion.two_sided(config, k, rows, cols, (2 * rows - 1, 2 * cols - 1))
    k = k.roll((rows - 1, cols - 1), (1, 2))  # no shift in the middle
    if config.skip:
        k[:, rows - 1, cols - 1] += raw["D"]
    return k.flip((1, 2))[:, None].contiguous()


def forward(config, raw: dict, u: torch.Tensor) -> torch.Tensor:
    """The layer; u and the result are [batch][channels][rows][cols]. Right for this grid and
    smaller ones."""
    with not_traced(), torch.no_grad():
        rows, cols = u.shape[2:]
        kernel = weights(config, raw, rows, cols)
    y = F.conv2d(u, kernel, padding=(rows - 1, cols - 1), groups=config.channels)
    if config.layer_norm:
        y = F.layer_norm(y.permute(0, 2, 3, 1), (config.channels,), raw["gamma"], raw["beta"],
                         1e-5).permute(0, 3, 1, 2)
    return y
