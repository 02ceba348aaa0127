"""What the tests share: golden cases, and a plain reference of the layer in NumPy loops."""
import json
import os
import pathlib
import struct
import subprocess
import unittest

import numpy as np

import ssm2d

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = pathlib.Path(os.environ.get("SSM2D_GOLDEN") or ROOT / "tests" / "golden")
MODELS = pathlib.Path(os.environ.get("SSM2D_GOLDEN_MODELS") or ROOT / "tests" / "golden-models")

TIMEOUT = 1500  # seconds, of a process that a test starts

# the tool next to the library, and further golden models, if present
TOOL = pathlib.Path(os.environ.get("SSM2D_LIBRARY", "")).resolve().parents[1] / "tools" / "ssm2d"
MORE_MODELS = ROOT.parent / "shared" / "golden-models"

try:
    import torch
except ImportError:
    torch = None
try:
    import torchvision
except ImportError:
    torchvision = None


def options_of(case: dict) -> dict:
    """Options of the layer from a golden case, or from the mixer of a model: those that are spelt
    as the library's, and the golden cases' own keys."""
    options = {name: case[name] for name in ssm2d.options if name in case and name != "channels"}
    if "normalize" in case:
        options["layer_norm"] = case["normalize"]
    if "complex" in case:
        options["complex"] = case["complex_form"] if case["complex"] else False
    if case.get("trunc"):
        options["trunc"] = case["trunc"]
    return options


def golden_cases(*kinds):
    """(name, kind, options, arrays by name) of every case of layers, of these kinds if given; u, y,
    dy and du are (batch, channels, rows, columns)."""
    for folder in sorted(GOLDEN.iterdir()) if GOLDEN.is_dir() else []:
        if not (folder / "case.json").exists():
            continue
        case = json.loads((folder / "case.json").read_text())
        kind = case["kind"]
        if kind not in ssm2d.kinds or kinds and kind not in kinds:
            continue
        arrays = {path.stem: np.load(path) for path in folder.glob("*.npy")}
        options = {name: case[name] for name in ssm2d.kinds[kind].options
                   if case.get(name) is not None}
        if kind == "ssm2d":
            for old, new in (("omega", "D"), ("domega", "dD")):
                if old in arrays:
                    arrays[new] = arrays.pop(old)
            # cases without the key are older than it
            options = {"assign": "authors", **options_of(case), "channels": case["channels"]}
        elif kind == "ema":  # (cells, batch, channels)
            for name in ("u", "y", "dy", "du"):
                arrays[name] = np.moveaxis(arrays[name], 0, 2)[:, :, None, :].copy()
        yield folder.name, kind, options, arrays


def error(x, reference) -> float:
    scale = np.abs(reference).max() or 1
    return float(np.abs(np.asarray(x).reshape(reference.shape) - reference).max() / scale)


def naive_kernel(a, b, c, rows: int, cols: int) -> np.ndarray:
    """Norm `relaxed`, one system: a (4, N), b and c (2, N); cell by cell."""
    h = np.zeros((rows, cols, a.shape[1]), complex)
    v = np.zeros_like(h)
    h[0, 0], v[0, 0] = b
    for i in range(rows):
        for j in range(cols):
            g = 1 if i == 0 or j == 0 else 0.5
            if j:
                h[i, j] = g * (a[0] * h[i, j - 1] + a[1] * v[i, j - 1])
            if i:
                v[i, j] = g * (a[2] * h[i - 1, j] + a[3] * v[i - 1, j])
    return (c[0] * h + c[1] * v).sum(-1).real / np.sqrt(a.shape[1])


def naive_causal(u: np.ndarray, k: np.ndarray) -> np.ndarray:
    """u (batch, rows, cols) with a causal kernel (rows, cols)."""
    y = np.zeros_like(u)
    rows, cols = k.shape
    for p in range(rows):
        for q in range(cols):
            y[:, p:, q:] += k[p, q] * u[:, :rows - p, :cols - q]
    return y


def functional_call():
    """torch's function of that name, in whichever module this version has it."""
    if hasattr(torch, "func"):
        return torch.func.functional_call
    from torch.nn.utils.stateless import functional_call as before_torch_2
    return before_torch_2


def one_thread() -> None:
    """Limits torch to one thread: for tests with small models, where threads cost more than they
    gain."""
    unittest.addModuleCleanup(torch.set_num_threads, torch.get_num_threads())
    torch.set_num_threads(1)


def _start_tool(*arguments, **variables) -> subprocess.CompletedProcess:
    return subprocess.run([TOOL, *map(str, arguments)], capture_output=True, text=True,
                          timeout=TIMEOUT, env=dict(os.environ, **variables))


def run_tool(*arguments, **variables) -> str:
    """The output of the command, run with more environment variables; AssertionError with its
    message if it fails."""
    done = _start_tool(*arguments, **variables)
    assert done.returncode == 0, done.stderr
    return done.stdout


def refused_by_tool(*arguments) -> str:
    """The message of a command that must fail."""
    done = _start_tool(*arguments)
    assert done.returncode in (1, 2), (done.returncode, done.stderr)
    return done.stderr


def write_idx(folder: pathlib.Path, split: str, count: int, rng) -> None:
    """Images of 8 x 12 pixels in four classes, of which one is brighter."""
    labels = np.arange(count, dtype=np.uint8) % 4
    images = rng.integers(0, 130, (count, 8, 12),
                          dtype=np.uint8) + (60 * (labels == 2)).astype(np.uint8)[:, None, None]
    folder.mkdir(exist_ok=True)
    (folder / f"{split}-images-idx3-ubyte").write_bytes(struct.pack(">IIII", 0x803, *images.shape)
                                                        + images.tobytes())
    (folder / f"{split}-labels-idx1-ubyte").write_bytes(struct.pack(">II", 0x801, count)
                                                        + labels.tobytes())


def read_idx(folder: pathlib.Path, split: str) -> tuple:
    """(images, labels)"""
    images = (folder / f"{split}-images-idx3-ubyte").read_bytes()
    labels = (folder / f"{split}-labels-idx1-ubyte").read_bytes()
    return (np.frombuffer(images[16:], np.uint8).reshape(struct.unpack(">III", images[4:16])),
            np.frombuffer(labels[8:], np.uint8))
