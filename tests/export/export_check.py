"""Runs the files of `ssm2d export`, and compares the results with the tool's own.

    export_check.py TOOL TEST_EXPORT MODEL_VALUES MAKE_SMALL_DATA

Every file goes through ONNX's own checker and shape inference, and is computed in NumPy
(python/tests/onnx_numpy.py) and in ONNX Runtime, where npm can install it (SKIPPED otherwise)."""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import shape_inference

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path[:0] = [os.path.join(ROOT, "python", "tests"), os.path.join(ROOT, "bench", "peers")]
import documented  # noqa: E402
import onnx_numpy  # noqa: E402
import onnxruntime_library  # noqa: E402
from models import CASES  # noqa: E402
from onnxruntime_session import Session  # noqa: E402

TOOL, TEST_EXPORT, MODEL_VALUES, MAKE_SMALL_DATA = map(os.path.abspath, sys.argv[1:])
GOLDEN = os.path.join(ROOT, "tests", "golden-models")
TOLERANCE = 1e-4  # of logits of the size of one
runtime = None


def call(*words: str, **variables: str) -> str:
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, env=dict(os.environ, **variables))
    assert done.returncode == 0, f"{' '.join(words)}: {done.stderr or done.stdout}"
    return done.stdout


# ---- one file ------------------------------------------------------------------------------------

def shape_of(value) -> list:
    return [d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim]


def load(path: str):
    """The model, after the checks that do not run it."""
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    inferred = shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
    for said, found in zip(model.graph.output, inferred.graph.output):
        assert shape_of(said) == shape_of(found), f"{path}: {shape_of(said)}, {shape_of(found)}"
    known = {v.name for v in inferred.graph.value_info}
    for node in model.graph.node:
        assert not node.domain and node.op_type != "Constant", node
        assert known.issuperset(set(node.output) - {o.name for o in model.graph.output}), node
    opset, = model.opset_import
    assert (opset.domain, opset.version, model.ir_version) == ("", 17, 8)
    return model


def compare(what: str, found: np.ndarray, expected: np.ndarray, tolerance: float) -> None:
    assert found.shape == expected.shape, f"{what}: {found.shape} instead of {expected.shape}"
    assert np.isfinite(expected).all() and np.abs(expected).max() > 0, what
    worst = np.abs(found - expected).max() / max(1, np.abs(expected).max())
    assert worst < tolerance, f"{what}: differs by {worst:.1e}"


def check(path: str, inputs: dict, expected: dict, tolerance: float = TOLERANCE):
    model = load(path)
    for name, array in onnx_numpy.evaluate(model, inputs).items():
        compare(f"{path}, {name} in NumPy", array, expected[name], tolerance)
    if runtime:
        given = {name: np.ascontiguousarray(array, "float32") for name, array in inputs.items()}
        outputs = {name: np.zeros(array.shape, "float32") for name, array in expected.items()}
        Session(runtime, path, given, outputs, 1, False).run()
        for name, array in outputs.items():
            compare(f"{path}, {name} in ONNX Runtime", array, expected[name], tolerance)
    return model


# ---- operators -----------------------------------------------------------------------------------

def check_operators() -> None:
    call(TEST_EXPORT, ".")
    files = sorted(name for name in os.listdir(".") if name.endswith(".onnx"))
    assert len(files) > 100, files
    for name in files:
        stem = name[:-len("onnx")]
        inputs = {other[len(stem + "in."):-len(".npy")]: np.load(other) for other in os.listdir(".")
                  if other.startswith(stem + "in.")}
        check(name, inputs, {"out": np.load(stem + "out.npy")}, 2e-5)


# ---- models --------------------------------------------------------------------------------------

def run_tool(config: str, weights: str, images: np.ndarray) -> np.ndarray:
    np.save("x.npy", images)
    call(TOOL, "run", "--config", config, "--weights", weights, "--input", "x.npy", "--out",
         "y.npy", "--threads", "1")
    return np.load("y.npy")


def tokens_of(config: str, weights: str, block: int, images: np.ndarray) -> np.ndarray:
    np.save("x.npy", images)
    call(MODEL_VALUES, "tokens", config, weights, str(block), "x.npy", "t.npy")
    return np.load("t.npy")


def export(config: str, weights: str, *words: str) -> str:
    call(TOOL, "export", "--config", config, "--weights", weights, "-o", "model.onnx", "--force",
         "--threads", "1", *words)
    return "model.onnx"


def images_for(config: dict, batch: int, seed: int = 3) -> np.ndarray:
    """Each of its own brightness and contrast, so that means over all tokens differ."""
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal((batch, config["channels"], *config["image"]))
    contrast, light = rng.uniform(0.3, 2, (batch, 1, 1, 1)), rng.uniform(-1, 1, (batch, 1, 1, 1))
    return (contrast * noise + light).astype("float32")


