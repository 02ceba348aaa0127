"""Preparation of images of any size: the same bits as Pillow and the tool."""
import unittest

import numpy as np

from tests.support import torch

if torch is None:
    raise unittest.SkipTest("torch is not installed")
try:
    from PIL import Image
except ImportError:
    Image = None

from ssm2d.torch import Preprocess
from ssm2d.torch.models.preprocess import resize, to_colours


def pixels(rows, cols, channels=3, seed=0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (rows, cols, channels), np.uint8)


class Resizing(unittest.TestCase):
    @unittest.skipUnless(Image, "Pillow is not installed")
    def test_resizing_equals_pillow(self):
        filters = {"bilinear": 2, "bicubic": 3}
        for seed, (old, new) in enumerate((((40, 30), (16, 24)), ((7, 9), (32, 20)),
                                           ((101, 33), (5, 33)), ((1, 1), (3, 4)),
                                           ((64, 64), (64, 64)), ((333, 2), (8, 8)))):
            for kind, number in filters.items():
                for channels in (1, 3):
                    image = pixels(*old, channels, seed)
                    wanted = np.asarray(Image.fromarray(image.squeeze(2) if channels == 1
                                                        else image).resize(new[::-1], number))
                    got = resize(image, new, (0, 0), new, kind)
                    np.testing.assert_array_equal(got, wanted.reshape(*new, channels))

    @unittest.skipUnless(Image, "Pillow is not installed")
    def test_crop_equals_part_of_whole(self):
        image = pixels(50, 70)
        whole = resize(image, (32, 45), (0, 0), (32, 45), "bicubic")
        part = resize(image, (32, 45), (3, 10), (28, 28), "bicubic")
        np.testing.assert_array_equal(part, whole[3:31, 10:38])

    def test_colours(self):
        image = pixels(4, 5)
        grey = to_colours(image, 1)
        if Image:
            np.testing.assert_array_equal(grey[..., 0], np.asarray(Image.fromarray(image)
                                                                   .convert("L")))
        np.testing.assert_array_equal(to_colours(grey, 3), np.repeat(grey, 3, 2))
        clear = np.concatenate([image, np.zeros((4, 5, 1), np.uint8)], 2)
        self.assertTrue((to_colours(clear, 3) == 255).all())  # white behind it
        clear[..., 3] = 255
        np.testing.assert_array_equal(to_colours(clear, 3), image)


class Preparing(unittest.TestCase):
    @unittest.skipUnless(Image, "Pillow is not installed")
    def test_transparent_colours(self):
        """As the tool: over white."""
        for mode, colour in (("L", 0), ("RGB", (0, 0, 0))):
            image = Image.new(mode, (6, 4), colour)
            for is_clear in (False, True):
                if is_clear:
                    image.info["transparency"] = colour
                how = Preprocess((4, 6), 3, (0, 0, 0), (1, 1, 1), eval_crop=0)
                self.assertTrue((how(image) == is_clear).all())

    def test_values(self):
        how = Preprocess((4, 6), 3, (0.1, 0.2, 0.3), (0.5, 1, 2), eval_crop=0)
        image = pixels(4, 6)
        x = how(image)
        self.assertEqual((x.shape, x.dtype), ((3, 4, 6), torch.float32))
        wanted = (image / 255 - [0.1, 0.2, 0.3]) / [0.5, 1, 2]
        np.testing.assert_allclose(x.numpy(), wanted.transpose(2, 0, 1), rtol=1e-5, atol=1e-6)
        for same in (torch.from_numpy(image), *([Image.fromarray(image)] if Image else [])):
            self.assertTrue(torch.equal(how(same), x))

    def test_centre_crop_equals_torchvision(self):
        """As torchvision's Resize(256) and CenterCrop(224): the shorter side is exact."""
        how = Preprocess((224, 224), 3, 0.5, 0.5, eval_crop=0.875)
        self.assertEqual(how._place((300, 400)), ((256, 341), (16, 58)))
        self.assertEqual(how._place((400, 300)), ((341, 256), (58, 16)))
        how = Preprocess((8, 12), 1, 0.5, 0.5, eval_crop=1)
        self.assertEqual(how._place((8, 12)), ((8, 12), (0, 0)))
        self.assertEqual(how._place((8, 8)), ((12, 12), (2, 0)))
        self.assertEqual(how.pixels(pixels(100, 3)).shape, (8, 12, 1))

    @unittest.skipUnless(Image, "Pillow is not installed")
    def test_exif_orientation_is_applied(self):
        image = Image.fromarray(pixels(6, 4))
        how = Preprocess((4, 6), 3, 0.5, 0.5, eval_crop=0)
        exif = image.getexif()
        exif[0x0112] = 6  # turn by 90 degrees
        upright = np.rot90(np.asarray(image), -1)
        self.assertTrue(torch.equal(how(image), how(np.ascontiguousarray(upright))))
        with self.assertRaisesRegex(ValueError, "image: mode F: convert it to 8 bits"):
            how(image.convert("F"))

    def test_bad_images_are_refused(self):
        how = Preprocess((4, 6), 3, 0.5, 0.5)
        for image, kind, what in ((np.zeros((4, 6, 3), "f4"), TypeError, "float32: use uint8"),
                                  (np.zeros((4, 6, 5), "u1"), ValueError, r"shape \(4, 6, 5\)"),
                                  (np.zeros((0, 6, 3), "u1"), ValueError, r"shape \(0, 6, 3\)"),
                                  (np.zeros((2, 4, 6, 3), "u1"), ValueError, "shape"),
                                  (np.zeros((65537, 1), "u1"), ValueError, "at most 65536"),
                                  ([[1, 2]], TypeError, "got list")):
            with self.assertRaisesRegex(kind, "image: .*" + what):
                how(image)
        for change, what in ((dict(std=0), "std=0"), (dict(mean=[1, 2]), "mean=.1, 2."),
                             (dict(mean=float("nan")), "mean=nan"),
                             (dict(channels=2), "channels=2"), (dict(eval_crop=0.05), "eval_crop"),
                             (dict(interpolation="area"), "interpolation='area'"),
                             (dict(image_size=(0, 4)), "image_size")):
            with self.assertRaisesRegex(ValueError, what):
                Preprocess(**{**dict(image_size=(4, 6), channels=3, mean=0.5, std=0.5), **change})
