#!/usr/bin/env python3
"""Times training and inference of plain Swin transformers in PyTorch and in this library.

    bench/peers/torch_swin.py --root ROOT --tool build/release/tools/ssm2d [--json] [--quick]
                              [--model swin] [--task train]

debian13.sh makes ROOT; torch_bench.py describes the method. In PyTorch, the map is rolled and cut
as in timm, with fused qkv, and one addition for relative bias and mask.

    swin    32x32, patch 2, dim 96,192,384, depth 2,6,4, 3,6,12 heads, MLP 2, window 4, 100 classes
    swin-t  224x224, patch 4, dim 96..768, depth 2,2,6,2, 3..24 heads, MLP 4, window 7, 1000
            classes"""
import torch_bench

MODELS = {"swin": dict(image=32, patch=2, dim=(96, 192, 384), depth=(2, 6, 4), heads=(3, 6, 12),
                       mlp=2, window=4, pos=True, classes=100, parameters=7107838),
          "swin-t": dict(image=224, patch=4, dim=(96, 192, 384, 768), depth=(2, 2, 6, 2),
                         heads=(3, 6, 12, 24), mlp=4, window=7, pos=False, classes=1000,
                         parameters=28288354)}
CASES = [("swin", "train", 128), ("swin", "infer", 128), ("swin", "infer", 1),
         ("swin-t", "train", 16), ("swin-t", "infer", 1)]
GOALS = {("swin", "train", 128): {"float32": 2.0}}


def build(torch, *, attention, image, patch, dim, depth, heads, mlp, window, pos, classes, **_):
    nn = torch.nn

    class Attention(nn.Module):
        """Within windows of a map of side x side tokens."""

        def __init__(self, dim, side, heads, shifted):
            super().__init__()
            self.heads, self.side, self.w = heads, side, min(window, side)
            self.shift = window // 2 if shifted and side > window else 0
            w = self.w
            self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
            self.table = nn.Parameter(torch.randn((2 * w - 1) ** 2, heads) * 0.02)
            cells = torch.stack(torch.meshgrid(torch.arange(w), torch.arange(w), indexing="ij"))
            offsets = cells.flatten(1)[:, :, None] - cells.flatten(1)[:, None, :] + w - 1
            self.register_buffer("index", offsets[0] * (2 * w - 1) + offsets[1])
            self.register_buffer("mask", self.make_mask() if self.shift else None)

        def make_mask(self):
            side, w, s = self.side, self.w, self.shift
            line = torch.zeros(side, dtype=torch.long)
            line[side - w:side - s], line[side - s:] = 1, 2
            region = self.windows((3 * line[:, None] + line[None, :])[None, :, :, None]).flatten(1)
            return (region[:, :, None] != region[:, None, :]).float()[:, None] * -100

        def windows(self, x):
            B, n, w = x.shape[0], self.side // self.w, self.w
            return x.view(B, n, w, n, w, -1).transpose(2, 3).reshape(B * n * n, w * w, -1)

        def forward(self, x):
            B, side, _, dim = x.shape
            n, w, h = side // self.w, self.w, self.heads
            if self.shift:
                x = x.roll((-self.shift, -self.shift), (1, 2))
            qkv = self.qkv(self.windows(x)).view(-1, w * w, 3, h, dim // h)
            q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
            bias = self.table[self.index].permute(2, 0, 1)[None]
            if self.mask is not None:
                bias = bias + self.mask
                if attention == "sdpa":  # is fast only on four axes
                    bias = bias.repeat(B, 1, 1, 1)
                else:
                    q, k, v = (t.unflatten(0, (B, n * n)) for t in (q, k, v))
            y = torch_bench.attend(torch, attention, q, k, v, bias)
            x = self.proj(y.transpose(-3, -2).reshape(-1, w * w, dim))
            x = x.view(B, n, n, w, w, dim).transpose(2, 3).reshape(B, side, side, dim)
            return x.roll((self.shift, self.shift), (1, 2)) if self.shift else x

    class Block(nn.Module):
        def __init__(self, dim, side, heads, shifted):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
            self.attention = Attention(dim, side, heads, shifted)
            self.fc1, self.fc2 = nn.Linear(dim, mlp * dim), nn.Linear(mlp * dim, dim)

        def forward(self, x):
            x = x + self.attention(self.norm1(x))
            return x + self.fc2(nn.functional.gelu(self.fc1(self.norm2(x))))

    class Merge(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.norm, self.reduction = nn.LayerNorm(4 * dim), nn.Linear(4 * dim, 2 * dim, False)

        def forward(self, x):
            B, side, _, dim = x.shape
            x = x.view(B, side // 2, 2, side // 2, 2, dim).permute(0, 1, 3, 4, 2, 5)
            return self.reduction(self.norm(x.flatten(3)))

    class Swin(nn.Module):
        def __init__(self):
            super().__init__()
            side = image // patch
            self.embed, self.norm0 = nn.Linear(3 * patch * patch, dim[0]), nn.LayerNorm(dim[0])
            if pos:
                self.pos = nn.Parameter(torch.randn(1, side, side, dim[0]) * 0.02)
            layers = []
            for stage, (d, blocks, h) in enumerate(zip(dim, depth, heads)):
                if stage:
                    layers.append(Merge(d // 2))
                layers += [Block(d, side >> stage, h, i % 2) for i in range(blocks)]
            self.layers = nn.Sequential(*layers)
            self.norm, self.head = nn.LayerNorm(dim[-1]), nn.Linear(dim[-1], classes)

        def forward(self, x):
            side = image // patch
            x = x.view(-1, 3, side, patch, side, patch).permute(0, 2, 4, 1, 3, 5)
            x = self.norm0(self.embed(x.reshape(-1, side, side, 3 * patch * patch)))
            if pos:
                x = x + self.pos
            return self.head(self.norm(self.layers(x)).mean((1, 2)))

    return Swin()


if __name__ == "__main__":
    torch_bench.main(MODELS, build, CASES, GOALS, __doc__.split("\n")[0])