def check_golden() -> None:
    for name in sorted(os.listdir(GOLDEN)):
        folder = os.path.join(GOLDEN, name)
        if not os.path.isdir(folder):
            continue
        config, weights = (os.path.join(folder, file) for file in ("config.json",
                                                                   "weights.safetensors"))
        images = np.load(os.path.join(folder, "x.npy")).astype("float32")
        logits = np.load(os.path.join(folder, "logits.npy")).astype("float32")
        model = check(export(config, weights), {"images": images}, {"logits": logits}, 1e-5)
        assert model.graph.name == json.load(open(config))["model"]


def check_models() -> None:
    for i, (name, config) in enumerate(CASES):
        try:
            json.dump(config, open("config.json", "w"))
            call(MODEL_VALUES, "weights", "config.json", "weights.safetensors", str(i))
            path = export("config.json", "weights.safetensors")
            images = images_for(config, 3)
            logits = run_tool("config.json", "weights.safetensors", images)
            assert logits.std(0).max() > 1e-3, f"logits do not depend on the images: {logits}"
            check(path, {"images": images}, {"logits": logits})
            check(path, {"images": images[1:2]}, {"logits": logits[1:2]})
        except AssertionError as error:
            raise AssertionError(f"model {name}: {error}") from error


def depth_of(config: dict) -> int:
    return sum(config["depth"]) if isinstance(config["depth"], list) else config["depth"]


def check_features() -> None:
    """The tokens after each block, beside the logits; what both need is computed once."""
    seen = set()
    for name, config in CASES:
        if config["model"] in seen:
            continue
        seen.add(config["model"])
        json.dump(config, open("config.json", "w"))
        call(MODEL_VALUES, "weights", "config.json", "weights.safetensors", "5")
        images = images_for(config, 2)
        logits = run_tool("config.json", "weights.safetensors", images)
        alone = len(load(export("config.json", "weights.safetensors")).graph.node)
        for block in range(1, depth_of(config) + 1):
            path = export("config.json", "weights.safetensors", "--features", str(block), "--batch",
                          "2")
            tokens = tokens_of("config.json", "weights.safetensors", block, images)
            model = check(path, {"images": images}, {"logits": logits, "features": tokens})
            assert [shape_of(o) for o in model.graph.output] == [list(logits.shape),
                                                                 list(tokens.shape)]
            # only ViT's last block is different for logits, which need CLS alone
            more = len(model.graph.node) - alone
            last = block == depth_of(config) and ("vit" in name or "deit" in name)
            assert 0 < more < 30 if last else more == 0, (name, block, more)


