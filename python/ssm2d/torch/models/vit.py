"""The vision transformer, and DeiT, which is one with other numbers. Names are timm's."""
import torch
from torch import nn

from . import config as configs
from .blocks import Model, Patches, TransformerBlock, attend, join_heads, split_heads

CLS = 1  # tokens before the patches


class Attention(nn.Module):
    def __init__(self, dim: int, heads: int, tokens: int, qkv_bias: bool):
        super().__init__()
        self.heads, self.tokens = heads, tokens
        self.qkv = nn.Linear(dim, 3 * dim, bias=qkv_bias)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        parts = self.qkv(x).split(self.proj.in_features, -1)
        q, k, v = (split_heads(part, self.tokens, self.heads) for part in parts)
        return self.proj(join_heads(attend(q, k, v)))


def drop_rate(config: dict, block: int) -> float:
    """Of stochastic depth in this block."""
    ramp = block / max(config["depth"] - 1, 1) if config["drop_path_ramp"] else 1
    return config["drop_path"] * ramp


def make_block(config: dict, block: int, backend: str) -> TransformerBlock:
    dim, grid = config["dim"], configs.grid(config)
    attention = Attention(dim, config["heads"], CLS + grid[0] * grid[1], config["qkv_bias"])
    return TransformerBlock(config, dim, grid, CLS, attention, drop_rate(config, block), backend)


class VisionTransformer(Model):
    embeddings = "cls_token", "pos_embed"

    def __init__(self, config: dict, backend: str = "auto"):
        super().__init__(config)
        self.backend = backend
        dim, grid = config["dim"], configs.grid(config)
        self.cls_token = nn.Parameter(torch.empty(1, 1, dim))
        if config["pos_embed"]:
            self.pos_embed = nn.Parameter(torch.empty(1, CLS + grid[0] * grid[1], dim))
        self.patch_embed = Patches(config["channels"], dim, config["patch"])
        self.blocks = nn.ModuleList(make_block(config, i, backend)
                                    for i in range(config["depth"]))
        self.norm = nn.LayerNorm(dim, eps=config["norm_eps"])
        self.head = nn.Linear(dim, config["classes"])
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """New initial values, from PyTorch's generator; mixers keep theirs."""
        small = self._config["init"] == "trunc_normal"
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Conv2d)):
                if small:
                    nn.init.trunc_normal_(module.weight, std=0.02)
                else:
                    nn.init.xavier_normal_(module.weight.flatten(1))
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
        if not small and self._config["mixer"] and self._config["mixer"]["place"] == "attn":
            for block in self.blocks:  # q, k are one matrix and v another
                for part in block.attn.qkv.weight.split((2 * self._config["dim"],
                                                         self._config["dim"])):
                    nn.init.xavier_normal_(part)
        fill = nn.init.trunc_normal_ if small else nn.init.normal_
        fill(self.cls_token, std=0.02 if small else 1.0)
        if self._config["pos_embed"]:
            fill(self.pos_embed, std=self._config["pos_scale"])

    @property
    def depth(self) -> int:
        return len(self.blocks)

    def tokens(self, images: torch.Tensor, blocks: int) -> torch.Tensor:
        x = self.patch_embed(images)
        x = torch.cat([self.cls_token.expand(x.shape[0], -1, -1), x], 1)
        if self._config["pos_embed"]:
            x = x + self.pos_embed
        for i in range(blocks):
            x = self.blocks[i](x)
        return x

    def classify(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(self.norm(tokens[:, 0]))

    def grids(self) -> dict:
        return ({"pos_embed": ("grid", CLS, *configs.grid(self._config))}
                if self._config["pos_embed"] else {})
