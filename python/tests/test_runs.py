"""Folders of runs: from the tool to PyTorch and back."""
import fcntl
import json
import os
import pathlib
import re
import shutil
import tempfile
import unittest

import numpy as np

from tests.support import (ROOT, TOOL, error, one_thread, read_idx, refused_by_tool, run_tool,
                           torch, write_idx)

if torch is None:
    raise unittest.SkipTest("torch is not installed")
from torch.nn import functional as F

from ssm2d.torch import create_model, decay_groups, load_run, save_run

setUpModule = one_thread
OLD = ROOT / "tests" / "golden-runs"
SMALL = ["--set", "dim=16", "--set", "depth=2", "--set", "heads=2"]
CONSTANT = ["--lr", "0", "--lr-start", "0", "--lr-final", "0", "--decay", "0"]
NAMES = ["0", "1", "2", "3"]


class Folders(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    @classmethod
    def setUpClass(cls):
        kept = tempfile.TemporaryDirectory()
        cls.addClassCleanup(kept.cleanup)
        cls.data = pathlib.Path(kept.name) / "data"
        rng = np.random.default_rng(0)
        write_idx(cls.data, "train", 64, rng)
        write_idx(cls.data, "t10k", 24, rng)

    def train(self, *options, out="run", data=True) -> pathlib.Path:
        run_tool("train", *(["--data", f"idx:{self.data}"] if data else []), "--epochs", "1",
                 "--batch", "16", "--threads", "1", *options, "--out", self.folder / out)
        return self.folder / out

    def batch(self, model, split="t10k") -> tuple:
        """(prepared images, labels) of the data."""
        images, labels = read_idx(self.data, split)
        return (torch.stack([model.preprocess(image) for image in images]),
                torch.from_numpy(labels.astype(np.int64)))

    def evaluate(self, run, *options, **variables) -> dict:
        return json.loads(run_tool("eval", run, "--json", "--threads", "1", *options,
                                   **variables))

    def check_same(self, model, run, *options, **variables) -> None:
        """Loss and accuracy equal those of the tool."""
        found = self.evaluate(run, *options, **variables)
        x, labels = self.batch(model)
        with torch.no_grad():
            logits = model(x)
        self.assertEqual(found["images"], len(x))
        self.assertAlmostEqual(found["accuracy"],
                               (logits.argmax(1) == labels).float().mean().item(), places=6)
        self.assertAlmostEqual(found["loss"], F.cross_entropy(logits, labels).item(), places=4)


class OldRuns(unittest.TestCase):
    def test_load(self):
        folders = [folder for folder in sorted(OLD.iterdir()) if (folder / "train.json").exists()]
        self.assertTrue(folders)
        for folder in folders:
            for weights in ("last", "best"):
                model = load_run(folder, weights)
                self.assertEqual(model.classes, NAMES)
                self.assertEqual(model.config["mixer"]["assign"], "authors")
                self.assertEqual(model.config["mixer"]["values"], "polar")
                self.assertEqual(model.preprocess.eval_crop, 0)
                self.assertEqual(model(torch.zeros(2, 1, 8, 8)).shape, (2, 4))

    @unittest.skipUnless(TOOL.is_file(), "the ssm2d command is not beside the library")
    def test_logits(self):
        x = np.random.default_rng(0).standard_normal((5, 1, 8, 8)).astype("f4")
        with tempfile.TemporaryDirectory() as name:
            np.save(f"{name}/x.npy", x)
            for folder in OLD.iterdir():
                if not folder.is_dir():
                    continue
                run_tool("run", "--config", folder / "config.json", "--weights",
                         folder / "model.safetensors", "--input", f"{name}/x.npy", "--out",
                         f"{name}/y.npy")
                for backend in ("library", "torch"):
                    got = load_run(folder, backend=backend)(torch.from_numpy(x)).detach().numpy()
                    self.assertLess(error(got, np.load(f"{name}/y.npy")), 1e-5)


@unittest.skipUnless(TOOL.is_file(), "the ssm2d command is not beside the library")
class FromTheTool(Folders):
    def test_trained(self):
        for options in (["--model", "vit-mini", *SMALL],
                        ["--model", "mega-mini", "--set", "dim=16", "--set", "depth=1"],
                        ["--model", "swin-mini", "--set", "dim=12", "--set", "heads=2", "--set",
                         "depth=[1, 1, 1]", "--ema", "0.5"]):
            with self.subTest(options=options):
                run = self.train(*options, out="_".join(options[:2]))
                for weights in ("last", "best"):
                    model = load_run(run, weights)
                    self.assertEqual(model.classes, NAMES)
                    self.check_same(model, run, "--weights", weights)
                self.check_same(load_run(run, image_size=(12, 16)), run, "--image-size", "12x16")

    def test_model_file(self):
        run, x = self.train("--model", "vit-mini", *SMALL), torch.rand(3, 1, 8, 12)
        model = load_run(run)
        for kind, bound in (("float32", 0), ("bf16", 0.05), ("int8", 0.05)):
            path = self.folder / f"{kind}.ssm2d"
            run_tool("quantize", run, "-o", path, "--type", kind)
            file = load_run(path)
            self.assertEqual((file.classes, file.labels, file.config),
                             (model.classes, model.labels, model.config))
            self.assertEqual(vars(file.preprocess), vars(model.preprocess))
            self.assertLessEqual((file(x) - model(x)).abs().max().item(), bound)
            if kind != "int8":  # the tool rounds inputs as well
                # weights in bfloat16 are multiplied in float32 by the baseline, as in Python
                self.check_same(file, path, "--data", f"idx:{self.data}", SSM2D_CPU="baseline")
        with self.assertRaisesRegex(ValueError, "is a model file"):
            load_run(path, "best")
        with self.assertRaisesRegex(ValueError, "is not a model file"):
            load_run(run / "model.safetensors")

    def test_zoo(self):
        """The models of this repository, but those in 8 bits, which load_run does not read."""
        files = sorted(f for f in (ROOT / "models").glob("*.ssm2d") if "-int8" not in f.name)
        self.assertTrue(files)
        for path in files:
            model = load_run(path)
            config = model.config
            x = torch.rand(3, config["channels"], *config["image"])
            np.save(self.folder / "x.npy", x.numpy())
            run_tool("run", "--weights", path, "--input", self.folder / "x.npy",
                     "--out", self.folder / "y.npy", SSM2D_CPU="baseline")
            expected = torch.from_numpy(np.load(self.folder / "y.npy"))
            self.assertEqual(len(model.classes), expected.shape[1])
            with torch.no_grad():
                self.assertLess((model(x) - expected).abs().max().item(), 1e-4)

    def test_predict(self):
        """The tool's probabilities of an image file, grey and in colour, of any size."""
        try:
            from PIL import Image
        except ImportError:
            self.skipTest("Pillow is not installed")
        rng = np.random.default_rng(1)
        for channels, crop in ((3, "0.875"), (1, "0"), (3, "1")):
            model = create_model("vit-mini", mixer="ssm2d", classes=["cat", "dog", "cow"],
                                 image_size=(16, 24), channels=channels, depth=1, dim=24, heads=2,
                                 mean=[0.4, 0.5, 0.6], std=[0.2, 0.25, 0.3])
            model.preprocess.eval_crop = float(crop)
            run = self.folder / f"run{channels}{crop}"
            save_run(model.eval(), run)
            for mode, sides in (("RGB", (40, 30)), ("L", (9, 50)), ("RGBA", (24, 16)),
                                ("LA", (70, 31)), ("P", (33, 44)), ("1", (20, 20))):
                image = Image.fromarray(rng.integers(0, 256, (sides[1], sides[0], 4), np.uint8),
                                        "RGBA").convert(mode)
                path = self.folder / f"{mode}.png"
                image.save(path)
                said = json.loads(run_tool("predict", run, path, "--weights", "last", "--json"))
                said = said["classes"]
                with torch.no_grad():
                    found = model(model.preprocess(Image.open(path))[None]).softmax(1)[0]
                for one in said:
                    self.assertAlmostEqual(found[model.classes.index(one["name"])].item(),
                                           one["probability"], delta=2e-6, msg=(mode, channels))

    def test_binary_labels(self):
        model = create_model("vit-mini", mixer=None, classes=["a", "b"], image_size=8, depth=1,
                             mean=0.5, std=0.5)
        model.labels = "binary"
        save_run(model, self.folder / "run")
        self.assertEqual(load_run(self.folder / "run").labels, "binary")
        self.assertEqual(json.loads((self.folder / "run" / "train.json").read_text())["loss"],
                         "bce")
        message = refused_by_tool("eval", self.folder / "run", "--data", f"idx:{self.data}")
        self.assertIn("one class per image, but the model was trained on binary labels", message)


@unittest.skipUnless(TOOL.is_file(), "the ssm2d command is not beside the library")
class ToTheTool(Folders):
    def test_round_trip(self):
        run = self.train("--model", "vit-mini", *SMALL, "--set", "drop_path=0.1", "--val-fraction",
                         "0.25")
        model = load_run(run)
        other = self.folder / "other"
        save_run(model, other)
        self.assertEqual(sorted(os.listdir(other)), ["config.json", "data.json",
                                                     "model.safetensors", "train.json"])
        for name in ("config.json", "data.json"):
            old, new = (json.loads((f / name).read_text()) for f in (run, other))
            old.pop("names", None)
            self.assertEqual(old, new)
        self.assertEqual((run / "model.safetensors").stat().st_size,
                         (other / "model.safetensors").stat().st_size)
        for split in ("test", "val", "train"):  # the same images were held out
            self.assertEqual(self.evaluate(run, "--split", split),
                             self.evaluate(other, "--split", split))
        again = load_run(other)
        for name, value in model.state_dict().items():
            self.assertTrue(torch.equal(value, again.state_dict()[name]), name)
        self.assertEqual((again.config, again.classes), (model.config, model.classes))

    def test_resized(self):
        """A model for another size, of each family: the tool evaluates it as it does the run."""
        for name, settings, size in (("vit-mini", dict(dim=16, heads=2, depth=1), (12, 16)),
                                     ("swin-mini", dict(dim=12, heads=2, depth=[2, 1], window=3),
                                      (10, 16)),
                                     ("mega-mini", dict(dim=16, depth=1), (12, 16))):
            model = create_model(name, classes=4, image_size=(8, 12), channels=1, mean=0.5,
                                 std=0.5, **settings).eval()
            run, other = self.folder / name, self.folder / f"{name}-other"
            save_run(model, run, data=f"idx:{self.data}")
            save_run(model.resized(size), other, data=f"idx:{self.data}")
            self.check_same(load_run(other), other)
            # the tool interpolates the small one to the same
            a = self.evaluate(run, "--image-size", f"{size[0]}x{size[1]}")
            b = self.evaluate(other)
            self.assertAlmostEqual(a["loss"], b["loss"], places=5)
            # and knows the grid of what was resized, when it goes on to another size
            c = self.evaluate(other, "--image-size", "8x20")
            d = load_run(other, image_size=(8, 20))
            x, labels = self.batch(d)
            with torch.no_grad():
                self.assertAlmostEqual(c["loss"], F.cross_entropy(d(x), labels).item(), places=4)

    def test_start_and_training_mode(self):
        """A step of the tool with learning rate 0 from weights of PyTorch: the same weights come
        out, and BatchNorm's running moments move as in a step of PyTorch."""
        model = create_model("mega-lra", classes=4, image_size=(8, 12), channels=1, dim=16, z=8,
                             v=12, ffn=12, depth=2, mean=0.5, std=0.5)
        start = self.folder / "start"
        save_run(model, start, data=f"idx:{self.data}")
        run = self.train("--start", start / "model.safetensors", "--config",
                         start / "config.json", *CONSTANT, "--batch", "64", "--smoothing", "0",
                         "--log-every", "1")
        x, labels = self.batch(model, "train")
        loss = F.cross_entropy(model.train()(x), labels).item()
        after, moved = load_run(run).state_dict(), 0
        for name, value in model.state_dict().items():
            # means are differences of larger numbers
            bound = 1e-4 if "running_mean" in name else 1e-5
            self.assertLess(error(after[name].numpy(), value.numpy()), bound, name)
            moved += "running" in name and bool((value - (1 if "var" in name else 0)).abs().max()
                                                > 1e-3)
        self.assertEqual(moved, 2 * 5)
        lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
        step = next(line for line in lines if line["kind"] == "step")
        self.assertAlmostEqual(step["loss"], loss, places=4)

    def test_training_in_pytorch(self):
        """A model overfitted to one batch in PyTorch has the same accuracy in the tool."""
        for backend in ("library", "torch"):
            torch.manual_seed(0)
            model = create_model("vit-mini", mixer="ssm2d", classes=4, image_size=(8, 12),
                                 channels=1, mean=0.3, std=0.2, backend=backend, dim=32, heads=2,
                                 depth=2)
            x, labels = self.batch(model)
            optimizer = torch.optim.AdamW(decay_groups(model, 0.01), lr=3e-3)
            model.train()
            for _ in range(40):
                optimizer.zero_grad()
                loss = F.cross_entropy(model(x), labels)
                loss.backward()
                optimizer.step()
            self.assertLess(loss.item(), 0.1)
            run = self.folder / backend
            save_run(model, run, data=f"idx:{self.data}")
            found = self.evaluate(run)
            self.assertEqual(found["accuracy"], 1)
            self.check_same(model.eval(), run)

    def test_tool_reads_saved_runs(self):
        model = create_model("vit-mini", classes=4, image_size=(8, 12), channels=1, mean=0.5,
                             std=0.5, depth=1)
        run = self.folder / "run"
        save_run(model, run)
        self.assertIn("does not name its data", refused_by_tool("eval", run))
        self.check_same(model.eval(), run, "--data", f"idx:{self.data}")
        self.assertIn("no checkpoint to resume: --start", refused_by_tool("train", "--resume", run))
        self.assertIn("has a run already", refused_by_tool(
            "train", "--data", f"idx:{self.data}", "--out", run))
        run_tool("kernels", run, "-o", self.folder / "kernels.png")
        if "\n  export " in run_tool("--help"):
            run_tool("export", run, "-o", self.folder / "model.onnx")


class Writing(Folders):
    def setUp(self):
        super().setUp()
        self.out = self.folder / "run"
        self.model = create_model("vit-mini", mixer=None, classes=4, image_size=8, channels=1,
                                  mean=0.5, std=0.5, depth=1)

    def test_nothing_is_replaced(self):
        save_run(self.model, self.out)
        before = {name: (self.out / name).read_bytes() for name in os.listdir(self.out)}
        with self.assertRaisesRegex(FileExistsError, "has a run already: overwrite=True"):
            save_run(self.model.resized(16), self.out)
        self.assertEqual(before, {n: (self.out / n).read_bytes() for n in os.listdir(self.out)})
        (self.out / "last.safetensors").write_bytes(b"of the run before")
        (self.out / "notes.txt").write_text("mine")
        save_run(self.model.resized(16), self.out, overwrite=True)
        self.assertEqual(load_run(self.out).config["image"], [16, 16])
        self.assertEqual(sorted(os.listdir(self.out)), ["config.json", "data.json",
                                                        "model.safetensors", "notes.txt",
                                                        "train.json"])

    def test_files_of_others_are_kept(self):
        self.out.mkdir()
        (self.out / "config.json").write_text("{}")
        for overwrite in (False, True):
            with self.assertRaisesRegex(FileExistsError, "config.json, but no train.json"):
                save_run(self.model, self.out, overwrite=overwrite)
        (self.out / "train.json").write_text('{"epochs": 3}')
        with self.assertRaisesRegex(ValueError, "train.json: is not a run's"):
            save_run(self.model, self.out, overwrite=True)
        self.assertEqual((self.out / "config.json").read_text(), "{}")

    def test_locked_folder_is_refused(self):
        self.out.mkdir()
        fd = os.open(self.out, os.O_RDONLY)
        fcntl.flock(fd, fcntl.LOCK_EX)
        with self.assertRaisesRegex(ValueError, "another process is training in this folder"):
            save_run(self.model, self.out)
        os.close(fd)
        save_run(self.model, self.out)

    def test_failed_saving_leaves_no_run(self):
        from ssm2d import files
        target = self.folder / "file"

        def broken():
            yield b"half"
            raise OSError("no space")
        for overwrite in (False, True):
            with self.assertRaisesRegex(OSError, "no space"):
                files.write_whole(target, broken(), overwrite)
            self.assertEqual(os.listdir(self.folder), ["file"] if overwrite else [])
            target.write_bytes(b"old")
        self.assertEqual(target.read_bytes(), b"old")
        with self.assertRaisesRegex(FileExistsError, "overwrite=True"):
            files.write_whole(target, [b"new"], False)
        os.symlink("nowhere", self.folder / "link")
        with self.assertRaises(FileExistsError):
            files.write_whole(self.folder / "link", [b"new"], False)
        with self.assertRaisesRegex(ValueError, "not a regular file"):
            os.mkdir(self.folder / "folder")
            files.write_whole(self.folder / "folder", [b"new"], True)

    def test_refused(self):
        with self.assertRaisesRegex(TypeError, "model=Linear"):
            save_run(torch.nn.Linear(2, 2), self.out)
        model = create_model("vit-mini", classes=4, depth=1)
        with self.assertRaisesRegex(ValueError, "model.preprocess: is not known"):
            save_run(model, self.out)
        with self.assertRaisesRegex(ValueError, "mean, std: give both"):
            create_model("vit-mini", mean=0.5)
        self.model.classes = ["one"]
        with self.assertRaisesRegex(ValueError, "model.classes: use 4 names"):
            save_run(self.model, self.out)
        self.model.classes = NAMES
        self.model.preprocess = self.model.preprocess.resized((4, 4))
        with self.assertRaisesRegex(ValueError, "model.preprocess: gives 1 channels of 4 x 4"):
            save_run(self.model, self.out)
        self.model.preprocess = self.model.preprocess.resized((8, 8))
        with torch.no_grad():
            self.model.head.bias[1] = float("inf")
        with self.assertRaisesRegex(ValueError, "head.bias: has values that are not finite"):
            save_run(self.model, self.out)
        self.assertFalse(self.out.exists())

    def test_run_that_names_no_mixer(self):
        model = create_model("mega-mini", classes=4, image_size=8, channels=1, mean=0.5, std=0.5,
                             depth=1)
        save_run(model, self.out)
        train = json.loads((self.out / "train.json").read_text())
        del train["mixer"]
        (self.out / "train.json").write_text(json.dumps(train))
        self.assertEqual(load_run(self.out).config["mixer"]["kind"], "ema")

    def test_half_precision(self):
        save_run(self.model.half(), self.out)
        self.assertEqual(load_run(self.out).head.weight.dtype, torch.float32)


class BadFolders(Folders):
    """Errors name file, field and value."""

    def broken(self, file: str, change) -> pathlib.Path:
        run = self.folder / "run"
        shutil.rmtree(run, ignore_errors=True)
        shutil.copytree(OLD / "0.1", run)
        text = change((run / file).read_bytes())
        (run / file).write_bytes(text if isinstance(text, bytes) else text.encode())
        return run

    def edit(self, file: str, **changes):
        def change(text):
            value = json.loads(text)
            value.update(changes)
            return json.dumps({k: v for k, v in value.items() if v is not ...})
        return self.broken(file, change)

    def test_fields(self):
        for file, changes, what in (
                ("config.json", dict(dim=24), "\"dim\" is 24, but 16 in train.json"),
                ("config.json", dict(model="vit-minor"), "\"model\" is \"vit-minor\": use one of"),
                ("config.json", dict(model=...), "\"model\" is missing"),
                ("config.json", dict(depth=1e9), "\"depth\" is 1000000000.0: use a whole number"),
                ("config.json", dict(heads=3), "\"heads\" is 3: it must divide \"dim\""),
                ("config.json", dict(patch=3), "\"patch\" is 3: images of 8 x 8 cannot be cut"),
                ("config.json", dict(pos_embed=1), "\"pos_embed\" is 1: use true or false"),
                ("config.json", dict(pos_embd=True), "\"pos_embd\" is not a known key: did you "
                 "mean 'pos_embed'"),
                ("config.json", dict(mixer="s5"), "\"mixer\" is \"s5\": use one of none, ssm2d"),
                ("config.json", dict(mixer={"kind": "ssm2d", "norm": "full"}),
                 "\"mixer.norm\" is \"full\": use one of"),
                ("train.json", dict(eval_crop="all"), "\"eval_crop\" is all: use"),
                ("train.json", dict(interpolation="cubic"), "\"interpolation\" is cubic: use"),
                ("data.json", dict(classes=["a"]), "\"classes\" has 1 names, but the model has 4"),
                ("data.json", dict(classes="abcd"), "\"classes\" is not a list of names"),
                ("data.json", dict(std=[1, 0, 1]), r"std=.*: use values above 0"),
                ("data.json", dict(mean=[1, 2]), "\"mean\" is not a list of three numbers"),
                ("data.json", dict(labels="many"), "\"labels\" is 'many': use \"binary\""),
                ("data.json", dict(images=0), "\"images\" is 0: use a whole number")):
            with self.subTest(file=file, changes=changes):
                run = self.edit(file, **changes)
                with self.assertRaisesRegex(ValueError, re.escape(str(run / file)) + ": .*" + what):
                    load_run(run)

    def test_not_json(self):
        for file in ("train.json", "config.json", "data.json"):
            for text, what in ((b"{", "is not JSON"), (b"\xff", "is not JSON"),
                               (b"[1]", "is not a JSON object"), (b"[" * 100000, "is not JSON"),
                               (b'{"a": 1, "a": 2}', "'a' comes twice"),
                               (b'{"a": NaN}', "NaN is not a number"),
                               (b'{"a": 1e999}', "1e999 is not a number")):
                run = self.broken(file, lambda _: text)
                with self.assertRaisesRegex(ValueError, f"{file}: .*{what}"):
                    load_run(run)
        os.unlink(run / "data.json")
        os.mkfifo(run / "data.json")
        with self.assertRaisesRegex(ValueError, "data.json: is not a regular file"):
            load_run(run)

    def test_missing(self):
        with self.assertRaisesRegex(FileNotFoundError, "it has no train.json"):
            load_run(self.folder)
        run = self.edit("train.json")
        os.unlink(run / "best.safetensors")
        with self.assertRaisesRegex(FileNotFoundError, "best.safetensors: does not exist"):
            load_run(run, "best")
        with self.assertRaisesRegex(ValueError, "weights='first': use one of 'last', 'best'"):
            load_run(run, "first")
        with self.assertRaisesRegex(ValueError, "backend='gpu': use one of"):
            load_run(run, backend="gpu")
        for file in ("config.json", "train.json"):  # no memory is taken for what cannot be there
            value = json.loads((run / file).read_text())
            (run / file).write_text(json.dumps({**value, "dim": 16384, "depth": 1024}))
        with self.assertRaisesRegex(ValueError, r"model.safetensors: has \d+ elements, but the "
                                    r"model has more than \d{12,}: it was made with other"):
            load_run(run)
        (run / "model.safetensors").write_bytes(b"1234567")
        with self.assertRaisesRegex(ValueError, "model.safetensors: not a valid safetensors file"):
            load_run(run)
