"""Whole models in PyTorch: golden values, and the tool's own logits and gradients for every
family, mixer and option, at any image size."""
import copy
import json
import pathlib
import pickle
import tempfile
import unittest

import numpy as np

import ssm2d
from tests.support import MODELS, MORE_MODELS, TOOL, error, run_tool, one_thread, torch

if torch is None:
    raise unittest.SkipTest("torch is not installed")
from torch.nn import functional as F

from ssm2d.torch import create_model, load_model
from ssm2d.torch.models.weights import resize_offsets, save_weights

setUpModule = one_thread
TOLERANCE = 1e-5

VIT = dict(dim=24, depth=2, heads=3, image=[16, 24], classes=5)
SWIN = dict(dim=[12, 24], depth=[2, 2], heads=[2, 3], image=[16, 24], classes=5)
MEGA = dict(dim=24, depth=2, z=8, v=20, ffn=28, image=[16, 24], classes=5)
CONVNEXT = dict(dim=[12, 20], depth=[2, 1], image=[16, 24], classes=5, layer_scale=0.5)
SSM2D = dict(kind="ssm2d", d_state=3, n_ssm=2)
# model, its settings, mixer
VARIANTS = [
    ("vit-mini", VIT, dict(SSM2D, directions=4, values="polar", layer_norm=True)),
    ("vit-mini", dict(VIT, pos_embed=False), dict(SSM2D, place="ffn", values="cartesian",
                                                  average=True)),
    ("vit", dict(VIT, channels=1, mlp_ratio=1.5), dict(SSM2D, assign="authors", pair="columns",
                                                       directions=2, trunc_rows=2)),
    ("vit", dict(VIT, image=[64, 72]), dict(kind="s4nd", place="block", n_ssm=3, d_state=4,
                                            rate=0.5)),
    ("deit", dict(VIT, patch=8), dict(kind="ema", d_state=3, shift=False, trunc=3)),
    ("deit", dict(VIT, patch=4, qkv_bias=False), dict(SSM2D, place="block", norm="half",
                                                      share_directions=True)),
    # maps of 8 x 12 and 4 x 6: one shifted along columns alone, one padded
    ("swin-mini", SWIN, dict(SSM2D, c_per_channel=True, skip=False)),
    ("swin-mini", dict(SWIN, image=[14, 22], window=3), None),  # 7 x 11, 4 x 6: padded, odd
    ("swin", dict(SWIN, image=[10, 6], pos_embed=False, patch_norm=False, qkv_bias=False, dim=12,
                  heads=2), dict(kind="ema", d_state=2, place="ffn", bidirectional=False)),
    ("mega-mini", MEGA, dict(SSM2D, norm="none", n_ssm=1)),
    ("mega", dict(MEGA, attention="softmax", max_positions=40, pos_embed=False),
     dict(kind="s4nd", n_ssm=2, d_state=2)),
    ("mega-lra", dict(MEGA, image=[4, 6], channels=3), dict(kind="ema", d_state=2)),
    ("mega-lra", dict(MEGA, image=[4, 6], head="projection"), dict(SSM2D, activation="silu")),
    ("mega-mini", dict(MEGA, head="lra", init="authors"), dict(kind="s4nd", form="dplr")),
    ("swin-mini", dict(SWIN, relative_bias=False, init="torch"), dict(kind="s4nd", form="dplr")),
    ("swin", dict(SWIN, image=[8, 8], relative_bias=False, pos_embed=False), None),
    ("mega-mini", dict(MEGA, relative_bias=False), SSM2D),
    ("mega-mini", dict(MEGA, norm="batch"), dict(kind="ema", d_state=2, place="ffn")),
    ("convnext-mini", CONVNEXT, dict(kind="conv")),
    ("convnext-mini", dict(CONVNEXT, image=[10, 14]), dict(kind="conv", kernel=5, bias=False)),
    ("convnext-mini", CONVNEXT, None),
    ("convnext-small", dict(CONVNEXT, image=[12, 10], patch=1),
     dict(SSM2D, trunc_rows=3, trunc_cols=3)),
    ("convnext", dict(CONVNEXT, dim=[8, 12, 16, 20], depth=[1, 1, 1, 1], image=[32, 48]),
     dict(SSM2D, values="cartesian", directions=2)),
    ("convnext-mini", dict(CONVNEXT, mlp_ratio=2.5), dict(kind="s4nd", n_ssm=2, d_state=4))]


