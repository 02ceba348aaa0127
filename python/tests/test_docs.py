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
    def test_python_page(self):
        """Every block of code stands by itself."""
        example, *_ = blocks = re.findall(r"```python\n(.*?)```",
                                               (ROOT / "docs" / "python.md").read_text(), re.S)
        self.assertEqual(len(blocks), 5)
        self.assertLessEqual(len([line for line in example.splitlines() if line.strip()]), 20)
        names, printed = [], []
        for code in blocks:
            names.append({"__name__": "docs"})
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(compile(code, "docs/python.md", "exec"), names[-1])
            printed.append(out.getvalue())
        _, module, kinds, arrays, functions = names
        self.assertGreater(float(printed[0].split()[-1]), 0.9)
        self.assertEqual(module["y"].shape, (8, 14, 14, 192))
        self.assertIn("s4nd", printed[2])
        self.assertEqual(arrays["k"].shape, (4, 64, 16, 16))
        np.testing.assert_allclose(arrays["scanned"], arrays["y"], atol=1e-5)
        self.assertEqual(functions["row"].shape, (1, 640, 64))


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
