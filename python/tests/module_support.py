"""What the tests of the PyTorch module share."""
import unittest

from tests.support import error, torch

if torch is None:
    raise unittest.SkipTest("torch is not installed")
from ssm2d.torch import SSM2d

VARIANTS = [dict(directions=r, complex=c, norm=n, **more) for r, c, n, more in (
    (1, False, "none", {}), (2, False, "relaxed", {}),
    (4, False, "paper", dict(c_per_channel=True, layer_norm=True)),
    (2, True, "half", dict(share_directions=True, average=True)),
    (4, "cartesian", "relaxed", dict(c_per_channel=True, skip=False)),
    (2, "polar", "paper", dict(pair="columns", trunc=(2, 3))),
    (4, False, "relaxed", dict(share_directions=True, c_per_channel=True)),
    (4, False, "relaxed", dict(assign="distinct")),
    (2, True, "relaxed", dict(assign="distinct", c_per_channel=True)),
    (4, False, "half", dict(assign="distinct", c_per_channel=True)),
    (4, False, "relaxed", dict(assign="distinct", share_directions=True)))]


def make(channels=6, *, dtype=torch.float64, **options) -> SSM2d:
    settings = dict(d_state=3, n_ssm=2, init="authors", seed=5)
    layer = SSM2d(channels, dtype=dtype, **{**settings, **options})
    with torch.no_grad():
        for p in layer.parameters():  # gamma and beta too
            p.add_(0.1 * torch.randn(p.shape, dtype=p.dtype,
                                     generator=torch.Generator().manual_seed(p.numel())))
    return layer


def call(layer, u, dy=None) -> list:
    """[y, du, gradients of the parameters]"""
    u = u.detach().requires_grad_()
    y = layer(u)
    grads = torch.autograd.grad(y, [u, *layer.parameters()], torch.ones_like(y) if dy is None
                                else dy)
    return [y.detach(), *grads]


class Case(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)
        self.u = torch.randn(2, 5, 4, 6, dtype=torch.float64)

    def assertClose(self, found, wanted, most=1e-10):
        self.assertEqual(len(found), len(wanted))
        for x, y in zip(found, wanted):
            self.assertLess(error(x.detach().numpy(), y.detach().numpy()), most)
