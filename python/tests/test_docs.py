"""The pages docs/python.md and docs/deploy.md: their examples run as they are written."""
import contextlib
import io
import os
import pathlib
import re
import shlex
import shutil
import tempfile
import unittest

import numpy as np

from tests.support import ROOT, TOOL, run_tool, torch, torchvision, write_idx


@unittest.skipUnless(torch and torchvision, "torch or torchvision is not installed")
class Docs(unittest.TestCase):
    def test_example(self):
        code, = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "python.md").read_text(), re.S)
        lines = [line for line in code.splitlines() if line.strip()]
        self.assertLessEqual(len(lines), 20)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, "docs/python.md", "exec"), {"__name__": "docs"})
        self.assertGreater(float(printed.getvalue().split()[-1]), 0.9)

    def test_other_code_runs(self):
        import ssm2d
        page = (ROOT / "docs" / "python.md").read_text()
        names = {"ssm2d": ssm2d, "u": torch.randn(1, 4, 4, 192)}
        module, numpy = re.findall(r"```\n(from.*?|params.*?)```", page, re.S)
        exec(module, names)
        self.assertEqual(names["y"].shape, (1, 4, 4, 192))
        names["u"] = np.ones((1, 2, 640, 64), np.float32)
        exec(numpy, names)
        self.assertEqual(names["k"].shape, (4, 64, 16, 16))
        self.assertEqual(names["row"].shape, (1, 640, 64))


@unittest.skipUnless(torch and TOOL.is_file(), "torch or the ssm2d command is not there")
class Deploy(unittest.TestCase):
    """The section PyTorch of docs/deploy.md, in a folder with a run in runs/demo."""

    def prepare(self) -> None:
        before = os.getcwd()
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.addCleanup(os.chdir, before)
        os.chdir(self.folder)
        rng = np.random.default_rng(0)
        write_idx(self.folder / "data", "train", 128, rng)
        write_idx(self.folder / "data", "t10k", 16, rng)
        run_tool("train", "--data", "idx:data", "--epochs", "1", "--set", "dim=24", "--set",
                 "depth=2", "--set", "heads=2", "--out", "runs/demo")
        pixels = rng.integers(0, 256, (20, 30, 1), np.uint8)
        np.save("photo.npy", pixels)
        try:
            from PIL import Image
            Image.fromarray(pixels[..., 0]).save("photo.png")
        except ImportError:
            pass

    def test_section(self):
        page = (ROOT / "docs" / "deploy.md").read_text()
        section = page[page.index("## PyTorch\n"):].split("\n## ", 1)[0]
        self.prepare()
        names, printed = {"__name__": "docs"}, io.StringIO()
        with contextlib.redirect_stdout(printed):
            for code in re.findall(r"```python\n(.*?)```", section, re.S):
                exec(compile(code, "docs/deploy.md", "exec"), names)
        self.assertRegex(printed.getvalue(), r"^[0-3] (0\.\d+|1\.0)\n$")
        commands = re.findall(r"^    \$ (.*)$", section, re.M)
        self.assertGreaterEqual(len(commands), 3)
        for command in commands:
            if "photo.png" in command and not os.path.exists("photo.png"):
                continue
            tool, *arguments = shlex.split(command)
            self.assertEqual(tool, "ssm2d")
            if arguments[0] == "train":  # the data of the page's reader are fashion-mnist
                arguments += ["--data", "idx:data"]
            run_tool(*arguments)
        self.assertTrue(os.path.exists("runs/further/model.safetensors"))
        model = names["model"]
        self.assertEqual(model.resized((12, 16)).config["image"], [12, 16])
        self.assertEqual(model.features(names["images"], 2).shape[2], 24)


if __name__ == "__main__":
    unittest.main()
