#!/usr/bin/env python3
"""Times training and inference of plain vision transformers in PyTorch and in this library.

    bench/peers/torch_vit.py --root ROOT --tool build/release/tools/ssm2d [--json] [--quick]
                             [--model vit] [--task train]

debian13.sh makes ROOT; torch_bench.py describes the method. Both sides have fused qkv.

    vit     32x32, patch 4, dim 192, depth 9, 12 heads, MLP 2, no qkv bias, 100 classes
    deit-t  224x224, patch 16, dim 192, depth 12, 3 heads, MLP 4, 1000 classes"""
import torch_bench

MODELS = {"vit": dict(image=32, patch=4, dim=192, depth=9, heads=12, mlp=2, qkv_bias=False,
                      eps=1e-5, classes=100, parameters=2709796),
          "deit-t": dict(image=224, patch=16, dim=192, depth=12, heads=3, mlp=4, qkv_bias=True,
                         eps=1e-6, classes=1000, parameters=5717416)}
CASES = [("vit", "train", 128), ("vit", "infer", 128), ("vit", "infer", 1),
         ("deit-t", "train", 32), ("deit-t", "infer", 32), ("deit-t", "infer", 1)]
GOALS = {("vit", "train", 128): {"float32": 1.75, "bf16": 2},
         ("vit", "infer", 128): {"float32": 1.9}, ("vit", "infer", 1): {"float32": 2.4},
         ("deit-t", "train", 32): {"float32": 1.6, "bf16": 1.8},
         ("deit-t", "infer", 32): {"float32": 1.6}, ("deit-t", "infer", 1): {"float32": 1.5}}


def build(torch, *, attention, image, patch, dim, depth, heads, mlp, qkv_bias, eps, classes, **_):
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(dim, eps=eps), nn.LayerNorm(dim, eps=eps)
            self.qkv, self.proj = nn.Linear(dim, 3 * dim, bias=qkv_bias), nn.Linear(dim, dim)
            self.fc1, self.fc2 = nn.Linear(dim, mlp * dim), nn.Linear(mlp * dim, dim)

        def forward(self, x):
            B, T, _ = x.shape
            qkv = self.qkv(self.norm1(x)).view(B, T, 3, heads, dim // heads)
            q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
            y = torch_bench.attend(torch, attention, q, k, v)
            x = x + self.proj(y.transpose(1, 2).reshape(B, T, dim))
            return x + self.fc2(nn.functional.gelu(self.fc1(self.norm2(x))))

    class ViT(nn.Module):
        def __init__(self):
            super().__init__()
            # of flattened patches, which is a strided convolution
            self.embed = nn.Linear(3 * patch * patch, dim)
            self.cls = nn.Parameter(torch.randn(1, 1, dim) * 0.02)
            self.pos = nn.Parameter(torch.randn(1, 1 + (image // patch) ** 2, dim) * 0.02)
            self.blocks = nn.Sequential(*[Block() for _ in range(depth)])
            self.norm, self.head = nn.LayerNorm(dim, eps=eps), nn.Linear(dim, classes)

        def forward(self, x):
            side = image // patch
            x = x.view(-1, 3, side, patch, side, patch).permute(0, 2, 4, 1, 3, 5)
            x = self.embed(x.reshape(-1, side * side, 3 * patch * patch))
            x = torch.cat((self.cls.expand(x.shape[0], -1, -1), x), 1) + self.pos
            return self.head(self.norm(self.blocks(x)[:, 0]))

    return ViT()


if __name__ == "__main__":
    torch_bench.main(MODELS, build, CASES, GOALS, __doc__.split("\n")[0])
