"""The depthwise convolution of ConvNeXt: zeros beyond the edges, an output for every cell."""
import torch
from torch.nn import functional


def kernel(config, params: dict, *sides: int) -> torch.Tensor:
    """(channels, rows, columns), by the offset of the input from the output."""
    return params["weight"][:, 0]


def forward(config, params: dict, u: torch.Tensor) -> torch.Tensor:
    return functional.conv2d(u, params["weight"], params.get("bias"), padding=config.kernel // 2,
                             groups=config.channels)


exported = forward  # it is an operator of every ONNX runtime
