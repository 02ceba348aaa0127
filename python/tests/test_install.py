"""`pip install` of this clone into a fresh environment, without network; the package then brings
its own library."""
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from tests.support import ROOT, TIMEOUT

CHECK = """
import pathlib, numpy as np, ssm2d
from ssm2d._library import lib
own = pathlib.Path(ssm2d.__file__).resolve().parent
assert own.is_relative_to(pathlib.Path({environment!r}).resolve()), own
assert pathlib.Path(lib.path).resolve().parent == own, lib.path
y = ssm2d.forward(np.ones((1, 3, 3, 4), "f"), ssm2d.init_params(channels=4))
assert np.isfinite(y).all()
try:
    import torch
except ImportError:
    pass
else:
    import ssm2d.torch
    ssm2d.torch.SSM2d(4)(torch.ones(1, 3, 3, 4)).sum().backward()
    ssm2d.torch.create_model("vit-mini", depth=1, image_size=8)(torch.ones(1, 3, 8, 8))
print(ssm2d.__version__)
"""


def have(*modules) -> bool:
    return all(importlib.util.find_spec(name) for name in modules)


@unittest.skipIf(os.environ.get("SSM2D_SKIP_INSTALL"), "SSM2D_SKIP_INSTALL is set")
@unittest.skipUnless(shutil.which("cmake") and have("venv", "pip", "setuptools", "wheel"),
                     "cmake, python3-venv, python3-pip, python3-setuptools or python3-wheel is not "
                     "installed")
class Install(unittest.TestCase):
    def test_pip_install(self):
        with tempfile.TemporaryDirectory() as folder:
            clone = pathlib.Path(folder) / "clone"
            clone.mkdir()
            for name in ("CMakeLists.txt", "LICENSE", "pyproject.toml", "setup.py", "MANIFEST.in"):
                shutil.copy(ROOT / name, clone)
            for name in ("cmake", "include", "src", "python"):
                shutil.copytree(ROOT / name, clone / name,
                                ignore=shutil.ignore_patterns("__pycache__", "*.so", "*.egg-info"))
            environment = pathlib.Path(folder) / "environment"
            clean = {k: v for k, v in os.environ.items()
                     if k not in ("PYTHONPATH", "SSM2D_LIBRARY")}
            python = str(environment / "bin" / "python")
            for command in ([sys.executable, "-m", "venv", "--system-site-packages",
                             "--without-pip", str(environment)],
                            [python, "-m", "pip", "install", "--no-build-isolation", "--no-index",
                             "--no-deps",
                             str(clone)],
                            [python, "-c", CHECK.format(environment=str(environment))]):
                done = subprocess.run(command, env=clean, cwd=folder, capture_output=True,
                                      text=True, timeout=TIMEOUT)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            header = (ROOT / "include" / "ssm2d.h").read_text()
            version = re.escape(done.stdout.strip())
            self.assertRegex(header, rf'#define SSM2D_VERSION +"{version}"')