def golden_models():
    for root in (MODELS, MORE_MODELS):
        for folder in sorted(root.iterdir()) if root.is_dir() else []:
            if (folder / "config.json").exists():
                yield folder


def make(name, settings, mixer, **more):
    """A model whose output depends on every array."""
    torch.manual_seed(3)
    settings = {**settings, **more}
    sizes = {key: settings.pop(key) for key in ("image", "classes", "channels") if key in settings}
    model = create_model(name, mixer=mixer, classes=sizes["classes"], image_size=sizes["image"],
                         channels=sizes.get("channels"), **settings)
    with torch.no_grad():
        for key, value in model.state_dict().items():
            if key.endswith("running_var"):
                value.uniform_(0.5, 2)
            elif not (mixer and ".mixer." in key):
                value.add_(0.2 * torch.randn_like(value))
    return model.eval()


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, model) -> None:
        (self.folder / "config.json").write_text(json.dumps(model.config))
        save_weights(model, self.folder / "weights.safetensors", overwrite=True)

    def load(self, **options):
        return load_model(self.folder / "config.json", self.folder / "weights.safetensors",
                          **options)

    def tool(self, x, labels=None) -> tuple:
        """(logits, gradients) of `ssm2d run` on the files."""
        np.save(self.folder / "x.npy", x)
        arguments = ["run", "--config", self.folder / "config.json", "--weights",
                     self.folder / "weights.safetensors", "--input", self.folder / "x.npy",
                     "--out", self.folder / "logits.npy"]
        if labels is None:
            run_tool(*arguments)
            return np.load(self.folder / "logits.npy"), None
        np.save(self.folder / "labels.npy", labels)
        run_tool(*arguments, "--labels", self.folder / "labels.npy", "--grads",
                 self.folder / "grads.safetensors")
        return (np.load(self.folder / "logits.npy"),
                ssm2d.load_safetensors(self.folder / "grads.safetensors"))

    def check_gradients(self, model, wanted: dict) -> None:
        own = dict(model.named_parameters())
        self.assertEqual(set(own), set(wanted))
        # What is zero but for rounding is compared with the others. Both sides are rounded, each
        # within TOLERANCE of the same in double.
        scale = max(np.abs(g).max() for g in wanted.values())
        for name, g in wanted.items():
            distance = np.abs(own[name].grad.numpy() - g).max()
            self.assertLess(distance, 2 * TOLERANCE * max(np.abs(g).max(), 1e-2 * scale), name)


def images(model, count=3) -> np.ndarray:
    config = model.config
    rng = np.random.default_rng(5)
    return rng.standard_normal((count, config["channels"], *config["image"])).astype("f4")


class Golden(Files):
    def test_logits_and_gradients(self):
        folders = list(golden_models())
        self.assertGreaterEqual(len(folders), 20)
        for folder in folders:
            x, labels = (torch.from_numpy(np.load(folder / f"{n}.npy")) for n in ("x", "labels"))
            for backend in ("library", "torch"):
                with self.subTest(folder=folder, backend=backend):
                    model = load_model(folder / "config.json", folder / "weights.safetensors",
                                       backend=backend)
                    self.assertFalse(model.training)
                    logits = model(x)
                    self.assertLess(error(logits.detach().numpy(), np.load(folder / "logits.npy")),
                                    TOLERANCE)
                    F.cross_entropy(logits, labels).backward()
                    self.check_gradients(model, ssm2d.load_safetensors(folder
                                                                       / "grads.safetensors"))

    def test_names_are_those_of_the_file(self):
        for folder in golden_models():
            model = load_model(folder / "config.json", folder / "weights.safetensors")
            arrays = ssm2d.load_safetensors(folder / "weights.safetensors")
            again = copy.deepcopy(model)
            again.load_state_dict({n: torch.from_numpy(a) for n, a in arrays.items()}, strict=True)
            self.assertEqual(sum(p.numel() for p in model.parameters()),
                             json.loads((folder / "expected.json").read_text())["parameters"])


