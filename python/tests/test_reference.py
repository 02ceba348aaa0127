"""examples/reference.py: the layer beside the library, and the training beside reference.c."""
import contextlib
import importlib.util
import io
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import numpy as np

import ssm2d
from tests.support import ROOT, TIMEOUT, error

SOURCE = ROOT / "examples" / "reference.py"


def load_reference():
    spec = importlib.util.spec_from_file_location("reference", SOURCE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Reference(unittest.TestCase):
    def test_layer(self):
        """Kernels, forward and every gradient, for several sizes."""
        reference = load_reference()
        rng = np.random.default_rng(0)
        sizes = ((8, 10, 6, 4, 2), (1, 7, 3, 2, 1), (9, 4, 17, 5, 3))
        for rows, cols, channels, d_state, n_ssm in sizes:
            layer = ssm2d.Layer("ssm2d", channels=channels, d_state=d_state, n_ssm=n_ssm)
            p = {name: rng.standard_normal(x.shape)
                 for name, x in layer.init_params(seed=0).items()}
            u, dy = rng.standard_normal((2, 3, rows, cols, channels))
            k = reference.kernels(p, rows, cols)
            by_channel = np.stack([k[reference.systems(r, channels, len(k))] for r in range(4)])
            du, dk, dD = reference.layer_back(k, p["D"], u, dy)
            ours = {**reference.kernels_back(p, dk), "D": dD}
            du_library, dp_library = layer.backward(u, p, dy=dy)
            self.assertLess(error(by_channel, layer.kernel(p, rows, cols)), 1e-12)
            self.assertLess(error(reference.layer(k, p["D"], u), layer.forward(u, p)), 1e-12)
            self.assertLess(error(du, du_library), 1e-12)
            self.assertEqual(set(ours), set(dp_library))
            for name, gradient in dp_library.items():
                self.assertLess(error(ours[name], gradient), 1e-12, name)

    def test_size(self):
        lines = len(SOURCE.read_text().splitlines())
        self.assertLessEqual(lines, len(SOURCE.with_suffix(".c").read_text().splitlines()))

    @unittest.skipUnless(shutil.which("cc"), "no C compiler is installed")
    def test_same_curve(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "reference"
            subprocess.run(["cc", "-O2", "-ffp-contract=off", SOURCE.with_suffix(".c"), "-o",
                            program, "-lm"], check=True, timeout=TIMEOUT)
            c = subprocess.run([program], check=True, timeout=TIMEOUT, capture_output=True,
                               text=True).stdout.splitlines()
        with contextlib.redirect_stdout(io.StringIO()) as out:
            load_reference().main(steps=75, test=10)
        python = out.getvalue().splitlines()
        self.assertEqual(len(python), 4)
        for ours, theirs in zip(python[:3], c):
            self.assertEqual(ours.split()[:2], theirs.split()[:2])
            self.assertAlmostEqual(float(ours.split()[-1]), float(theirs.split()[-1]), delta=2e-6)
