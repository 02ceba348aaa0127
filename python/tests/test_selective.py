"""Kinds whose coefficients depend on the input: outputs and gradients on arrays and in modules
against golden cases, and what they refuse."""
import io
import json
import unittest

import numpy as np

import ssm2d
from tests.support import ROOT, error, torch

SELECTIVE = [name for name, kind in ssm2d.kinds.items() if not kind.kernel]
GOLDEN = ROOT / "tests" / "golden-selective"


def golden_cases():
    """(name, layer on arrays, arrays by name); u, y, dy and du are (batch, channels, rows,
    columns)."""
    for folder in sorted(GOLDEN.iterdir()):
        case = json.loads((folder / "case.json").read_text())
        kind = case["kind"]
        if kind not in ssm2d.kinds:
            continue
        arrays = {path.stem: np.load(path) for path in folder.glob("*.npy")}
        for old, new in (("omega", "D"), ("domega", "dD")):
            if old in arrays:
                arrays[new] = arrays.pop(old)
        options = {name: case[name] for name in ssm2d.kinds[kind].options if name in case}
        if kind == "roesser":
            options["transition"] = "tanh"
        yield folder.name, ssm2d.Layer(kind, **options), arrays


class Arrays(unittest.TestCase):
    def test_golden(self):
        seen = set()
        for name, layer, arrays in golden_cases():
            seen.add(layer.config.kind)
            params = {p.name: arrays[p.name] for p in layer.params}
            with self.subTest(case=name):
                y = layer.forward(arrays["u"], params, layout="BCHW")
                self.assertLess(error(y, arrays["y"]), 1e-12)
                du, found = layer.backward(arrays["u"], params, arrays["dy"], layout="BCHW")
                for key, value in {"u": du, **found}.items():
                    self.assertLess(error(value, arrays["d" + key]), 1e-12, key)
        self.assertEqual(seen, set(SELECTIVE))


@unittest.skipUnless(torch, "torch is not installed")
class Modules(unittest.TestCase):
    def test_golden(self):
        from ssm2d.torch import Layer, twins
        for name, layer, arrays in golden_cases():
            kind = layer.config.kind
            for backend in ("library", "torch") if twins.find(kind) else ("library",):
                module = Layer(kind, layout="BCHW", backend=backend, dtype=torch.float64,
                               **layer.config.settings)
                module.load_state_dict({n: torch.from_numpy(arrays[n]) for n in module.names})
                u = torch.from_numpy(arrays["u"]).requires_grad_()
                y = module(u)
                y.backward(torch.from_numpy(arrays["dy"]))
                found = {"du": u.grad, **{"d" + n: p.grad for n, p in module.named_parameters()}}
                with self.subTest(case=name, backend=backend):
                    self.assertLess(error(y.detach(), arrays["y"]), 1e-12)
                    for key, value in found.items():
                        self.assertLess(error(value, arrays[key]), 1e-12, key)

    def test_what_is_refused(self):
        from ssm2d.torch import Layer, twins
        for kind in SELECTIVE:
            layer = Layer(kind, 8, seed=0)
            u = torch.randn(1, 3, 4, 8)
            with self.assertRaisesRegex(ValueError, f"^kind='{kind}': .*no kernel.*; use forward$"):
                layer.kernel(3, 4)
            with self.assertRaisesRegex(ValueError, f"^torch.onnx: kind '{kind}' .*; use torch"):
                torch.onnx.export(layer, (u,), io.BytesIO())
            if not twins.find(kind):
                with self.assertRaisesRegex(ValueError, f"kind '{kind}' .*; use 'library'$"):
                    Layer(kind, 8, backend="torch")
                with self.assertRaisesRegex(ValueError, f"kind '{kind}' .*; move both there$"):
                    layer.to("meta")(u.to("meta"))