def check_refused() -> None:
    """Finite parameters whose kernel is not finite are refused."""
    config = dict(CASES)["vit, real"]
    json.dump(config, open("config.json", "w"))
    call(MODEL_VALUES, "weights", "config.json", "weights.safetensors", "1")
    file = bytearray(open("weights.safetensors", "rb").read())
    header = int.from_bytes(file[:8], "little")
    first, end = json.loads(file[8:8 + header])["blocks.1.mixer.C"]["data_offsets"]
    file[8 + header + first:8 + header + end] = np.full((end - first) // 4, 3e38, "<f4").tobytes()
    open("weights.safetensors", "wb").write(file)
    done = subprocess.run([TOOL, "export", "--config", "config.json", "--weights",
                           "weights.safetensors", "-o", "model.onnx"], stderr=subprocess.PIPE,
                          text=True)
    assert done.returncode == 1, done
    assert "blocks.1.mixer.kernel: the kernel contains" in done.stderr, done
    assert not os.path.exists("model.onnx")


# ---- a run ---------------------------------------------------------------------------------------

def metadata_of(model) -> dict:
    return {p.key: p.value for p in model.metadata_props}


def check_run() -> None:
    os.mkdir("data")
    call(MAKE_SMALL_DATA, "data", "48", "8")
    call(TOOL, "train", "--data", "data", "--out", "runs/demo", "--batch", "8", "--epochs", "2",
         "--set", "dim=16", "--set", "depth=2", "--set", "heads=2", "--set", "patch=2", "--mixer",
         "ssm2d", "--threads", "1")
    files = "runs/demo/config.json", "runs/demo/model.safetensors"
    config = json.load(open(files[0]))
    config["image"] = [config["image"]] * 2 if isinstance(config["image"], int) else config["image"]
    images = images_for(config, 4)
    said = call(TOOL, "export", "runs/demo", "-o", "demo.onnx")
    assert said.startswith("demo.onnx: ") and "any number of images of 8 x 8" in said, said
    model = check("demo.onnx", {"images": images}, {"logits": run_tool(*files, images)})

    call(TOOL, "train", "--data", "data", "--out", "runs/bce", "--batch", "8", "--epochs", "1",
         "--loss", "bce", "--set", "dim=16", "--set", "depth=1", "--set", "heads=2", "--set",
         "patch=2", "--threads", "1")
    call(TOOL, "export", "runs/bce", "-o", "bce.onnx")
    assert metadata_of(onnx.load("bce.onnx"))["probabilities"] == "sigmoid"

    # metadata: what data.json and train.json say
    notes, data = metadata_of(model), json.load(open("runs/demo/data.json"))
    channels = config["channels"]
    settings = json.load(open("runs/demo/train.json"))
    assert json.loads(notes["classes"]) == data["classes"]
    assert notes["labels"] == "class" and notes["image_size"] == "8x8"
    assert notes["probabilities"] == "softmax"
    assert np.allclose(json.loads(notes["mean"]), data["mean"][:channels], 1e-6)
    assert np.allclose(json.loads(notes["std"]), data["std"][:channels], 1e-6)
    assert notes["interpolation"] == settings["interpolation"]
    assert float(notes["eval_crop"]) == settings["eval_crop"]
    assert notes["channels"] == str(channels) and notes["model"] == config["model"]
    assert notes["mixer"].startswith("ssm2d (") and json.loads(notes["config"])["dim"] == 16
    assert call(TOOL, "version").split()[1] == notes["ssm2d_version"] == model.producer_version
    weights = {t.name: onnx.numpy_helper.to_array(t) for t in model.graph.initializer}
    assert weights["blocks.0.attn.qkv.weight"].shape == (48, 16)
    assert weights["patch_embed.proj.weight"].shape == (16, channels, 2, 2)
    assert weights["blocks.1.mixer.kernel"].shape == (16, 1, 7, 7)

    # 8-bit factors: rounding at a half may differ by one step, which is not seen in most logits.
    # Models in bfloat16 are computed in float32 by the baseline, whatever the processor.
    for kind in ("int8", "bf16"):
        call(TOOL, "quantize", "runs/demo", "-o", f"{kind}.ssm2d", "--type", kind)
        call(TOOL, "export", f"{kind}.ssm2d", "-o", f"{kind}.onnx")
        call(TOOL, "run", "--weights", f"{kind}.ssm2d", "--input", "x.npy", "--out", "y.npy",
             "--threads", "1", SSM2D_CPU="baseline")
        expected = np.load("y.npy")
        model = check(f"{kind}.onnx", {"images": images}, {"logits": expected},
                      0.01 if kind == "int8" else TOLERANCE)
        types = [n.op_type for n in model.graph.node]
        linear = 2 * 4 + 2  # of blocks; patches and head
        assert types.count("QuantizeLinear") == (linear if kind == "int8" else 0), types
        assert (np.abs(expected - run_tool(*files, images)).max() > 0), kind

    # the best epoch, and another image size with its position embedding interpolated
    call(TOOL, "export", "runs/demo", "-o", "best.onnx", "--weights", "best")
    best = run_tool(files[0], "runs/demo/best.safetensors", images)
    check("best.onnx", {"images": images}, {"logits": best})
    call(TOOL, "export", "runs/demo", "-o", "wide.onnx", "--image-size", "10x14", "--batch", "4")
    config["image"] = [10, 14]
    json.dump(config, open("wide.json", "w"))
    images = images_for(config, 4)
    expected = {"logits": run_tool("wide.json", files[1], images)}
    model = check("wide.onnx", {"images": images}, expected)
    assert shape_of(model.graph.input[0]) == [4, channels, 10, 14]
    assert metadata_of(model)["image_size"] == "10x14"
    call(TOOL, "export", "--config", *files[:1], "--weights", files[1], "-o", "wide2.onnx",
         "--image-size", "10x14", "--batch", "4")
    model = check("wide2.onnx", {"images": images}, expected)
    assert "mean" not in metadata_of(model) and metadata_of(model)["image_size"] == "10x14"


def check_docs() -> None:
    """The section ONNX of docs/deploy.md, as it is written."""
    documented.run(os.path.join(ROOT, "docs", "deploy.md"), TOOL, runtime)


def main() -> None:
    global runtime
    try:
        runtime = onnxruntime_library.find(install=True)
    except OSError as error:
        print(f"SKIPPED: export_values: ONNX Runtime is not available: {error}")
    parts = [check_operators, check_golden, check_models, check_features, check_refused,
             check_run]
    # in memory: each file is synced to the disk otherwise, which takes most of the time
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        for part in parts:
            os.makedirs(os.path.join(folder, part.__name__))
            os.chdir(os.path.join(folder, part.__name__))
            part()
            print(f"{part.__name__}: passed", flush=True)
        os.chdir(os.path.join(folder, "check_run"))
        check_docs()
        print("check_docs: passed")
        os.chdir("/")


if __name__ == "__main__":
    main()
