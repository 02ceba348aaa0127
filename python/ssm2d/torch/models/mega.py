"""Mega (moving average equipped gated attention) on the patches of images. Names are those of the
authors' code."""
import torch
from torch import nn
from torch.nn import functional as F

from . import config as configs
from .blocks import Mixing, Model, Patches, drop_path, fill_as_torch

MEAN, DEVIATION = 0.707107, 0.282095  # of the laplace attention function, as the authors have them


class BatchNorm(nn.Module):
    """Normalises each channel over all tokens of a batch. As nn.BatchNorm1d, without the count of
    batches, which files of ours do not have and nobody reads."""

    is_norm = True

    def __init__(self, dim: int, eps: float):
        super().__init__()
        self.eps = eps
        self.weight, self.bias = nn.Parameter(torch.ones(dim)), nn.Parameter(torch.zeros(dim))
        self.register_buffer("running_mean", torch.zeros(dim))
        self.register_buffer("running_var", torch.ones(dim))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = F.batch_norm(x.flatten(0, 1), self.running_mean, self.running_var, self.weight,
                         self.bias, self.training, 0.1, self.eps)
        return y.reshape(-1, *x.shape[1:])


class Norm(nn.Module):
    def __init__(self, config: dict):
        super().__init__()
        kind = BatchNorm if config["norm"] == "batch" else nn.LayerNorm
        self.norm = kind(config["dim"], eps=config["norm_eps"])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(x)


class RelativeBias(nn.Module):
    """The score of query i and key j gets entry P-1 + j-i of 2P-1."""

    offsets = "rel_pos_bias",

    def __init__(self, tokens: int, positions: int):
        super().__init__()
        self.tokens = tokens
        self.rel_pos_bias = nn.Parameter(torch.empty(2 * positions - 1))
        self.center = positions - 1
        self.register_buffer("position", torch.arange(tokens), persistent=False)

    def forward(self) -> torch.Tensor:
        pairs = self.position + self.center - self.position[:, None]
        picked = self.rel_pos_bias.index_select(0, pairs.flatten())
        return picked.reshape(self.tokens, self.tokens)


class MegaLayer(nn.Module):
    offsets = "beta",

    def __init__(self, config: dict, rate: float):
        super().__init__()
        self.rate = rate
        dim, z, v, tokens = config["dim"], config["z"], config["v"], configs.tokens(config)
        self.laplace = config["attention"] == "laplace"
        self.scale = 1 / tokens if self.laplace else z ** -0.5
        self.widths = dim, z, v, dim
        self.norm = Norm(config)
        self.v_proj, self.mx_proj = nn.Linear(dim, v), nn.Linear(dim, 2 * dim + z + v)
        self.h_proj = nn.Linear(v, dim)
        self.gamma, self.beta = nn.Parameter(torch.empty(2, z)), nn.Parameter(torch.empty(2, z))
        self.rel_pos_bias = None
        if config["relative_bias"]:
            self.rel_pos_bias = RelativeBias(tokens, max(config["max_positions"], tokens))

    def forward(self, x: torch.Tensor, mixed) -> torch.Tensor:
        n = self.norm(x)
        value = F.silu(self.v_proj(n))
        u, shared, r, h = self.mx_proj(mixed(n)).split(self.widths, -1)
        shared = F.silu(shared)
        q, k = (shared * self.gamma[i] + self.beta[i] for i in (0, 1))
        scores = q * self.scale @ k.transpose(1, 2)
        if self.rel_pos_bias is not None:
            scores = scores + self.rel_pos_bias()
        if self.laplace:
            weights = 0.5 + 0.5 * torch.erf((scores - MEAN) / (DEVIATION * 2 ** 0.5))
        else:
            weights = scores.softmax(-1)
        y = F.silu(h + self.h_proj(weights @ value * F.silu(r)))
        y = drop_path(y, self.rate, self.training)
        return x + torch.sigmoid(u) * (y - x)


