"""The pages docs/python.md, docs/deploy.md and docs/tutorial.md: their examples run as they are
written."""
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

try:
    import matplotlib
except ImportError:
    matplotlib = None

FASHION = pathlib.Path("/usr/share/datasets/fashion-mnist")


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


def run_blocks(page: str, text: str) -> tuple:
    """Executes the Python blocks of a page, one after another: (their names, what they print)."""
    names, printed = {"__name__": "docs"}, io.StringIO()
    with contextlib.redirect_stdout(printed):
        for code in re.findall(r"```python\n(.*?)```", text, re.S):
            exec(compile(code, page, "exec"), names)
    return names, printed.getvalue()


def tool_commands(text: str) -> list:
    """The arguments of every line `$ ssm2d ..`."""
    commands = [shlex.split(line) for line in re.findall(r"^    \$ (.*)$", text, re.M)]
    assert all(tool == "ssm2d" for tool, *_ in commands), commands
    return [arguments for _, *arguments in commands]


class Troubleshooting(unittest.TestCase):
    def test_messages(self):
        """The messages of docs/troubleshooting.md, but those of other programs, are in the
        sources."""
        files = [path for folder, kind in (("src", "c"), ("tools", "c"), ("python/ssm2d", "py"),
                                           ("scripts", "sh"))
                 for path in (ROOT / folder).rglob(f"*.{kind}")]
        # texts of several lines as one; values as the page writes them
        sources = re.sub(r'"\s*f?"', "", "\n".join(path.read_text() for path in files))
        sources = re.sub(r"%\w+|\{\w+\}", "..", sources)
        page = (ROOT / "docs" / "troubleshooting.md").read_text()
        messages = re.findall(r"^\| `([^`]+)`(?: \(Python\))? \|", page, re.M)
        self.assertGreaterEqual(len(messages), 8)
        for message in messages:
            self.assertIn(message, sources)


@unittest.skipUnless(torch and torchvision and matplotlib,
                     "torch, torchvision or matplotlib is not installed")
@unittest.skipUnless(FASHION.is_dir(), "dataset-fashion-mnist is not installed")
class Tutorial(unittest.TestCase):
    def test_page(self):
        page = (ROOT / "docs" / "tutorial.md").read_text()
        before = os.getcwd()
        folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder)
        self.addCleanup(os.chdir, before)
        os.chdir(folder)
        names, printed = run_blocks("docs/tutorial.md", page)
        self.assertRegex(printed, r"parameters: 43306 and with the layer 45450\n")
        accuracies = names["accuracies"]
        self.assertGreater(accuracies["plain"], 0.4)  # guessing is right for a tenth
        self.assertGreater(accuracies["with the layer"], 0.55)
        self.assertLess(float(printed.split()[-1]), 1e-4)  # the model that the tool reads
        self.assertTrue((folder / "kernels.png").is_file())
        if not TOOL.is_file():
            self.skipTest("the ssm2d command is not there: the tutorial's commands were not run")
        commands = tool_commands(page)
        self.assertEqual([arguments[0] for arguments in commands],
                         ["eval", "predict", "kernels", "kernels", "export"])
        outputs = [run_tool(*arguments) for arguments in commands]
        measured = float(re.search(r"accuracy ([\d.]+) %", outputs[0]).group(1)) / 100
        self.assertAlmostEqual(measured, accuracies["with the layer"], delta=0.06)
        self.assertRegex(outputs[1], r"garment.png: [A-Z]")
        for name in ("blocks.png", "fields.png", "garments.onnx"):
            self.assertGreater((folder / name).stat().st_size, 1000)


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
        names, printed = run_blocks("docs/deploy.md", section)
        self.assertRegex(printed, r"^[0-3] (0\.\d+|1\.0)\n$")
        commands = tool_commands(section)
        self.assertGreaterEqual(len(commands), 3)
        for arguments in commands:
            if "photo.png" in arguments and not os.path.exists("photo.png"):
                continue
            if arguments[0] == "train":  # the data of the page's reader are fashion-mnist
                arguments += ["--data", "idx:data"]
            run_tool(*arguments)
        self.assertTrue(os.path.exists("runs/further/model.safetensors"))
        model = names["model"]
        self.assertEqual(model.resized((12, 16)).config["image"], [12, 16])
        self.assertEqual(model.features(names["images"], 2).shape[2], 24)