@unittest.skipUnless(TOOL.is_file(), "the ssm2d command is not beside the library")
class AgainstTheTool(Files):
    def test_variants(self):
        for name, settings, mixer in VARIANTS:
            with self.subTest(model=name, settings=settings, mixer=mixer):
                model = make(name, settings, mixer)
                self.write(model)
                x, labels = images(model), np.array([0, 1, 4])
                logits, grads = self.tool(x, labels)
                for backend in ("library", "torch"):
                    loaded = self.load(backend=backend)
                    with torch.no_grad():
                        got = loaded(torch.from_numpy(x)).numpy()
                    self.assertLess(error(got, logits), TOLERANCE)
                    F.cross_entropy(loaded(torch.from_numpy(x)),
                                    torch.from_numpy(labels)).backward()
                    self.check_gradients(loaded, grads)

    def test_padding_of_windows(self):
        """Padding has keys of zeros, which count where all real scores are far below zero."""
        model = make(*VARIANTS[7])
        with torch.no_grad():
            for name, value in model.named_parameters():
                if "attn.qkv" in name:
                    value.mul_(8)
        self.write(model)
        x = images(model, 20)
        logits, _ = self.tool(x)
        with torch.no_grad():
            self.assertLess(error(self.load()(torch.from_numpy(x)).numpy(), logits), 1e-4)
            for module in model.modules():
                if getattr(module, "real", None) is not None:
                    module.real.fill_(1)
            self.assertGreater(error(model(torch.from_numpy(x)).numpy(), logits), 1e-3)

    def test_other_image_sizes(self):
        """Weights for one size, the model for another: interpolated as the tool does."""
        for name, settings, size in (("vit-mini", VIT, [24, 16]), ("vit-mini", VIT, [12, 40]),
                                     ("swin-mini", SWIN, [8, 4]), ("swin-mini", SWIN, [6, 30]),
                                     ("swin-mini", dict(SWIN, image=[16, 4]), [16, 24]),
                                     ("mega-mini", MEGA, [24, 16]), ("mega-mini", MEGA, [8, 12]),
                                     ("mega-mini", dict(MEGA, max_positions=30), [20, 44]),
                                     ("mega-mini", dict(MEGA, pos_embed=False), [20, 32]),
                                     ("mega-mini", dict(MEGA, relative_bias=False), [20, 32]),
                                     ("convnext-mini", CONVNEXT, [20, 32])):
            with self.subTest(model=name, size=size):
                model = make(name, settings, SSM2D)
                self.write(model)
                resized = self.load(image_size=size)
                self.assertEqual(resized.config["image"], size)
                (self.folder / "config.json").write_text(json.dumps(resized.config))
                x = images(resized)
                logits, _ = self.tool(x)
                for loaded in (resized, self.load()):
                    with torch.no_grad():
                        self.assertLess(error(loaded(torch.from_numpy(x)).numpy(), logits),
                                        TOLERANCE)

    def test_named_models_have_as_many_parameters(self):
        for row in json.loads(run_tool("models", "--json")):
            if not row["model"].endswith("-mini"):
                continue  # larger; the same code
            config = row["config"]
            model = create_model(config.pop("model"), classes=config.pop("classes"),
                                 image_size=config.pop("image"), **config)
            self.assertEqual(sum(p.numel() for p in model.parameters()), row["parameters"], row)
            self.assertEqual(model.config, {**row["config"], "model": row["model"],
                                            "classes": row["classes"], "image": row["image"]})


