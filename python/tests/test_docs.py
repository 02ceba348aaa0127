"""The page docs/python.md: its example runs, learns, and is as short as it says."""
import contextlib
import io
import re
import unittest

from tests.support import ROOT, torch, torchvision


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
        import numpy as np

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


if __name__ == "__main__":
    unittest.main()
