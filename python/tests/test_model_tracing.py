"""Whole models traced, scripted and exported: right, or refused by name."""
import os
import subprocess
import sys
import tempfile
import unittest
import warnings

import numpy as np

from tests import onnx_numpy
from tests.support import MODELS, TIMEOUT, error, one_thread, torch

if torch is None:
    raise unittest.SkipTest("torch is not installed")
try:
    import onnx
except ImportError:
    onnx = None

from ssm2d.torch import create_model, load_model

setUpModule = one_thread
BOTH = ["library", "torch"]
ODD = dict(classes=5, image_size=(14, 22), dim=[12, 24], heads=[2, 3], depth=[2, 2], window=3)


def golden_models():
    """(name, backend, model, images): one of each kind, and two that golden models do not have."""
    for name, backends in (("03_vit_rect", ["torch"]), ("04_deit", ["torch"]),
                           ("06_vit_ssm2d_polar", BOTH),
                           ("08_vit_ssm2d_ffn", ["library"]), ("09_vit_s4nd", BOTH),
                           ("10_vit_ema", BOTH), ("13_swin_ssm2d", ["library"]),
                           ("15_mega_ema", ["torch"]), ("17_mega_softmax", ["torch"]),
                           ("18_swin_rect", ["torch"])):
        folder = MODELS / name
        for backend in backends:
            yield (name, backend, load_model(folder / "config.json",
                                             folder / "weights.safetensors", backend=backend),
                   torch.from_numpy(np.load(folder / "x.npy")))
    torch.manual_seed(0)
    yield ("padded swin", "torch", create_model("swin-mini", mixer=None, **ODD).eval(),
           torch.randn(3, 3, 14, 22))
    lra = create_model("mega-lra", image_size=(4, 6), dim=12, depth=1, backend="torch").eval()
    with torch.no_grad():
        lra.final_norm.norm.running_var.uniform_(0.5, 2)
    yield "batch norm", "torch", lra, torch.randn(3, 1, 4, 6)


def quietly(call, *arguments, **options):
    """Without the warnings that a trace may be wrong: there are none."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", torch.jit.TracerWarning)
        return call(*arguments, **options)


class Tracing(unittest.TestCase):
    def test_traces(self):
        for name, backend, model, x in golden_models():
            with self.subTest(model=name, backend=backend):
                recorded = quietly(torch.jit.trace, model, x[:1], check_trace=False)
                # without the optimisations that take longer than the model
                with torch.no_grad(), torch.jit.optimized_execution(False):
                    for batch in (x, x[:1]):  # another number of images is followed
                        self.assertLess(error(recorded(batch).numpy(), model(batch).numpy()), 1e-5)
                    for p in recorded.parameters():  # so are other weights
                        p.mul_(1.1)
                    for own, other in zip(model.parameters(), recorded.parameters()):
                        own.copy_(other)
                    self.assertLess(error(recorded(x).numpy(), model(x).numpy()), 1e-5)

    def test_gradients_of_a_trace(self):
        folder = MODELS / "05_vit_ssm2d_attn"
        for backend in ("library", "torch"):
            model = load_model(folder / "config.json", folder / "weights.safetensors",
                               backend=backend)
            x = torch.from_numpy(np.load(folder / "x.npy"))
            recorded = torch.jit.trace(model, x, check_trace=False)
            model(x).square().sum().backward()
            wanted = {name: p.grad.clone() for name, p in model.named_parameters()}
            model.zero_grad()
            with torch.jit.optimized_execution(False):
                recorded(x).square().sum().backward()
            for name, p in recorded.named_parameters():
                self.assertLess(error(p.grad.numpy(), wanted[name].numpy()), 1e-4, name)

    def test_saved_trace(self):
        """With backend="torch" it runs without this package."""
        model = create_model("vit-mini", mixer="ssm2d", depth=1, image_size=8,
                             backend="torch").eval()
        x = torch.randn(2, 3, 8, 8)
        with tempfile.TemporaryDirectory() as folder, torch.no_grad():
            torch.jit.trace(model, x, check_trace=False).save(os.path.join(folder, "m.pt"))
            np.save(os.path.join(folder, "x.npy"), x.numpy())
            np.save(os.path.join(folder, "y.npy"), model(x).numpy())
            code = ("import sys, numpy as np, torch\n"
                    "m = torch.jit.load('m.pt')\n"
                    "with torch.jit.optimized_execution(False):\n"
                    "    y = m(torch.from_numpy(np.load('x.npy')))\n"
                    "assert abs(y.detach().numpy() - np.load('y.npy')).max() < 1e-5\n"
                    "assert 'ssm2d' not in sys.modules")
            subprocess.run([sys.executable, "-c", code], check=True, cwd=folder,
                           timeout=TIMEOUT)

    def test_script_is_refused(self):
        for name, mixer in (("vit-mini", None), ("swin-mini", "ssm2d"), ("mega-mini", "ema")):
            model = create_model(name, mixer=mixer, image_size=8)
            with self.assertRaisesRegex(RuntimeError, f"{type(model).__name__}: torch.jit.script "
                                        "cannot compile the model; use torch.jit.trace"):
                torch.jit.script(model)


@unittest.skipUnless(onnx, "onnx (python3-onnx in Debian) is not installed")
class Exporting(unittest.TestCase):
    def test_numbers(self):
        """The exported values: only ONNX's own operators, and any number of images."""
        for name, backend, model, x in golden_models():
            if backend == "library" and "swin" not in name:
                continue  # the same in an export
            with self.subTest(model=name, backend=backend), \
                    tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "model.onnx")
                quietly(torch.onnx.export, model, x[:1], path, opset_version=13,
                        input_names=["images"], dynamic_axes={"images": {0: "batch"}})
                self.assertEqual({n.domain for n in onnx.load(path).graph.node}, {""})
                with torch.no_grad():
                    for batch in (x, x[:1]):
                        self.assertLess(error(onnx_numpy.run(path, batch.numpy()),
                                              model(batch).numpy()), 1e-5)
