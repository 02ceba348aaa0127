"""Pictures of kernels, with matplotlib."""
import numpy as np

PER_LINE = 8     # pictures in a row
SIDE = 1.1       # inches of a picture
NAME_POINTS = 8  # size of the layers' names


def two_sided(kernel: np.ndarray, flips: tuple, average: bool) -> np.ndarray:
    """The sum of all directions of kernel[directions][channels][rows][cols], with offset 0 in the
    middle: [channels][2*rows-1][2*cols-1]."""
    _, channels, rows, cols = kernel.shape
    out = np.zeros((channels, 2 * rows - 1, 2 * cols - 1), kernel.dtype)
    for k, (flip_rows, flip_cols) in zip(kernel, flips):
        view = out[:, ::-1] if flip_rows else out
        view = view[:, :, ::-1] if flip_cols else view
        view[:, rows - 1:, cols - 1:] += k
    return out / len(kernel) if average else out


def chosen(channels, layers) -> list:
    """The channels to draw; every layer must have them."""
    smallest = min(layer.channels for _, layer in layers)
    if isinstance(channels, int):
        if channels < 1:
            raise ValueError(f"channels={channels}: use 1 or more, or a list of channels")
        return list(range(min(channels, smallest)))
    which = list(channels)
    if not which:
        raise ValueError("channels: the list is empty")
    for channel in which:
        if not 0 <= channel < smallest:
            raise ValueError(f"channels: {channel} is not from 0 to {smallest - 1}, which every "
                             f"layer has")
    return which


def draw_layer(area, name: str, pictures: np.ndarray, which: list, extent: tuple) -> None:
    """Draws one layer in its part of the figure. Its pictures share one scale, shown by the colour
    bar, so that they can be compared."""
    sizes = np.abs(pictures[which])
    if not np.isfinite(sizes).all():
        raise ValueError(f"{name}: a kernel has values that are not finite")
    largest = sizes.max() or 1
    across = min(len(which), PER_LINE)
    axes = area.subplots(-(-len(which) // across), across, squeeze=False)
    for ax in axes.flat[len(which):]:
        ax.set_axis_off()
    for ax, channel in zip(axes.flat, which):
        shown = ax.imshow(pictures[channel], cmap="RdBu_r", vmin=-largest, vmax=largest,
                          interpolation="nearest", extent=extent)
        ax.set_xticks([])
        ax.set_yticks([])
        ax.set_title(f"channel {channel}", fontsize=7)
    high, wide = pictures.shape[1:]
    bar = area.colorbar(shown, ax=axes, ticks=(-largest, 0, largest), format="%.2g", pad=0.02,
                        fraction=0.05, aspect=max(5, 12 * len(axes) * min(1, high / wide)))
    bar.ax.tick_params(labelsize=6)
    area.suptitle(name, fontsize=NAME_POINTS)


def plot_kernels(module, rows: int = 16, cols: int = 16, channels=8, path=None):
    """Draws the kernels of an SSM2d, or of every SSM2d in a model: pictures for each layer, one
    for each channel (`channels`: their number, or a list of indices), and a colour bar with the
    layer's scale. All directions are in one picture, with offset 0 in the middle; red is positive,
    blue negative. Returns
    the matplotlib figure, and writes it to `path` if given."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("plot_kernels needs matplotlib (python3-matplotlib in Debian)") from None
    from .torch import Layer
    from .torch.twins.ssm2d import flips

    layers = [(name or type(m).__name__, m) for name, m in module.named_modules()
              if isinstance(m, Layer) and m.config.kind == "ssm2d"]
    if not layers:
        raise ValueError(f"module={type(module).__name__}: there is no SSM2d in it")
    which = chosen(channels, layers)
    across = min(len(which), PER_LINE)
    lines = -(-len(which) // across)
    shape = (2 * rows - 1) / (2 * cols - 1)  # wide pictures have the same width and less height
    high = lines * (SIDE * min(max(shape, 0.25), 4) + 0.2) + 0.3
    # The colour bar and its labels take 0.8; a letter's width is about 0.6 of the font size.
    letters = max(len(name) for name, _ in layers) * 0.6 * NAME_POINTS / 72
    wide = max(SIDE * across + 0.8, letters + 0.2)
    figure = Figure(figsize=(wide, high * len(layers)), layout="constrained")
    areas = figure.subfigures(len(layers), 1, squeeze=False)[:, 0]
    extent = (-cols + 0.5, cols - 0.5, rows - 0.5, -rows + 0.5)
    for area, (name, layer) in zip(areas, layers):
        pictures = two_sided(layer.kernel(rows, cols).detach().cpu().numpy(),
                             flips(layer.config), layer.config.average)
        draw_layer(area, name, pictures, which, extent)
    if path is not None:
        figure.savefig(path, dpi=120)
    return figure
