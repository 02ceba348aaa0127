"""Twenty steps of training by the tool and by PyTorch, from the same weights, for every family of
models."""
import json
import unittest

import numpy as np

from tests.support import TOOL, error, torch
from tests.test_runs import Folders

if torch is None:
    raise unittest.SkipTest("torch is not installed")
from torch.nn import functional as F

from ssm2d.torch import create_model, load_run, save_run

STEPS, LR = 20, 1e-3


@unittest.skipUnless(TOOL.is_file(), "the ssm2d command is not beside the library")
class Trajectories(Folders):
    def tool(self, model, *options) -> tuple:
        """(losses, the trained model). All images are one batch, so that their order does not
        matter; without weight decay, whose groups are a choice of the caller in PyTorch."""
        start = self.folder / "-".join(("start", *options))
        save_run(model, start, data=f"idx:{self.data}")
        run = self.train("--start", start / "model.safetensors", "--config", start / "config.json",
                         "--epochs", STEPS, "--batch", "64", "--schedule", "constant", "--warmup",
                         "0", "--lr", LR, "--decay", "0", "--smoothing", "0", "--log-every", "1",
                         "--set", "norm_mean=0.5", "--set", "norm_std=0.25", *options,
                         out="-".join(("run", *options)))
        lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
        return [line["loss"] for line in lines if line["kind"] == "step"], load_run(run)

    def pytorch(self, model, bfloat16=False) -> list:
        x, labels = self.batch(model, "train")
        optimizer = torch.optim.AdamW(model.parameters(), lr=LR, weight_decay=0)
        losses = []
        model.train()
        for _ in range(STEPS):
            optimizer.zero_grad()
            with torch.autocast("cpu", torch.bfloat16, enabled=bfloat16):
                logits = model(x)
            loss = F.cross_entropy(logits.float(), labels)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses

    def check(self, name, bound, **settings) -> None:
        """The tool's losses have six digits; `bound` is for the weights in the end."""
        model = create_model(name, classes=4, image_size=(8, 12), channels=1, mean=0.5, std=0.25,
                             backend="torch", **settings)
        before = {key: value.clone() for key, value in model.state_dict().items()}
        losses, trained = self.tool(model)
        want, got = self.pytorch(model), trained.state_dict()
        self.assertEqual(len(losses), STEPS)
        self.assertLess(want[-1], want[0] - 0.05)
        self.assertLess(np.abs(np.array(losses) - want).max(), 1.3e-5)
        moved = 0
        for key, value in model.state_dict().items():
            if value.is_floating_point():
                self.assertLess(error(got[key].numpy(), value.numpy()), bound, key)
                moved += bool((value - before[key]).abs().max() > 1e-3)
        self.assertGreater(moved, 0.9 * len(before))

    def test_bfloat16(self):
        settings = dict(classes=4, image_size=(8, 12), channels=1, mean=0.5, std=0.25,
                        backend="torch", mixer="none", dim=32, heads=2, depth=2)
        model = create_model("vit-mini", **settings)
        start = {key: value.clone() for key, value in model.state_dict().items()}
        losses = [np.array(self.tool(model, "--precision", kind)[0])
                  for kind in ("bf16", "bf16-tiles")]
        autocast = np.array(self.pytorch(model, bfloat16=True))
        model.load_state_dict(start)
        exact = np.array(self.pytorch(model))
        self.assertLess(exact[-1], exact[0] - 0.05)
        for of_kind in losses:
            self.assertGreater(np.abs(of_kind - exact).max(), 1e-5)
            self.assertLess(np.abs(of_kind - exact).max(), 4e-3)
            self.assertLess(np.abs(of_kind - autocast).max(), 5e-3)

    def test_vit(self):
        self.check("vit-mini", 1.3e-5, mixer="ssm2d", dim=32, heads=2, depth=2)

    def test_swin(self):
        # the gradient of the keys' bias is rounding, which AdamW makes as large as any other
        self.check("swin-mini", 5e-4, mixer="ssm2d", dim=[12, 24, 48], heads=[2, 2, 4],
                   depth=[2, 2, 1], window=2)

    def test_mega(self):
        self.check("mega-mini", 3e-5, mixer="ema", dim=24, z=16, v=24, ffn=24, depth=2)

    CONVNEXT = dict(patch=1, dim=[12, 24], depth=[2, 1], layer_scale=0.1)

    def test_convnext(self):
        self.check("convnext-mini", 3e-5, mixer="conv", **self.CONVNEXT)

    def test_convnext_with_the_layer(self):
        self.check("convnext-mini", 3e-5, mixer="ssm2d", **self.CONVNEXT)
