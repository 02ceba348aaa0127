"""Configurations of whole models: read as the tool reads them."""
import copy
import json
import pathlib
import tempfile
import unittest

from tests.support import MODELS, TOOL, refused_by_tool, run_tool, one_thread, torch

if torch is None:
    raise unittest.SkipTest("torch is not installed")
from ssm2d.torch import create_model
from ssm2d.torch.models import config as configs

setUpModule = one_thread
SSM2D = {"kind": "ssm2d", "d_state": 3}


def parse(mixer=..., **settings) -> dict:
    if mixer is not ...:
        settings["mixer"] = mixer
    return configs.parse("c.json", {"model": "vit-mini", **settings})


@unittest.skipUnless(TOOL.is_file(), "the ssm2d command is not beside the library")
class AgainstTheTool(unittest.TestCase):
    def test_table(self):
        """What the package knows of models is what the tool prints."""
        self.assertTrue(configs.TABLE == json.loads(run_tool("models", "--keys", "--json")),
                        "models or keys have changed: ssm2d models --keys --json > "
                        "python/ssm2d/torch/models/models.json")

    def test_named_models(self):
        for row in json.loads(run_tool("models", "--json")):
            given = {"model": row["model"], "mixer": row["config"]["mixer"],
                     "image": row["image"], "classes": row["classes"]}
            self.assertEqual(configs.parse("c.json", given, from_file=False), row["config"])

    def test_missing_keys(self):
        """Files without a newer key mean what they meant before there was one."""
        self.assertEqual(configs.parse("c.json", {"model": "mega-lra"})["head"], "projection")
        self.assertEqual(configs.parse("c.json", {"model": "mega-lra", "head": "lra"})["head"],
                         "lra")

    def test_refused_by_both(self):
        """What one refuses the other refuses, for the same key."""
        with tempfile.TemporaryDirectory() as name:
            path = pathlib.Path(name) / "c.json"
            for key, given in (
                    ("vit-max", {"model": "vit-max"}), ("model", {"mixer": None}),
                    ("dim", {"model": "deit"}), ("dim", {"model": "vit", "dim": 0}),
                    ("dim", {"model": "vit", "dim": "96"}), ("dim", {"model": "vit", "dim": 9.5}),
                    ("dims", {"model": "vit", "dims": 96}),
                    ("image", {"model": "vit", "image": []}),
                    ("image", {"model": "vit", "image": [32]}),
                    ("image", {"model": "vit", "image": [32, 32, 32]}),
                    ("patch", {"model": "vit", "image": [32, 30]}),
                    ("heads", {"model": "vit", "heads": 5}),
                    ("heads", {"model": "swin", "heads": [1, 2, 5]}),
                    ("depth", {"model": "swin", "depth": [2, 2]}),
                    ("dim", {"model": "swin", "dim": [96, 192, 380]}),
                    ("depth", {"model": "swin", "depth": [1] * 9}),
                    ("max_positions", {"model": "mega", "max_positions": 63}),
                    ("mlp_ratio", {"model": "vit", "mlp_ratio": 65}),
                    ("mixer", {"model": "vit", "mixer": 3}),
                    ("mixer", {"model": "vit", "mixer": {"d_state": 3}}),
                    ("mixer", {"model": "vit", "mixer": {"kind": "none", "d_state": 3}}),
                    ("mixer.kind", {"model": "vit", "mixer": {"kind": "mamba"}}),
                    ("mixer.directions", {"model": "vit", "mixer": {"kind": "ssm2d",
                                                                    "directions": 3}}),
                    ("mixer.place", {"model": "vit", "mixer": {"kind": "ema", "place": "end"}}),
                    ("mixer.rate", {"model": "vit", "mixer": {"kind": "ema", "rate": 1}}),
                    ("mixer.complex_form", {"model": "vit", "mixer": {"kind": "ssm2d",
                                                                      "complex_form": "polar"}}),
                    ("complex", {"model": "vit", "mixer": {"kind": "ssm2d", "values": "polar",
                                                           "complex": True}}),
                    ("mixer.trunc", {"model": "vit", "mixer": {"kind": "ssm2d", "trunc": [1]}})):
                with self.subTest(given=given):
                    path.write_text(json.dumps(given))
                    said = refused_by_tool("run", "--config", path, "--weights", "w", "--input",
                                           "x", "--out", "y")
                    with self.assertRaises(ValueError) as caught:
                        configs.parse(path, given)
                    for message in (said, str(caught.exception)):
                        self.assertIn(f"{key}\"", message)
                        self.assertIn(str(path), message)


