#!/usr/bin/env python3
"""make.py - writes vectors.txt: small images, and what Pillow makes of them.

    python3 tests/golden-pillow/make.py > tests/golden-pillow/vectors.txt

Made with Pillow 9.4 (Debian 12: python3-pil). Lines are

    image NAME ROWS COLS CHANNELS PIXELS
    case NAME OPERATION VALUE FILTER ROWS COLS RESULT

where PIXELS and RESULT are hexadecimal digits, row by row; or, for a RESULT of more than 400 bytes,
crc32: and the sum of zlib's crc32. FILTER is how affine maps take values between pixels: `auto` as
AutoAugment does (fill 128), `bicubic` as RandAugment does (fill 124, 116, 104; grey 124).
"""
import zlib

from PIL import Image, ImageEnhance, ImageOps


class Numbers:
    """Pseudo-random numbers, the same with every version of Python."""

    def __init__(self, seed):
        self.state = seed

    def below(self, n):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % n


def picture(rows, cols, channels, seed, low=0, high=255):
    """Gradients, an edge and noise, between low and high."""
    r = Numbers(seed)
    out = bytearray()
    for y in range(rows):
        for x in range(cols):
            for c in range(channels):
                v = 40 + 60 * c + 90 * x // cols + (60 if 2 * y + x > rows else 0) + r.below(50)
                out.append(max(low, min(high, v - 20)))
    mode = "L" if channels == 1 else "RGB"
    return Image.frombytes(mode, (cols, rows), bytes(out))


def fill(image, filter):
    colour = (128, 128, 128) if filter == "auto" else (124, 116, 104)
    return colour[0] if image.mode == "L" else colour


def affine(image, matrix, filter, auto):
    kind = auto if filter == "auto" else Image.BICUBIC
    return image.transform(image.size, Image.AFFINE, matrix, kind, fillcolor=fill(image, filter))


def rotate(image, v, filter):
    if filter != "auto":
        return image.rotate(v, resample=Image.BICUBIC, fillcolor=fill(image, filter))
    turned = image.convert("RGBA").rotate(v)
    grey = Image.new("RGBA", turned.size, (128,) * 4)
    return Image.composite(turned, grey, turned).convert(image.mode)


def solarize_add(image, v):
    table = [min(255, i + v) if i < 128 else i for i in range(256)]
    return image.point(table * len(image.getbands()))


SHEARS = (0.3, -0.1, 0.25, -1.25)
SHIFTS = (0.45, -0.1, 0.037, 1)
FACTORS = (0, 0.1, 0.5, 1, 1.9, 2.5)
OPERATIONS = {
    "autocontrast": ((0,), lambda i, v, f: ImageOps.autocontrast(i)),
    "equalize": ((0,), lambda i, v, f: ImageOps.equalize(i)),
    "invert": ((0,), lambda i, v, f: ImageOps.invert(i)),
    "posterize": ((0, 1, 4, 7, 8), lambda i, v, f: ImageOps.posterize(i, v)),
    "solarize": ((0, 85.5, 128, 256), lambda i, v, f: ImageOps.solarize(i, v)),
    "solarize-add": ((0, 55, 110), lambda i, v, f: solarize_add(i, v)),
    "color": (FACTORS, lambda i, v, f: ImageEnhance.Color(i).enhance(v)),
    "contrast": (FACTORS, lambda i, v, f: ImageEnhance.Contrast(i).enhance(v)),
    "brightness": (FACTORS, lambda i, v, f: ImageEnhance.Brightness(i).enhance(v)),
    "sharpness": (FACTORS, lambda i, v, f: ImageEnhance.Sharpness(i).enhance(v)),
    "shear-x": (SHEARS, lambda i, v, f: affine(i, (1, v, 0, 0, 1, 0), f, Image.BICUBIC)),
    "shear-y": (SHEARS, lambda i, v, f: affine(i, (1, 0, 0, v, 1, 0), f, Image.BICUBIC)),
    "translate-x": (
        SHIFTS, lambda i, v, f: affine(i, (1, 0, v * i.size[0], 0, 1, 0), f, Image.NEAREST)),
    "translate-y": (
        SHIFTS, lambda i, v, f: affine(i, (1, 0, 0, 0, 1, v * i.size[1]), f, Image.NEAREST)),
    "rotate": ((20, -30, 3.7, 90, 180, 270, 0, 200.5), rotate),
    "resize": (((5, 4), (3, 29), (24, 31), (1, 1), (7, 9)),
               lambda i, v, f: i.resize((v[1], v[0]), Image.BICUBIC)),
    "resize-bilinear": (((5, 4), (24, 31)), lambda i, v, f: i.resize((v[1], v[0]), Image.BILINEAR)),
}
AFFINE = ("shear-x", "shear-y", "translate-x", "translate-y", "rotate")

IMAGES = {
    "one": picture(1, 1, 3, 1),
    "line": picture(1, 6, 1, 2),
    "grey": picture(7, 9, 1, 3, 30, 200),
    "small": picture(6, 5, 3, 4),
    "square": picture(9, 9, 3, 5, 20, 240),
    "large": picture(41, 37, 3, 6),
    "dark": picture(33, 30, 1, 7, 0, 90),
    "flat": Image.new("RGB", (4, 4), (7, 200, 255)),
}


def result_text(data):
    return data.hex() if len(data) <= 400 else "crc32:%08x" % zlib.crc32(data)


for name, image in IMAGES.items():
    print("image", name, image.size[1], image.size[0], len(image.getbands()),
          image.tobytes().hex())
for name, image in IMAGES.items():
    for operation, (values, apply) in OPERATIONS.items():
        for value in values:
            for filter in ("auto", "bicubic") if operation in AFFINE else ("auto",):
                out = apply(image, value, filter)
                text = "%dx%d" % value if isinstance(value, tuple) else repr(value)
                print("case", name, operation, text, filter, out.size[1], out.size[0],
                      result_text(out.tobytes()))
