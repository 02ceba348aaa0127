"""add_mixers on torchvision's models and on models built like timm's; pictures of kernels."""
import copy
import os
import pickle
import tempfile
import unittest

from tests.support import error, torch, torchvision

if torch is None:
    raise unittest.SkipTest("torch is not installed")
from torch import nn

import ssm2d
from ssm2d.torch import EMA, Layer, SSM2d, add_mixers

try:
    import matplotlib
except ImportError:
    matplotlib = None


class Block(nn.Module):
    """As timm's: the norm of a vision transformer's block gives tokens."""

    def __init__(self, width, resolution=None):
        super().__init__()
        self.norm1, self.attn = nn.LayerNorm(width), nn.Linear(width, width)
        if resolution:
            self.input_resolution = resolution

    def forward(self, x):
        return x + self.attn(self.norm1(x))


class TimmViT(nn.Module):
    def __init__(self, grid=(3, 5), prefix=2, width=8):
        super().__init__()
        self.patch_embed = nn.Identity()
        self.patch_embed.grid_size = grid
        self.num_prefix_tokens = prefix
        self.blocks = nn.Sequential(Block(width), Block(width))

    def forward(self, x):
        return self.blocks(x)


def count(model) -> int:
    return sum(p.numel() for p in model.parameters())


class Models(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)

    @unittest.skipUnless(torchvision, "torchvision is not installed")
    def test_vit_b_16(self):
        model = torchvision.models.vit_b_16(image_size=64, num_classes=10)
        before, names = count(model), set(model.state_dict())
        self.assertIs(add_mixers(model, n_ssm=4), model)
        self.assertEqual(count(model) - before, 12 * (8 * 16 * 16 + 768))
        self.assertEqual({n for n in model.state_dict() if ".mixer." not in n}, names)
        self.assertIn("encoder.layers.encoder_layer_11.mixer.A", model.state_dict())
        # torchvision starts with zeros, and so with zero gradients
        nn.init.normal_(model.heads.head.weight)
        model(torch.randn(1, 3, 64, 64)).sum().backward()
        for name, p in model.named_parameters():
            if ".mixer." in name:
                self.assertGreater(float(p.grad.abs().max()), 0, name)

    @unittest.skipUnless(torchvision, "torchvision is not installed")
    def test_swin_t(self):
        model = torchvision.models.swin_t(num_classes=10)
        before = count(model)
        add_mixers(model, directions=4, d_state=8, complex=True)
        widths = [96] * 2 + [192] * 2 + [384] * 6 + [768] * 2
        self.assertEqual(count(model) - before, sum(16 * 8 * 8 + w for w in widths))
        self.assertEqual(sorted(m.channels for m in model.modules() if isinstance(m, SSM2d)),
                         widths)
        model(torch.randn(1, 3, 64, 96)).sum().backward()
        for name, p in model.named_parameters():
            if ".mixer." in name and "angle" not in name:
                self.assertIsNotNone(p.grad, name)
        with self.assertRaisesRegex(ValueError, "V2"):
            add_mixers(torchvision.models.swin_v2_t())

    @unittest.skipUnless(torchvision, "torchvision is not installed")
    def test_class_token_passes_by(self):
        block_of = torchvision.models.vision_transformer.EncoderBlock
        model = torchvision.models.VisionTransformer(32, 8, 1, 2, 16, 32, num_classes=3)
        add_mixers(model)
        block = next(m for m in model.modules() if isinstance(m, block_of))
        seen = []
        x = torch.randn(2, 17, 16)
        plain = nn.functional.layer_norm(x, (16,), block.ln_1.weight, block.ln_1.bias,
                                         block.ln_1.eps)
        mixed = block.ln_1(x)
        self.assertTrue(torch.equal(mixed[:, 0], plain[:, 0]))
        want = block.mixer(plain[:, 1:].reshape(2, 4, 4, 16).contiguous()).flatten(1, 2)
        self.assertLess(error(mixed[:, 1:].detach().numpy(), want.detach().numpy()), 1e-6)
        block.mixer.register_forward_hook(lambda module, inputs, y: seen.append(y.shape))
        model(torch.randn(2, 3, 32, 32))
        self.assertEqual(seen, [(2, 4, 4, 16)])

    def test_kinds(self):
        for mixer in ("ssm2d", "s4nd", EMA):
            model = add_mixers(TimmViT(), mixer=mixer, d_state=4)
            kind = getattr(mixer, "kind", mixer)
            self.assertEqual([m.config.kind for m in model.modules() if isinstance(m, Layer)],
                             2 * [kind])
            model(torch.randn(2, 17, 8)).sum().backward()
            self.assertIsNotNone(next(model.blocks[0].mixer.parameters()).grad)
        with self.assertRaisesRegex(ValueError, "kind=s4: unknown kind"):
            add_mixers(TimmViT(), mixer="s4")

    def test_models_built_like_those_of_timm_are_accepted(self):
        model = add_mixers(TimmViT(), n_ssm=2)
        x = torch.randn(2, 17, 8)
        y = model(x)
        y.sum().backward()
        with torch.no_grad():
            first = model.blocks[0].norm1(x)[:, 2:].unflatten(1, (3, 5))
            bare = nn.functional.layer_norm(x, (8,))
        self.assertTrue(torch.equal(model.blocks[0].norm1(x)[:, :2], bare[:, :2]))
        mixed = model.blocks[0].mixer(bare[:, 2:].unflatten(1, (3, 5)))
        self.assertLess(error(first.numpy(), mixed.detach().numpy()), 1e-6)
        # another resolution, a square
        self.assertEqual(model(torch.randn(2, 18, 8)).shape, (2, 18, 8))
        with self.assertRaisesRegex(ValueError, "15 patch tokens|13 patch tokens"):
            model(torch.randn(2, 15, 8))
        swin = add_mixers(nn.Sequential(Block(8, (2, 6)), Block(16, (3, 3))))
        swin[0](torch.randn(1, 12, 8))
        self.assertEqual([m.channels for m in swin.modules() if isinstance(m, SSM2d)], [8, 16])

    def test_copies_are_independent(self):
        model = add_mixers(TimmViT()).eval()
        x = torch.randn(2, 17, 8)
        with torch.no_grad():
            wanted = model(x)
            for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
                self.assertTrue(torch.equal(other(x), wanted))
                other.blocks[0].mixer.D.add_(1)
                self.assertFalse(torch.equal(other(x), wanted))
                self.assertTrue(torch.equal(model(x), wanted))
        self.assertFalse(model.blocks[0].mixer.training)

    def test_unsupported_models_are_refused(self):
        with self.assertRaisesRegex(ValueError, "model=Linear"):
            add_mixers(nn.Linear(3, 3))
        with self.assertRaisesRegex(TypeError, "layout='BCHW'"):
            add_mixers(TimmViT(), layout="BCHW")
        with self.assertRaisesRegex(ValueError, "already"):
            add_mixers(add_mixers(TimmViT()))
        double = add_mixers(TimmViT().double(), grid=(5, 3), class_tokens=2)
        self.assertEqual(double.blocks[0].mixer.A.dtype, torch.float64)
        double(torch.randn(1, 17, 8, dtype=torch.float64))


