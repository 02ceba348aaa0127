"""Builds the C library with CMake and puts it into the package; everything else is in
pyproject.toml."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py
from wheel.bdist_wheel import bdist_wheel

ROOT = pathlib.Path(__file__).resolve().parent
LIBRARY = "libssm2d.dylib" if sys.platform == "darwin" else "libssm2d.so"


class BuildWithLibrary(build_py):
    def run(self):
        super().run()
        if not shutil.which("cmake"):
            raise SystemExit("cmake was not found, and the C library is built with it: apt install "
                             "cmake")
        build = ROOT / "build" / "python"
        subprocess.check_call(["cmake", "-S", str(ROOT), "-B", str(build),
                               "-DCMAKE_BUILD_TYPE=Release",
                               "-DSSM2D_TOOL=OFF", "-DSSM2D_TESTS=OFF"])
        subprocess.check_call(["cmake", "--build", str(build), "--target", "ssm2d", "--parallel",
                               str(os.cpu_count() or 1)])
        editable = getattr(self, "editable_mode", False)
        top = ROOT / "python" if editable else pathlib.Path(self.build_lib)
        self.copy_file(str((build / "src" / LIBRARY).resolve()), str(top / "ssm2d" / LIBRARY))


class Wheel(bdist_wheel):
    def get_tag(self):
        return "py3", "none", super().get_tag()[2]  # for one platform, but any Python


class WithLibrary(Distribution):
    def has_ext_modules(self):
        return True  # so that it is installed as what it is: made for one platform


version = re.search(r'#define SSM2D_VERSION +"(.+)"',
                    (ROOT / "include" / "ssm2d.h").read_text()).group(1)
setup(version=version, distclass=WithLibrary,
      cmdclass={"build_py": BuildWithLibrary, "bdist_wheel": Wheel})
