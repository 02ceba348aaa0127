"""Weights of the paper's published module, against a plain reference that assigns systems to
channels as that does."""
import unittest

import numpy as np

from tests.support import error, naive_causal, naive_kernel, torch

if torch is None:
    raise unittest.SkipTest("torch is not installed")

from ssm2d.torch import SSM2d

FLIPS = {1: [()], 2: [(), (1, 2)], 4: [(), (1,), (2,), (1, 2)]}  # axes of (batch, rows, columns)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def state(directions, n_ssm, channels, states, complex=False, early=False, norm=False) -> dict:
    systems = directions * n_ssm
    rows = systems if early else directions * channels
    pair = (2,) if complex else ()
    shapes = {f"{a}.A_{i}": (systems, states) for a in (("A_angle", "A_radius") if complex
                                                        else ("A",))
              for i in range(1, 5)}
    for i in (1, 2):
        shapes[f"B_{i}"] = systems, states, *pair
        shapes[f"C_{i}"] = rows, states, *pair
    shapes["omega"] = channels,
    if norm:
        shapes["normalization.weight"] = shapes["normalization.bias"] = channels,
    shapes["kernel_raw"] = 2, 3
    return {name: torch.randn(shape, dtype=torch.float64) for name, shape in shapes.items()}


def reference(values: dict, u: np.ndarray, directions: int, early: bool) -> np.ndarray:
    v = {name: value.numpy() for name, value in values.items()}
    if "A.A_1" in v:
        a = sigmoid(np.stack([v[f"A.A_{i}"] for i in range(1, 5)]))
        b, c = sigmoid(np.stack([v["B_1"], v["B_2"]])), np.stack([v["C_1"], v["C_2"]])
    else:
        a = np.stack([sigmoid(v[f"A_radius.A_{i}"])
                      * np.exp(2j * np.pi * sigmoid(v[f"A_angle.A_{i}"]))
                      for i in range(1, 5)])
        b = sigmoid(np.stack([v["B_1"], v["B_2"]])) @ np.array([1, 1j])
        c = np.stack([v["C_1"], v["C_2"]]) @ np.array([1, 1j])
    systems, channels = a.shape[1], u.shape[3]
    n_ssm = systems // directions
    y = v["omega"] * u
    for r, axes in enumerate(FLIPS[directions]):
        for h in range(channels):
            row = r * channels + h
            system = r * n_ssm + h % n_ssm if early else row % systems
            k = naive_kernel(a[:, system], b[:, system], c[:, system if early else row],
                             *u.shape[1:3])
            y[..., h] += np.flip(naive_causal(np.flip(u[..., h], axes), k), axes)
    return y


class Authors(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(2)
        self.u = torch.randn(2, 4, 4, 12, dtype=torch.float64)

    def test_layer_computes_the_published_module(self):
        for directions, complex, early in ((2, False, False), (4, False, False), (2, True, False),
                                           (4, True, False),
                                           (2, False, True), (4, True, True), (1, False, True)):
            with self.subTest(directions=directions, complex=complex, early=early):
                values = state(directions, 2, 12, 3, complex, early)
                layer = SSM2d.from_authors_state_dict(values, directions=directions if early
                                                      else None,
                                                      dtype=torch.float64)
                want = reference(values, self.u.numpy(), directions, early)
                self.assertLess(error(layer(self.u).detach().numpy(), want), 1e-12)
                self.assertEqual(layer.config.c_per_channel, not early)

    def test_prefix_norm_and_settings(self):
        values = {"net.move." + name: value.float()
                  for name, value in state(2, 2, 12, 3, norm=True).items()}
        values["net.other"] = torch.ones(3)
        layer = SSM2d.from_authors_state_dict(values, "net.move.", skip=False, layout="BCHW")
        self.assertEqual(layer.names, ["A", "B", "C", "gamma", "beta"])
        self.assertEqual(layer.layout, "BCHW")
        self.assertTrue(torch.equal(layer.gamma, values["net.move.normalization.weight"]))

    def test_wrong_state_dicts_are_refused(self):
        good = state(2, 2, 12, 3)
        for values, more, part in (
                ({}, {}, "A.A_1"), ({k: v for k, v in good.items() if k != "B_2"}, {},
                                    "B_2 is missing"),
                ({**good, "B_2": torch.ones(4, 2)}, {}, "B_2 has shape (4, 2), expected (4, 3)"),
                ({**good, "head": torch.ones(1)}, {}, "head"),
                (state(2, 2, 12, 3, early=True), {}, "directions: must be given"),
                (good, dict(directions=3), "directions=3"),
                (state(2, 2, 12, 3, True), dict(prefix="x."), "x.")):
            with self.assertRaises(ValueError, msg=part) as caught:
                SSM2d.from_authors_state_dict(values, **more)
            self.assertIn(part, str(caught.exception))
