"""Converts an image of any size to a model's input, with the same bits as the tool's evaluation:
resized as by Pillow, with antialiasing; cropped to the centre; normalised."""
import math

import numpy as np
import torch

BITS = 22  # bits of weights: with a pixel's 8 and the sign they fill 31
MAX_SIDE = 1 << 16
MIN_CROP = 0.1


def _triangle(x):
    return np.maximum(1 - np.abs(x), 0)


def _cubic(x, a=-0.5):
    x = np.abs(x)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    return np.where(x < 1, near, np.where(x < 2, (((x - 5) * x + 8) * x - 4) * a, 0))


FILTERS = {"bilinear": (_triangle, 1), "bicubic": (_cubic, 2)}  # weight function, support


def _axis(pixels: np.ndarray, to: int, window: int, outputs: int, kind: str) -> np.ndarray:
    """Resizes the first axis to `to`, of which `outputs` from `window` on are computed."""
    weigh, support = FILTERS[kind]
    size = len(pixels)
    scale = size / to
    stretch = max(scale, 1.0)
    reach = support * stretch
    centre = (np.arange(window, window + outputs) + 0.5) * scale
    first = np.maximum((centre - reach + 0.5).astype(np.int64), 0)
    end = np.minimum((centre + reach + 0.5).astype(np.int64), size)
    taps = np.arange((end - first).max())
    weights = weigh((taps + first[:, None] - centre[:, None] + 0.5) * (1 / stretch))
    weights[taps >= (end - first)[:, None]] = 0
    # one after another: the order of additions determines the rounding
    total = np.zeros(outputs)
    for k in taps:
        total += weights[:, k]
    weights = np.where(total[:, None] != 0, weights / np.where(total == 0, 1, total)[:, None],
                       weights)
    whole = np.trunc(weights * (1 << BITS) + np.where(weights < 0, -0.5, 0.5)).astype(np.int64)
    sums = np.full((outputs, *pixels.shape[1:]), 1 << (BITS - 1), np.int64)
    for k in taps:
        at = np.minimum(first + k, size - 1)
        sums += whole[:, k].reshape(-1, *[1] * (pixels.ndim - 1)) * pixels[at]
    return np.clip(sums >> BITS, 0, 255).astype(np.uint8)


def resize(pixels: np.ndarray, sizes: tuple, window: tuple, output: tuple,
           kind: str) -> np.ndarray:
    """Resizes to `sizes` and crops `output` rows and columns starting at `window`: columns first,
    rounded to 8 bits, then rows. pixels: [rows][columns][channels], bytes"""
    across = _axis(pixels.transpose(1, 0, 2), sizes[1], window[1], output[1], kind)
    return _axis(np.ascontiguousarray(across.transpose(1, 0, 2)), sizes[0], window[0], output[0],
                 kind)


