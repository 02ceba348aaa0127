"""Runs the section ONNX of docs/deploy.md as it is written: commands of the tool in a
folder with runs/demo, and the Python program with a replacement of the module onnxruntime, which
has the two functions it calls, on ONNX Runtime's C interface or NumPy."""
import contextlib
import io
import json
import os
import shlex
import struct
import subprocess
import sys
import types

import numpy
import numpy as np
import onnx
import onnx_numpy
from onnxruntime_session import Session


class InferenceSession:
    library = None

    def __init__(self, path: str):
        self.path, self.model = path, onnx.load(path)

    def get_modelmeta(self):
        notes = {p.key: p.value for p in self.model.metadata_props}
        return types.SimpleNamespace(custom_metadata_map=notes)

    def run(self, names, inputs):
        outputs = onnx_numpy.evaluate(self.model, inputs)
        if self.library:
            given = {k: np.ascontiguousarray(v, "float32") for k, v in inputs.items()}
            outputs = {name: np.zeros(array.shape, "float32") for name, array in outputs.items()}
            Session(self.library, self.path, given, outputs, 1, False).run()
        return [outputs[name] for name in names]


def pieces(page: str):
    """The indented blocks of the section, as strings."""
    section = open(page).read().split("\n## ONNX\n")[1].split("\n## ")[0]
    lines = []
    for line in section.splitlines() + ["end"]:
        if line.startswith("    ") or (lines and not line):
            lines.append(line[4:])
        elif lines:
            yield "\n".join(lines).strip()
            lines = []


def write_bmp(path: str, pixels: np.ndarray) -> None:
    """pixels: (rows, cols), grey."""
    rows, cols = pixels.shape
    row = np.repeat(pixels[::-1, :, None], 3, 2).reshape(rows, -1)
    body = np.pad(row, ((0, 0), (0, -row.shape[1] % 4))).tobytes()
    head = struct.pack("<IiiHHIIiiII", 40, cols, rows, 1, 24, 0, len(body), 0, 0, 0, 0)
    with open(path, "wb") as file:
        file.write(b"BM" + struct.pack("<IHHI", 54 + len(body), 0, 0, 54) + head + body)


def check_prepare(piece: str, tool: str) -> None:
    """Photos of several shapes, prepared by the piece: the tool predicts the same of them, at
    several crops and with both filters."""
    try:
        import PIL  # noqa: F401
    except ImportError:
        print("SKIPPED: export_values: preparing images, as python3-pil is not installed")
        return
    names = {"numpy": numpy}
    exec(compile(piece, "prepare", "exec"), names)
    settings = json.load(open("runs/demo/train.json"))
    random = np.random.default_rng(2)
    for crop, kind in ((0, "bilinear"), (1, "bicubic"), (0.875, "bilinear"), (0.7, "bicubic")):
        with open("runs/demo/train.json", "w") as file:
            json.dump({**settings, "eval_crop": crop, "interpolation": kind}, file)
        subprocess.run([tool, "export", "runs/demo", "-o", "crop.onnx", "--force"], check=True,
                       stdout=subprocess.DEVNULL)
        model = InferenceSession("crop.onnx")
        notes = model.get_modelmeta().custom_metadata_map
        words = notes["preparation"]
        assert ("cut" in words) == (crop > 0) and "8 bits" in words, words
        mean, std = (np.array(json.loads(notes[key]), "float32") for key in ("mean", "std"))
        for shape in ((8, 8), (9, 8), (8, 11), (31, 12), (13, 40), (5, 6)):
            write_bmp("photo.bmp", random.integers(0, 256, shape, "uint8"))
            pixels = names["prepare"]("photo.bmp", notes) / np.float32(255)
            logits, = model.run(["logits"], {"images": ((pixels - mean) / std).transpose(
                2, 0, 1)[None].astype("float32")})
            said = json.loads(subprocess.run(
                [tool, "predict", "runs/demo", "photo.bmp", "--weights", "last", "--json"],
                check=True, stdout=subprocess.PIPE).stdout)["classes"]
            said = {one["name"]: one["probability"] for one in said}
            likely = np.exp(logits[0] - logits[0].max())
            likely /= likely.sum()
            named = dict(zip(json.loads(notes["classes"]), likely))
            for name, one in said.items():
                assert abs(named[name] - one) < 1e-4, (crop, kind, shape, said, named)
    with open("runs/demo/train.json", "w") as file:
        json.dump(settings, file)


def run(page: str, tool: str, library) -> None:
    """The working folder has runs/demo, whose images are 8 x 8 and grey."""
    pixels = np.random.default_rng(1).integers(0, 256, (8, 8), "uint8")
    np.save("pixels.npy", pixels[:, :, None])
    write_bmp("pixels.bmp", pixels)
    best = json.loads(subprocess.run(
        [tool, "predict", "runs/demo", "pixels.bmp", "--weights", "last", "--json"],
        check=True, stdout=subprocess.PIPE).stdout)["classes"][0]
    for name in ("demo.onnx", "large.onnx", "features.onnx"):
        if os.path.exists(name):
            os.remove(name)
    InferenceSession.library = library
    sys.modules["onnxruntime"] = types.SimpleNamespace(InferenceSession=InferenceSession)
    commands = programs = 0
    for piece in pieces(page):
        if piece.startswith("from PIL "):
            check_prepare(piece, tool)
            programs += 1
            continue
        if not piece.startswith("ssm2d "):
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                exec(compile(piece, page, "exec"), {})
            assert said.getvalue().strip() == best["name"], (said.getvalue(), best)
            programs += 1
            continue
        for line in piece.splitlines():
            subprocess.run([tool, *shlex.split(line)[1:]], check=True, stdout=subprocess.DEVNULL)
            commands += 1
    assert (commands, programs) == (3, 2), (commands, programs)
    large, features = onnx.load("large.onnx"), onnx.load("features.onnx")
    sizes = [d.dim_value for d in large.graph.input[0].type.tensor_type.shape.dim]
    assert sizes == [1, 1, 48, 64], sizes
    assert [o.name for o in features.graph.output] == ["logits", "features"]
