"""What `ssm2d train` writes, in PyTorch: the same model, built around SSM2d, gives the logits of
`ssm2d run`."""
import json
import pathlib
import tempfile
import unittest

import numpy as np

from tests.support import TOOL, error, options_of, run_tool, torch, write_idx

if torch is None:
    raise unittest.SkipTest("torch is not installed")
from torch.nn import functional as F

import ssm2d
from ssm2d.torch import SSM2d


def vit(x, w: dict, mixers: list, *, place: str, patch: int, heads: int,
        eps: float) -> "torch.Tensor":
    """A vision transformer from arrays with timm's names; mixers stand before a block, or after its
    first norm, on patch tokens."""
    x = F.conv2d(x, w["patch_embed.proj.weight"], w["patch_embed.proj.bias"], stride=patch)
    rows, cols = x.shape[2:]
    x = x.flatten(2).transpose(1, 2)
    batch, dim = len(x), x.shape[2]
    x = torch.cat([w["cls_token"].expand(batch, 1, dim), x], 1) + w["pos_embed"]
    for i, mixer in enumerate(mixers):
        def norm(name, x):
            return F.layer_norm(x, (dim,), w[f"blocks.{i}.{name}.weight"],
                                w[f"blocks.{i}.{name}.bias"], eps)

        def linear(name, x):
            return F.linear(x, w[f"blocks.{i}.{name}.weight"], w.get(f"blocks.{i}.{name}.bias"))

        def mix(here, x):
            if here != place:
                return x
            grid = mixer(x[:, 1:].reshape(batch, rows, cols, dim)).reshape(batch, rows * cols, dim)
            return torch.cat([x[:, :1], grid], 1)

        x = mix("block", x)
        y = mix("attn", norm("norm1", x))
        qkv = linear("attn.qkv", y).view(batch, -1, 3, heads, dim // heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        y = (q @ k.transpose(-2, -1) * (dim // heads) ** -0.5).softmax(-1) @ v
        x = x + linear("attn.proj", y.transpose(1, 2).reshape(x.shape))
        x = x + linear("mlp.fc2", F.gelu(linear("mlp.fc1", norm("norm2", x))))
    x = F.layer_norm(x[:, 0], (dim,), w["norm.weight"], w["norm.bias"], eps)
    return F.linear(x, w["head.weight"], w["head.bias"])


@unittest.skipUnless(TOOL.is_file(), "the ssm2d command is not beside the library")
class Trained(unittest.TestCase):
    def train(self, folder: pathlib.Path, *options: str) -> pathlib.Path:
        data, run = folder / "data", folder / "run"
        rng = np.random.default_rng(0)
        write_idx(data, "train", 64, rng)
        write_idx(data, "t10k", 16, rng)
        run_tool("train", "--data", data, "--epochs", "2", "--batch", "16", "--lr", "0.01",
                  "--set", "dim=24", "--set",
                  "depth=2", "--set", "heads=3", *options, "--out", run)
        return run

    def test_logits(self):
        for options in ([], ["--set", "mixer.complex=true", "--set", "mixer.layer_norm=true"],
                        ["--set", "mixer.directions=2", "--set", "mixer.place=attn"]):
            with self.subTest(options=options), tempfile.TemporaryDirectory() as name:
                run = self.train(pathlib.Path(name), *options)
                config = json.loads((run / "config.json").read_text())
                arrays = ssm2d.load_safetensors(run / "model.safetensors")
                mixers = [SSM2d(config["dim"], **options_of(config["mixer"]))
                          .load_mixer(run / "model.safetensors", f"blocks.{i}")
                          for i in range(config["depth"])]
                x = np.random.default_rng(1).standard_normal((3, config["channels"],
                                                              *config["image"])).astype(np.float32)
                np.save(run / "x.npy", x)
                run_tool("run", "--config", run / "config.json", "--weights",
                          run / "model.safetensors", "--input",
                          run / "x.npy", "--out", run / "logits.npy")
                weights = {key: torch.from_numpy(value) for key, value in arrays.items()}
                with torch.no_grad():
                    logits = vit(torch.from_numpy(x), weights, mixers,
                                 place=config["mixer"]["place"], patch=config["patch"],
                                 heads=config["heads"], eps=config["norm_eps"])
                self.assertLess(error(logits.numpy(), np.load(run / "logits.npy")), 1e-5)
