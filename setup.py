"""Builds the C library with CMake and puts it into the package; everything else is in
pyproject.toml. With SSM2D_LIBRARY=system in the environment the package has no library of its own,
as for distributions, which have a package of the library."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # before setuptools 70.1
    from wheel.bdist_wheel import bdist_wheel

ROOT = pathlib.Path(__file__).resolve().parent
LIBRARY = "libssm2d.dylib" if sys.platform == "darwin" else "libssm2d.so"
WITH_LIBRARY = os.environ.get("SSM2D_LIBRARY") != "system"


class BuildWithLibrary(build_py):
    def run(self):
        super().run()
        if not WITH_LIBRARY:
            return
        if not shutil.which("cmake"):
            raise SystemExit("cmake was not found, and the C library is built with it: apt install "
                             "cmake gcc make, or pip install cmake")
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
        platform = super().get_tag()[2]
        return "py3", "none", platform  # of one platform if it has the library, but for any Python


class WithLibrary(Distribution):
    def has_ext_modules(self):
        return WITH_LIBRARY  # so that it is installed as what it is: made for one platform


version = re.search(r"^project\(ssm2d VERSION ([0-9.]+)",
                    (ROOT / "CMakeLists.txt").read_text(), re.M).group(1)
setup(version=version, distclass=WithLibrary,
      cmdclass={"build_py": BuildWithLibrary, "bdist_wheel": Wheel})