class FeedForward(nn.Module):
    def __init__(self, config: dict, rate: float):
        super().__init__()
        self.rate = rate
        self.norm = Norm(config)
        self.fc1 = nn.Linear(config["dim"], config["ffn"])
        self.fc2 = nn.Linear(config["ffn"], config["dim"])

    def forward(self, x: torch.Tensor, between) -> torch.Tensor:
        y = self.fc2(F.silu(between(self.fc1(self.norm(x)))))
        return x + drop_path(y, self.rate, self.training)


class Block(Mixing):
    def __init__(self, config: dict, number: int, backend: str):
        dim = config["dim"]
        rate = config["drop_path"] * number / max(config["depth"] - 1, 1)
        super().__init__(config["mixer"], {"attn": dim, "block": dim, "ffn": config["ffn"]},
                         configs.grid(config), 0, backend)
        self.mega_layer, self.nffn = MegaLayer(config, rate), FeedForward(config, rate)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.mega_layer(self.mix("block", x), lambda y: self.mix("attn", y))
        return self.nffn(x, lambda y: self.mix("ffn", y))


class OutProjection(nn.Module):
    def __init__(self, dim: int, out: int):
        super().__init__()
        self.fc = nn.Linear(dim, out)


class Mega(Model):
    embeddings = "pos_embed",

    def __init__(self, config: dict, backend: str = "auto"):
        super().__init__(config)
        self.backend = backend
        dim = config["dim"]
        if config["pos_embed"]:
            self.pos_embed = nn.Parameter(torch.empty(1, configs.tokens(config), dim))
        self.patch_embed = Patches(config["channels"], dim, config["patch"])
        self.blocks = nn.ModuleList(Block(config, i, backend) for i in range(config["depth"]))
        self.lra = config["head"] == "lra"
        width = 2 * dim if self.lra else dim
        self.final_norm, self.out_proj = Norm(config), OutProjection(dim, width)
        self.head = nn.Linear(width, config["classes"], bias=not self.lra)
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """New initial values, from PyTorch's generator; mixers keep theirs."""
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Conv2d)):
                nn.init.normal_(module.weight, std=0.02)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
            if isinstance(module, MegaLayer):
                nn.init.normal_(module.gamma, std=0.02)
                nn.init.zeros_(module.beta)
            if isinstance(module, RelativeBias):
                nn.init.normal_(module.rel_pos_bias, std=0.02)
        authors = self._config["init"] == "authors"
        if self.lra:
            nn.init.normal_(self.patch_embed.proj.weight, std=1.0)
            nn.init.normal_(self.patch_embed.proj.bias, std=0.1)
            nn.init.xavier_uniform_(self.out_proj.fc.weight)
        elif authors:
            fill_as_torch(self.patch_embed.proj)
        if self.lra or authors:
            nn.init.xavier_uniform_(self.head.weight)
        if self._config["pos_embed"]:
            nn.init.trunc_normal_(self.pos_embed, std=self._config["dim"] ** -0.5)

    @property
    def depth(self) -> int:
        return len(self.blocks)

    def tokens(self, images: torch.Tensor, blocks: int) -> torch.Tensor:
        x = self.patch_embed(images)
        if self._config["pos_embed"]:
            x = x + self.pos_embed
        for i in range(blocks):
            x = self.blocks[i](x)
        return x

    def classify(self, tokens: torch.Tensor) -> torch.Tensor:
        if self.lra:
            return self.head(F.gelu(self.out_proj.fc(self.final_norm(tokens).mean(1))))
        return self.head(F.silu(self.out_proj.fc(self.final_norm(tokens))).mean(1))

    def grids(self) -> dict:
        grid = configs.grid(self._config)
        found = {"pos_embed": ("grid", 0, *grid)} if self._config["pos_embed"] else {}
        for i in range(len(self.blocks) if self._config["relative_bias"] else 0):
            found[f"blocks.{i}.mega_layer.rel_pos_bias.rel_pos_bias"] = ("offsets", 0, *grid)
        return found