class Modules(Files):
    def test_features(self):
        for name, settings, mixer in VARIANTS[:1] + VARIANTS[6:7] + VARIANTS[9:10]:
            model = make(name, settings, mixer)
            x = torch.from_numpy(images(model))
            shapes = [tuple(model.features(x, i).shape) for i in range(model.depth + 1)]
            first = {"vit-mini": (3, 25, 24), "swin-mini": (3, 96, 12), "mega-mini": (3, 24, 24)}
            last = {"vit-mini": (3, 25, 24), "swin-mini": (3, 24, 24), "mega-mini": (3, 24, 24)}
            self.assertEqual((shapes[0], shapes[-1]), (first[name], last[name]))
            with torch.no_grad():
                self.assertEqual((model.classify(model.features(x, model.depth))
                                  - model(x)).abs().max(), 0)
            for block in (-1, model.depth + 1, True, "1"):
                with self.assertRaisesRegex(ValueError, f"block=.*use 0 to {model.depth}"):
                    model.features(x, block)
        # the tokens after a stage, before the next stage halves the map
        model = make("swin-mini", SWIN, None)
        x = torch.from_numpy(images(model))
        self.assertEqual(model.features(x, 2).shape, (3, 96, 12))
        self.assertEqual(model.features(x, 3).shape, (3, 24, 24))

    def test_stochastic_depth(self):
        for name, settings in (("vit-mini", VIT), ("swin-mini", SWIN)):
            model = make(name, settings, None, drop_path=0.6)
            x = torch.from_numpy(images(model, 1)).expand(400, -1, -1, -1)
            with torch.no_grad():
                plain = model(x[:2])
                # BLAS may add in another order for another row of the batch
                self.assertLess((plain[0] - plain[1]).abs().max(), 1e-5)
                torch.manual_seed(0)
                tokens = model.train().tokens(x, model.depth)
                # whole branches are left out, of one image at a time
                kinds, left = 0, tokens.flatten(1)
                while len(left):
                    left = left[(left - left[0]).abs().max(1).values > 1e-4]
                    kinds += 1
            most = 2 ** (2 * model.depth - (2 if name == "swin-mini" else 0))
            self.assertGreater(kinds, 8)
            self.assertLessEqual(kinds, most)
        from ssm2d.torch.models.blocks import drop_path
        x = torch.ones(20000, 1, 1)
        y = drop_path(x, 0.25, True)
        self.assertEqual(set(y.flatten().tolist()), {0.0, y.max().item()})
        self.assertAlmostEqual(y.max().item(), 4 / 3, places=6)
        self.assertAlmostEqual(y.mean().item(), 1, delta=0.03)
        # Swin's rate grows from 0 at the first block to all of it at the last
        model = make("swin-mini", SWIN, None, drop_path=0.6)
        rates = [block.rate for stage in model.layers for block in stage.blocks]
        np.testing.assert_allclose(rates, [0, 0.2, 0.4, 0.6])
        # as do Mega's, and ViT's when asked for
        for name, settings, ramp in (("mega-mini", MEGA, True), ("vit-mini", VIT, False),
                                     ("vit-mini", {**VIT, "drop_path_ramp": True}, True)):
            model = make(name, settings, None, drop_path=0.6)
            blocks = [getattr(block, "nffn", block) for block in model.blocks]
            wanted = np.linspace(0, 0.6, len(blocks)) if ramp else [0.6] * len(blocks)
            np.testing.assert_allclose([block.rate for block in blocks], wanted)

    def test_copies(self):
        for name, settings, mixer in VARIANTS[:1] + VARIANTS[6:7] + VARIANTS[11:12]:
            model = make(name, settings, mixer)
            x = torch.from_numpy(images(model))
            for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
                self.assertEqual((other(x) - model(x)).abs().max(), 0)
                self.assertEqual(other.config, model.config)
            model.config["classes"] = 77  # a copy
            self.assertEqual(model.config["classes"], 5)

    def test_double(self):
        for name, settings, mixer in VARIANTS[:1] + VARIANTS[7:8] + VARIANTS[9:10]:
            model = make(name, settings, mixer)
            x = torch.from_numpy(images(model))
            double = copy.deepcopy(model).double()(x.double())
            self.assertLess(error(model(x).detach().numpy(), double.detach().numpy()), 1e-5)

    def test_images_of_wrong_shape_are_refused(self):
        model = make(*VARIANTS[0])
        for shape in ((3, 16, 24), (1, 1, 16, 24), (1, 3, 24, 16), (1, 3, 32, 32)):
            with self.assertRaisesRegex(ValueError, r"images: shape .*\(batch, 3, 16, 24\)"):
                model(torch.zeros(shape))
        with self.assertRaisesRegex(TypeError, "images: expected a torch.Tensor, got ndarray"):
            model(np.zeros((1, 3, 16, 24), "f4"))
        self.assertEqual(model(torch.zeros(0, 3, 16, 24)).shape, (0, 5))

    def test_resized(self):
        model = make("swin-mini", SWIN, SSM2D).train()
        self.assertEqual((model.resized((16, 24))(x := torch.randn(2, 3, 16, 24)) - model(x))
                         .abs().max(), 0)
        larger = model.resized(32)
        self.assertTrue(larger.training)
        self.assertEqual(larger.config["image"], [32, 32])
        self.assertEqual(larger(torch.zeros(1, 3, 32, 32)).shape, (1, 5))
        with self.assertRaisesRegex(ValueError, "image_size: \"patch\" is 2: images of 15 x 16"):
            model.resized((15, 16))
        with self.assertRaisesRegex(ValueError, "\"image\" is .*: use"):
            model.resized((0, 16))

    def test_offsets_of_the_same_grid(self):
        table = np.random.default_rng(0).standard_normal(2 * 24 - 1)
        np.testing.assert_allclose(resize_offsets(table, (4, 6), 24, (4, 6)), table, rtol=1e-6)