def to_colours(pixels: np.ndarray, channels: int) -> np.ndarray:
    """Converts [rows][columns][1 to 4] to 1 or 3 colours: alpha is blended over white, grey
    repeated, RGB converted to grey."""
    own = pixels.shape[2]
    if own in (2, 4):
        alpha = pixels[..., -1:].astype(np.int64)
        pixels = ((pixels[..., :-1] * alpha + 255 * (255 - alpha) + 127) // 255).astype(np.uint8)
    if pixels.shape[2] == channels:
        return pixels
    if channels == 3:
        return np.repeat(pixels, 3, 2)
    red, green, blue = np.moveaxis(pixels.astype(np.int64), 2, 0)
    grey = (19595 * red + 38470 * green + 7471 * blue + 32768) >> 16
    return grey.astype(np.uint8)[..., None]


def _from_pil(image):
    """The pixels of a Pillow image, upright."""
    from PIL import ImageOps
    image = ImageOps.exif_transpose(image)
    if image.mode.startswith("I") or image.mode == "F":
        raise ValueError(f"image: mode {image.mode}: convert it to 8 bits a channel")
    if "transparency" in image.info and image.mode in ("1", "L", "P", "RGB"):
        image = image.convert("RGBA")
    elif image.mode == "P":
        image = image.convert("RGB")
    elif image.mode not in ("L", "LA", "RGB", "RGBA"):
        image = image.convert("L" if image.mode == "1" else "RGB")
    return np.asarray(image)


def _pixels(image) -> np.ndarray:
    """[rows][columns][channels], bytes."""
    if hasattr(image, "mode") and hasattr(image, "convert"):
        image = _from_pil(image)
    if isinstance(image, torch.Tensor):
        image = image.detach().cpu().numpy()
    if not isinstance(image, np.ndarray):
        raise TypeError(f"image: expected an array, a tensor or a Pillow image, got "
                        f"{type(image).__name__}")
    if image.dtype != np.uint8:
        raise TypeError(f"image: dtype {image.dtype}: use uint8, from 0 to 255")
    if image.ndim == 2:
        image = image[..., None]
    if image.ndim != 3 or not 1 <= image.shape[2] <= 4 or 0 in image.shape:
        raise ValueError(f"image: shape {image.shape}: use (rows, columns) or (rows, columns, "
                         "channels) with 1 (grey), 2 (grey and alpha), 3 (RGB) or 4 channels")
    if max(image.shape[:2]) > MAX_SIDE:
        raise ValueError(f"image: {image.shape[0]} x {image.shape[1]} pixels: use sides of at most "
                         f"{MAX_SIDE}")
    return image


class Preprocess:
    """Preprocess(image_size, channels, mean, std, eval_crop=1.0, interpolation="bilinear")

An image, uint8 (rows, columns[, channels]) as an array or a tensor, or of Pillow -> a float tensor
(channels, rows, columns) of the model's size, normalised.

mean, std: one value each for red, green and blue, for pixels from 0 to 1; grey uses the first
eval_crop: crops the centre, this fraction of the shorter side, and keeps the aspect ratio; 0: uses
    the whole image and ignores its aspect ratio
interpolation: "bilinear" or "bicubic" """

    def __init__(self, image_size, channels: int, mean, std, eval_crop: float = 1.0,
                 interpolation: str = "bilinear"):
        self.image_size, self.channels = tuple(image_size), channels
        self.mean, self.std = _three("mean", mean), _three("std", std)
        if len(self.image_size) != 2 or not all(isinstance(n, int) and 1 <= n <= MAX_SIDE
                                                for n in self.image_size):
            raise ValueError(f"image_size={image_size!r}: use (rows, columns)")
        if channels not in (1, 3):
            raise ValueError(f"channels={channels!r}: images have 1 or 3")
        if not min(self.std) > 0:
            raise ValueError(f"std={std!r}: use values above 0")
        if not (eval_crop == 0 or MIN_CROP <= eval_crop <= 1):
            raise ValueError(f"eval_crop={eval_crop!r}: use 0, or a number from {MIN_CROP} to 1")
        if interpolation not in FILTERS:
            raise ValueError(f"interpolation={interpolation!r}: use one of {', '.join(FILTERS)}")
        self.eval_crop, self.interpolation = eval_crop, interpolation

    def __repr__(self) -> str:
        return (f"Preprocess({self.image_size}, {self.channels}, mean={self.mean}, "
                f"std={self.std}, eval_crop={self.eval_crop}, "
                f"interpolation={self.interpolation!r})")

    def resized(self, image_size) -> "Preprocess":
        return Preprocess(image_size, self.channels, self.mean, self.std, self.eval_crop,
                          self.interpolation)

    def _place(self, source: tuple) -> tuple:
        """The size that an image is resized to, and the offset of the crop in it."""
        sides = self.image_size
        if self.eval_crop == 0:
            return sides, (0, 0)
        rows, cols = (int(side / self.eval_crop + 1e-6) for side in sides)
        # the axis along which the source is shorter, measured by what is wanted of it, is exact
        if source[0] * cols <= source[1] * rows:
            cols = max(int(min(rows * source[1] / source[0], MAX_SIDE)), sides[1])
        else:
            rows = max(int(min(cols * source[0] / source[1], MAX_SIDE)), sides[0])
        return (rows, cols), (round((rows - sides[0]) / 2), round((cols - sides[1]) / 2))

    def pixels(self, image) -> np.ndarray:
        """The image resized and cropped, [rows][columns][channels], bytes."""
        image = to_colours(_pixels(image), self.channels)
        sizes, window = self._place(image.shape[:2])
        return resize(image, sizes, window, self.image_size, self.interpolation)

    def __call__(self, image) -> torch.Tensor:
        x = self.pixels(image).astype(np.float32) / np.float32(255)
        count = self.channels
        mean, std = (np.array(v[:count], np.float32) for v in (self.mean, self.std))
        return torch.from_numpy(np.ascontiguousarray(((x - mean) / std).transpose(2, 0, 1)))


def _three(name: str, value) -> tuple:
    values = [value] * 3 if isinstance(value, (int, float)) else list(value)
    if len(values) == 1:
        values *= 3
    if len(values) != 3 or not all(isinstance(v, (int, float)) and not isinstance(v, bool)
                                   and math.isfinite(v) for v in values):
        raise ValueError(f"{name}={value!r}: use one number, or three")
    return tuple(float(v) for v in values)
