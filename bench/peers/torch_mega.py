#!/usr/bin/env python3
"""Times training and inference of Mega without a mixer in PyTorch and in this library.

    bench/peers/torch_mega.py --root ROOT --tool build/release/tools/ssm2d [--json] [--quick]
                              [--model mega] [--task train]

debian13.sh makes ROOT; torch_bench.py describes the method. In PyTorch, Mega makes as few passes
over memory as possible: one product for all of mx_proj, SiLU of z and r at once, bias and scale of
the scores inside the batched product, and lerp for the gate at the end of a block.

    mega    32x32, patch 4, dim 192, z, v and ffn 192, depth 9, 100 classes
    mega-t  224x224, patch 16, dim 192, z 64, v and ffn 384, depth 12, 1000 classes"""
import math

import torch_bench

MODELS = {"mega": dict(image=32, patch=4, dim=192, depth=9, z=192, v=192, ffn=192, classes=100,
                       parameters=2761435),
          "mega-t": dict(image=224, patch=16, dim=192, depth=12, z=64, v=384, ffn=384,
                         classes=1000, parameters=5912380)}
CASES = [("mega", "train", 128), ("mega", "infer", 128), ("mega", "infer", 1),
         ("mega-t", "train", 32), ("mega-t", "infer", 1)]
GOALS = {("mega", "train", 128): {"float32": 2.0}}


def build(torch, *, attention, image, patch, dim, depth, z, v, ffn, classes, **_):
    nn, functional = torch.nn, torch.nn.functional
    side = image // patch
    tokens = side * side
    # (1 + erf((s - mu) / (sigma sqrt 2))) / 2
    mu, slope = 0.707107, 1 / (0.282095 * math.sqrt(2))

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
            self.v_proj, self.h_proj = nn.Linear(dim, v), nn.Linear(v, dim)
            self.mx_proj = nn.Linear(dim, 2 * dim + z + v)
            self.gamma = nn.Parameter(torch.randn(2, z) * 0.02)
            self.beta = nn.Parameter(torch.zeros(2, z))
            self.bias = nn.Parameter(torch.randn(2 * tokens - 1) * 0.02)
            self.fc1, self.fc2 = nn.Linear(dim, ffn), nn.Linear(ffn, dim)

        def scores(self, q, k):
            # row i: entries tokens - 1 - i to 2 tokens - 2 - i
            bias = ((self.bias - mu) * slope).unfold(0, tokens, 1).flip(0)
            s = torch.baddbmm(bias, q, k.transpose(1, 2), alpha=slope / tokens)
            return torch.erf(s).add_(1).mul_(0.5)

        def forward(self, x):
            n = self.norm1(x)
            value = functional.silu(self.v_proj(n))
            u, zr, h = self.mx_proj(n).split([dim, z + v, dim], -1)
            shared, r = functional.silu(zr).split([z, v], -1)
            q = torch.addcmul(self.beta[0], shared, self.gamma[0])
            k = torch.addcmul(self.beta[1], shared, self.gamma[1])
            a = torch.bmm(self.scores(q, k), value)
            h = functional.silu(h + self.h_proj(a * r))
            x = torch.lerp(x, h, torch.sigmoid(u))
            return x + self.fc2(functional.silu(self.fc1(self.norm2(x))))

    class Mega(nn.Module):
        def __init__(self):
            super().__init__()
            # of flattened patches, which is a strided convolution
            self.embed = nn.Linear(3 * patch * patch, dim)
            self.pos = nn.Parameter(torch.randn(1, tokens, dim) * dim ** -0.5)
            self.blocks = nn.Sequential(*[Block() for _ in range(depth)])
            self.norm, self.out = nn.LayerNorm(dim), nn.Linear(dim, dim)
            self.head = nn.Linear(dim, classes)

        def forward(self, x):
            x = x.view(-1, 3, side, patch, side, patch).permute(0, 2, 4, 1, 3, 5)
            x = self.embed(x.reshape(-1, tokens, 3 * patch * patch)) + self.pos
            x = functional.silu(self.out(self.norm(self.blocks(x))))
            return self.head(x.mean(1))

    return Mega()


if __name__ == "__main__":
    torch_bench.main(MODELS, build, CASES, GOALS, __doc__.split("\n")[0], attentions=[""])