class Reading(unittest.TestCase):
    def test_golden_models(self):
        for folder in sorted(MODELS.iterdir()):
            if (folder / "config.json").exists():
                given = json.loads((folder / "config.json").read_text())
                config = configs.parse(folder, given)
                for key in given:
                    if key != "mixer":
                        self.assertEqual(config[key], given[key])
                # read again it gives the same
                self.assertEqual(configs.parse(folder, copy.deepcopy(config)), config)

    def test_mixer(self):
        self.assertIsNone(parse()["mixer"])
        self.assertIsNone(parse("none")["mixer"])
        self.assertIsNone(parse({"kind": "none"})["mixer"])
        # by name it is the model's own; an object is of a file, whose missing keys are old
        self.assertEqual(parse("ssm2d")["mixer"]["assign"], "distinct")
        self.assertEqual(parse({"kind": "ssm2d"})["mixer"]["assign"], "authors")
        self.assertEqual(parse({"kind": "ssm2d"})["mixer"]["d_state"], 16)
        self.assertEqual(create_model("vit-mini", depth=1, mixer=SSM2D).config["mixer"]["assign"],
                         "distinct")

    def test_old_keys(self):
        for given, wanted in (({"complex": True}, "polar"), ({"complex": False}, "real"),
                              ({"complex": True, "complex_form": "cartesian"}, "cartesian"),
                              ({"complex": False, "complex_form": "polar"}, "real"),
                              ({"complex": True, "complex_form": None}, "polar")):
            self.assertEqual(parse({**SSM2D, **given})["mixer"]["values"], wanted)
        mixer = parse({**SSM2D, "normalize": True, "trunc": [2, 3]})["mixer"]
        self.assertEqual((mixer["layer_norm"], mixer["trunc_rows"], mixer["trunc_cols"]),
                         (True, 2, 3))
        self.assertEqual(parse({**SSM2D, "trunc": None})["mixer"]["trunc_rows"], 0)

    def test_filled_in(self):
        for name, sizes in (("vit", {32: 4, 64: 8}), ("mega", {32: 4, 64: 8}),
                            ("swin", {32: 2, 64: 4})):
            for image, patch in sizes.items():
                config = configs.parse("c", {"model": name, "image": image})
                self.assertEqual((config["patch"], config["image"]), (patch, [image, image]))
        config = configs.parse("c", {"model": "swin", "dim": 24, "heads": 2})
        self.assertEqual((config["dim"], config["heads"]), ([24, 48, 96], [2, 4, 8]))

    def test_create_model(self):
        model = create_model("vit-mini", mixer="ssm2d", classes=10, image_size=(32, 32))
        self.assertEqual(sum(p.numel() for p in model.parameters()), 314666)
        self.assertTrue(model.training)
        self.assertEqual(create_model("mega-mini", depth=1).config["mixer"]["kind"], "ema")
        self.assertEqual(create_model("vit-mini", depth=1, classes=["a", "b"]).classes, ["a", "b"])
        torch.manual_seed(0)
        first = create_model("swin-mini", image_size=8).state_dict()
        torch.manual_seed(0)
        for name, value in create_model("swin-mini", image_size=8).state_dict().items():
            self.assertTrue(torch.equal(value, first[name]))
        for options, what in ((dict(name="vit-huge"), "create_model: \"model\" is \"vit-huge\""),
                              (dict(name="vit-mini", dept=1), "\"dept\" is not a known key: did "
                               "you mean 'depth'"),
                              (dict(name="vit-mini", mixer={"kind": "ssm2d", "n_ssm": 0}),
                               "\"mixer.n_ssm\" is 0: use")):
            with self.assertRaisesRegex(ValueError, what):
                create_model(**options)

    def test_initial_values(self):
        """Deviations as the tool's: xavier or small weights, positions, norms."""
        for name, places in (
                ("vit-mini", {"blocks.0.mlp.fc1.weight": (2 / (96 + 192)) ** 0.5, "cls_token": 1,
                              "pos_embed": 0.02, "head.bias": 0, "blocks.0.norm1.bias": 0,
                              "patch_embed.proj.weight": (2 / (96 + 48)) ** 0.5}),
                ("deit-t", {"blocks.0.attn.qkv.weight": 0.02, "cls_token": 0.02}),
                ("swin-mini", {"layers.1.downsample.reduction.weight": 0.02,
                               "layers.0.blocks.0.attn.relative_position_bias_table": 0.02,
                               "absolute_pos_embed": 0.02}),
                ("mega-mini", {"blocks.0.mega_layer.mx_proj.weight": 0.02,
                               "blocks.0.mega_layer.gamma": 0.02, "blocks.0.mega_layer.beta": 0,
                               "pos_embed": 96 ** -0.5})):
            torch.manual_seed(1)
            state = create_model(name, mixer=None, image_size=32).state_dict()
            for key, deviation in places.items():
                found = state[key].square().mean().sqrt().item()
                self.assertAlmostEqual(found, deviation, delta=0.25 * deviation, msg=(name, key))
