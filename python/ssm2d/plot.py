"""Pictures of kernels, with matplotlib."""
import numpy as np


def two_sided(kernel: np.ndarray, config) -> np.ndarray:
    """All directions of kernel[directions][channels][rows][cols] together, no shift in the middle:
    [channels][2*rows-1][2*cols-1]."""
    _, channels, rows, cols = kernel.shape
    out = np.zeros((channels, 2 * rows - 1, 2 * cols - 1), kernel.dtype)
    for k, (flip_rows, flip_cols) in zip(kernel, config.flips):
        view = out[:, ::-1] if flip_rows else out
        view = view[:, :, ::-1] if flip_cols else view
        view[:, rows - 1:, cols - 1:] += k
    return out / len(kernel) if config.average else out


def plot_kernels(module, rows: int = 16, cols: int = 16, channels=8, path=None):
    """Draws the kernels of an SSM2d, or of every SSM2d in a model: a line of pictures for each
    layer, one for each channel (`channels`: how many, or a list of which). All directions are in
    one picture; no shift is in the middle; red adds, blue subtracts. Returns the matplotlib figure,
    and writes it to `path` if given."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("plot_kernels needs matplotlib (python3-matplotlib in Debian)") from None
    from .torch import SSM2d

    layers = [(name, m) for name, m in module.named_modules() if isinstance(m, SSM2d)]
    if not layers:
        raise ValueError(f"module={type(module).__name__}: there is no SSM2d in it")
    if isinstance(channels, int):
        channels = range(min(channels, min(m.channels for _, m in layers)))
    figure = Figure(figsize=(1.1 * len(channels) + 0.6, 1.25 * len(layers) + 0.3),
                    layout="constrained")
    axes = figure.subplots(len(layers), len(channels), squeeze=False)
    for line, (name, layer) in zip(axes, layers):
        pictures = two_sided(layer.kernel(rows, cols).detach().cpu().numpy(), layer.config)
        for ax, channel in zip(line, channels):
            largest = np.abs(pictures[channel]).max() or 1
            ax.imshow(pictures[channel], cmap="RdBu_r", vmin=-largest, vmax=largest,
                      interpolation="nearest",
                      extent=(-cols + 0.5, cols - 0.5, rows - 0.5, -rows + 0.5))
            ax.set_xticks([])
            ax.set_yticks([])
            ax.set_title(f"channel {channel}", fontsize=7)
        line[0].set_ylabel(name or type(layer).__name__, fontsize=7)
    if path is not None:
        figure.savefig(path, dpi=120)
    return figure