@unittest.skipUnless(matplotlib, "matplotlib is not installed")
class Pictures(unittest.TestCase):
    def test_plot_kernels(self):
        model = add_mixers(TimmViT(), directions=4)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "kernels.png")
            figure = ssm2d.plot_kernels(model, 6, 5, channels=3, path=path)
            self.assertGreater(os.path.getsize(path), 3000)
        self.assertEqual(len(figure.axes), 2 * (3 + 1))  # and a bar for each layer
        layer = SSM2d(4, average=True, skip=False)
        picture = ssm2d.plot_kernels(layer, 6, 5, channels=[1]).axes[0].images[0].get_array()
        self.assertEqual(picture.shape, (11, 9))
        unit = torch.zeros(1, 11, 9, 4)
        unit[0, 5, 4] = 1
        self.assertLess(error(layer(unit)[0, :, :, 1].detach().numpy(), picture.data), 1e-5)
        with self.assertRaisesRegex(ValueError, "module=Linear"):
            ssm2d.plot_kernels(nn.Linear(2, 2))
        for channels in (0, [], [4], [-1]):
            with self.assertRaisesRegex(ValueError, "channels"):
                ssm2d.plot_kernels(layer, channels=channels)
        with torch.no_grad():
            layer.C[0, 0, 0] = float("nan")
        with self.assertRaisesRegex(ValueError, "not finite"):
            ssm2d.plot_kernels(layer)

    def test_nothing_overlaps(self):
        """No text lies over another, over a picture or outside of the figure."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        model = nn.ModuleDict({"a_block_with_a_name_that_is_long": SSM2d(16, complex=True),
                               "other": SSM2d(16, directions=4)})
        for channels, rows in ((1, 6), (4, 6), (16, 6), (11, 2)):
            figure = ssm2d.plot_kernels(model, rows, 6, channels=channels)
            canvas = FigureCanvasAgg(figure)
            canvas.draw()
            renderer = canvas.get_renderer()
            shown = [ax for ax in figure.axes if ax.axison]
            texts = [area._suptitle for area in figure.subfigs] + [ax.title for ax in shown]
            texts += [label for ax in shown for label in ax.get_yticklabels()]
            boxes = [t.get_window_extent(renderer) for t in texts if t.get_text()]
            self.assertGreaterEqual(len(boxes), 2 * (channels + 1 + 3))
            pictures = [ax.get_window_extent(renderer) for ax in shown]
            for i, box in enumerate(boxes):
                self.assertTrue(all(0 <= x for x in (box.x0, box.y0)))
                self.assertTrue(box.x1 <= figure.bbox.x1 and box.y1 <= figure.bbox.y1)
                for other in boxes[:i] + pictures:
                    wide = min(box.x1, other.x1) - max(box.x0, other.x0)
                    high = min(box.y1, other.y1) - max(box.y0, other.y0)
                    self.assertFalse(wide > 1 and high > 1, f"channels={channels}")
