"""Finds the library of ONNX Runtime: in the package onnxruntime-node of npm, for Linux. It is
installed into a folder of the user, without running any of the scripts of the package."""
import os
import subprocess

PACKAGE = "onnxruntime-node@1.30.0"
LIBRARY = "node_modules/onnxruntime-node/bin/napi-v6/linux/{}/libonnxruntime.so.1"
CACHE = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
FOLDER = os.environ.get("SSM2D_ONNXRUNTIME") or os.path.join(CACHE, "ssm2d-onnxruntime")


def command(folder: str) -> list:
    return ["npm", "install", "--ignore-scripts", "--no-save", "--no-audit", "--no-fund",
            "--prefix", folder, PACKAGE]


def find(folder: str = FOLDER, install: bool = False) -> str:
    """Returns the path of libonnxruntime, which `install` fetches if it is missing. Raises OSError
    if it is not available."""
    kind = {"x86_64": "x64", "aarch64": "arm64"}.get(os.uname().machine, os.uname().machine)
    path = os.path.join(folder, LIBRARY.format(kind))
    if not os.path.exists(path) and install:
        os.makedirs(folder, exist_ok=True)
        try:
            done = subprocess.run(command(folder), stdin=subprocess.DEVNULL, text=True,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=300)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise OSError(f"`{' '.join(command(folder))}`: {error}") from error
        if done.returncode:
            lines = done.stderr.strip().splitlines() or ["no message"]
            raise OSError(f"`{' '.join(command(folder))}` failed: {lines[0]}")
    if not os.path.exists(path):
        raise OSError(f"{path} is missing; it is installed by `{' '.join(command(folder))}`")
    return path
