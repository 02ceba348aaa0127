"""Parameters of layers in safetensors files, between PyTorch and C (ssm2d_params_save and
ssm2d_params_load of libssm2d_model, which lies beside the library in a build)."""
import copy
import ctypes
import os
import tempfile
import unittest

import numpy as np

import ssm2d
from ssm2d._library import Error
from tests.support import torch
from tests.test_safetensors import pack, write

LIBRARY = os.path.join(os.path.dirname(os.environ.get("SSM2D_LIBRARY", "")), "libssm2d_model.so")

LAYERS = [("ssm2d", dict(complex="polar", layer_norm=True, directions=4)),
          ("ssm2d", dict(complex="cartesian", c_per_channel=True, skip=False)),
          *[(kind, {}) for kind in ssm2d.kinds]]


@unittest.skipUnless(os.path.exists(LIBRARY), "there is no libssm2d_model.so beside SSM2D_LIBRARY")
@unittest.skipUnless(torch, "PyTorch is not installed")
class Interchange(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "layer.safetensors")
        self.library = ctypes.CDLL(LIBRARY)

    def call(self, name: str, prefix, config, params: np.ndarray) -> str:
        """The line of the error; empty when it went well."""
        error = Error()
        if params.dtype == np.float64:
            name += "_double"
        status = getattr(self.library, name)(
            os.fsencode(self.path), prefix.encode() if prefix else None,
            ctypes.c_void_p(config.address), ctypes.c_void_p(params.ctypes.data),
            ctypes.byref(error))
        return error.line.decode() if status else ""

    def layers(self):
        from ssm2d.torch import Layer
        for kind, options in LAYERS:
            for dtype in (torch.float32, torch.float64):
                torch.manual_seed(5)
                layer = Layer(kind, 12, **options).to(dtype)
                with torch.no_grad():
                    for value in layer.parameters():
                        value.add_(torch.randn_like(value))
                yield layer

    @staticmethod
    def flat(layer) -> np.ndarray:
        return np.concatenate([layer.state_dict()[p.name].numpy().ravel()
                               for p in layer.config.params])

    def test_from_c_to_pytorch(self):
        for layer in self.layers():
            fresh = copy.deepcopy(layer)
            for prefix in (None, "net.3", "blocks.0.mixer"):
                with torch.no_grad():
                    for value in fresh.parameters():
                        value.zero_()
                self.assertEqual(
                    self.call("ssm2d_params_save", prefix, layer.config, self.flat(layer)), "")
                if prefix:
                    fresh.load_mixer(self.path, prefix.removesuffix(".mixer"))
                else:
                    found = ssm2d.load_safetensors(self.path)
                    fresh.load_state_dict({n: torch.from_numpy(a) for n, a in found.items()})
                for name, value in layer.state_dict().items():
                    self.assertTrue(torch.equal(fresh.state_dict()[name], value), name)

    def test_from_pytorch_to_c(self):
        for layer in self.layers():
            for prefix in (None, "net.3"):
                start = f"{prefix}." if prefix else ""
                arrays = {start + n: v.numpy() for n, v in layer.state_dict().items()}
                write(self.path, *pack(arrays))
                loaded = np.zeros_like(self.flat(layer))
                self.assertEqual(self.call("ssm2d_params_load", prefix, layer.config, loaded), "")
                np.testing.assert_array_equal(loaded, self.flat(layer))

    def test_another_configuration_is_refused(self):
        layer = ssm2d.Layer("ssm2d", channels=12)
        flat = np.zeros(layer.config.total)
        self.assertEqual(self.call("ssm2d_params_save", None, layer.config, flat), "")
        other = ssm2d.Config(channels=12, norm="half")
        self.assertIn("norm", self.call("ssm2d_params_load", None, other, flat))
        other = ssm2d.Config("s4nd", channels=12)
        self.assertNotEqual(self.call("ssm2d_params_load", None, other, flat), "")
        again = ssm2d.Config(channels=12, init="authors")  # where it started does not matter
        self.assertEqual(self.call("ssm2d_params_load", None, again, flat), "")