class BadWeights(Files):
    def change(self, **changes) -> None:
        arrays, notes = ssm2d.safetensors.read_safetensors(self.folder / "weights.safetensors")
        for name, value in changes.items():
            name = name.replace("__", ".")
            if value is None:
                del arrays[name]
            else:
                arrays[name] = value
        ssm2d.save_safetensors(self.folder / "weights.safetensors", arrays, notes, overwrite=True)

    def test_refused_by_name(self):
        model = make("mega-mini", dict(MEGA, norm="batch"), SSM2D)
        nan = np.full(24, np.nan, "f4")
        for what, changes in (("the array blocks.0.mixer.A is missing", {"blocks__0__mixer__A": 0}),
                              ("has the array 'other'", {"other": np.zeros(2, "f4")}),
                              ("head.bias has shape .6,., the model needs .5,.",
                               {"head__bias": np.zeros(6, "f4")}),
                              ("patch_embed.proj.bias has values that are not finite",
                               {"patch_embed__proj__bias": nan}),
                              ("head.bias is of type int64", {"head__bias": np.zeros(5, int)}),
                              ("running_var has a negative value",
                               {"final_norm__norm__running_var": -np.ones(24, "f4")}),
                              ("pos_embed has shape .1, 23, 24., which fits no known grid",
                               {"pos_embed": np.zeros((1, 23, 24), "f4")})):
            with self.subTest(what=what):
                self.write(model)
                self.change(**{n: v if isinstance(v, np.ndarray) else None
                               for n, v in changes.items()})
                with self.assertRaisesRegex(ValueError, "weights.safetensors: .*" + what):
                    self.load()
        self.write(model)
        self.change(**{"final_norm__norm__num_batches_tracked": np.array(3)})
        self.load()  # PyTorch's counter, which is unused

    def test_checkpoint_is_refused_as_weights(self):
        path = self.folder / "weights.safetensors"
        self.write(make(*VARIANTS[0]))
        ssm2d.save_safetensors(path, ssm2d.load_safetensors(path),
                               {"format": "ssm2d checkpoint 1"}, overwrite=True)
        with self.assertRaisesRegex(ValueError, "is a checkpoint, for --resume"):
            self.load()
