"""Does what the section ONNX of docs/deploy.md says, as it is written: commands of the tool in a
folder with runs/demo, and the program in Python, for which a module stands in that has the two
functions it calls, on ONNX Runtime's C interface or NumPy."""
import contextlib
import io
import json
import os
import shlex
import struct
import subprocess
import sys
import types

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
    """The indented pieces of the section, as texts."""
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


def run(page: str, tool: str, library) -> None:
    """The working folder has runs/demo, whose images are 8 x 8 and grey."""
    pixels = np.random.default_rng(1).integers(0, 256, (8, 8), "uint8")
    np.save("pixels.npy", pixels[:, :, None])
    write_bmp("pixels.bmp", pixels)
    best = json.loads(subprocess.run([tool, "predict", "runs/demo", "pixels.bmp", "--json"],
                                     check=True, stdout=subprocess.PIPE).stdout)["classes"][0]
    for name in ("demo.onnx", "large.onnx", "features.onnx"):
        if os.path.exists(name):
            os.remove(name)
    InferenceSession.library = library
    sys.modules["onnxruntime"] = types.SimpleNamespace(InferenceSession=InferenceSession)
    commands = programs = 0
    for piece in pieces(page):
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
    assert (commands, programs) == (3, 1), (commands, programs)
    large, features = onnx.load("large.onnx"), onnx.load("features.onnx")
    sizes = [d.dim_value for d in large.graph.input[0].type.tensor_type.shape.dim]
    assert sizes == [1, 1, 48, 64], sizes
    assert [o.name for o in features.graph.output] == ["logits", "features"]
