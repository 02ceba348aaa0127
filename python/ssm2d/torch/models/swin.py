"""The Swin transformer: attention within windows of a map of tokens, which are shifted in every
other block, and stages, each with a map of half the sides and twice the channels. Names are timm's.

Per axis a window has w = min(window, side) tokens. A side that is no multiple of w is padded at its
end, for attention alone. In odd blocks the padded map is rolled by -window // 2, unless the side is
at most the window; it then has the regions [0, side - w), [side - w, side - shift) and the rest,
which are not neighbours in the picture, and padding is a region of its own."""
import torch
from torch import nn

from . import config as configs
from .blocks import (Model, Patches, TransformerBlock, attend, fill_as_torch, join_heads,
                     split_heads)

APART = -100.0  # added to scores between regions


def axis(side: int, window: int, shifted: bool) -> tuple:
    """(side of a window, cell of the map at each cell of the rolled axis or -1, its region)"""
    own = min(window, side)
    padded = -(-side // own) * own
    shift = window // 2 if shifted and side > window else 0
    at = torch.arange(padded)
    cell = (at + shift) % padded
    region = (at >= padded - own).long() + (at >= padded - shift).long() if shift else 0 * at
    return own, torch.where(cell < side, cell, torch.full_like(cell, -1)), region


def cut(x: torch.Tensor, rows: int, cols: int) -> torch.Tensor:
    """A map in windows: [windows][rows * cols]"""
    x = x.unflatten(0, (-1, rows)).unflatten(2, (-1, cols))
    return x.transpose(1, 2).reshape(-1, rows * cols)


class Windows:
    """How a map of tokens is cut into the windows of a block. order: the token of each place, 0
    where it is padding; real: 1, or 0 for padding, or None when there is none; back: the place of
    each token; mask: added to the scores of each window, or None."""

    def __init__(self, grid: tuple, window: int, shifted: bool):
        (own_rows, rows, row_region), (own_cols, cols, col_region) = (
            axis(side, window, shifted) for side in grid)
        self.side = own_rows, own_cols
        there = (rows[:, None] >= 0) & (cols >= 0)
        token = cut(torch.where(there, rows[:, None] * grid[1] + cols, -torch.ones((), dtype=int)),
                    *self.side)
        region = cut(torch.where(there, 3 * row_region[:, None] + col_region,
                                 -torch.ones((), dtype=int)), *self.side)
        self.order = token.clamp(min=0).flatten()
        present = token.flatten() >= 0
        self.real = None if present.all() else present.float()[:, None]
        self.back = torch.empty(grid[0] * grid[1], dtype=torch.long)
        self.back[token.flatten()[present]] = torch.arange(len(self.order))[present]
        apart = region[:, :, None] != region[:, None, :]
        self.mask = (APART * apart.float())[:, None] if apart.any() else None

    def pairs(self) -> torch.Tensor:
        """The entry of the table of relative positions for each query and key of a window."""
        rows, cols = self.side
        place = torch.arange(rows * cols)
        row, col = place // cols, place % cols
        down = row[:, None] - row + rows - 1
        return down * (2 * cols - 1) + col[:, None] - col + cols - 1


class WindowAttention(nn.Module):
    offsets = "relative_position_bias_table",

    def __init__(self, dim: int, heads: int, grid: tuple, window: int, shifted: bool,
                 qkv_bias: bool, relative_bias: bool):
        super().__init__()
        windows = Windows(grid, window, shifted)
        self.heads, self.side, self.places = heads, windows.side, len(windows.order)
        rows, cols = windows.side
        self.relative_position_bias_table = nn.Parameter(
            torch.empty((2 * rows - 1) * (2 * cols - 1), heads)) if relative_bias else None
        self.qkv = nn.Linear(dim, 3 * dim, bias=qkv_bias)
        self.proj = nn.Linear(dim, dim)
        # not in files: they follow from the sizes
        for name, value in (("pairs", windows.pairs()), ("order", windows.order),
                            ("back", windows.back), ("real", windows.real),
                            ("mask", windows.mask)):
            self.register_buffer(name, value, persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        size = self.side[0] * self.side[1]
        qkv = self.qkv(x).index_select(1, self.order)
        if self.real is not None:
            qkv = qkv * self.real
        parts = qkv.split(self.proj.in_features, -1)
        q, k, v = (split_heads(part, size, self.heads) for part in parts)
        bias = None
        if self.relative_position_bias_table is not None:
            bias = self.relative_position_bias_table.index_select(0, self.pairs.flatten())
            bias = bias.reshape(size, size, self.heads).permute(2, 0, 1)
        if self.mask is None:
            y = attend(q, k, v, bias)
        else:  # [batch][windows] apart, as each window has a mask of its own
            shape = -1, self.places // size, self.heads, size
            q, k, v = (part.reshape(*shape, part.shape[-1]) for part in (q, k, v))
            y = attend(q, k, v, self.mask if bias is None else bias + self.mask).flatten(0, 1)
        y = join_heads(y).reshape(-1, self.places, x.shape[-1])
        return self.proj(y.index_select(1, self.back))


def make_block(config: dict, stage: int, grid: tuple, shifted: bool, rate: float,
               backend: str) -> TransformerBlock:
    dim = config["dim"][stage]
    attention = WindowAttention(dim, config["heads"][stage], grid, config["window"], shifted,
                                config["qkv_bias"], config["relative_bias"])
    return TransformerBlock(config, dim, grid, 0, attention, rate, backend)


class Downsample(nn.Module):
    """2 x 2 neighbours side by side, of which a last odd row or column has zeros."""

    def __init__(self, dim: int, grid: tuple, eps: float):
        super().__init__()
        self.grid = tuple(grid)
        self.norm = nn.LayerNorm(4 * dim, eps=eps)
        self.reduction = nn.Linear(4 * dim, 2 * dim, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows, cols = self.grid
        x = x.reshape(-1, rows, cols, x.shape[-1])
        if rows % 2:
            x = torch.cat([x, torch.zeros_like(x[:, :1])], 1)
        if cols % 2:
            x = torch.cat([x, torch.zeros_like(x[:, :, :1])], 2)
        parts = [x[:, row::2, col::2] for col in (0, 1) for row in (0, 1)]
        return self.reduction(self.norm(torch.cat(parts, -1).flatten(1, 2)))


class Stage(nn.Module):
    def __init__(self, config: dict, stage: int, before: tuple, backend: str):
        """before: the grid of the stage before, or of the patches."""
        super().__init__()
        grid = tuple(before)
        if stage:
            self.downsample = Downsample(config["dim"][stage - 1], grid, config["norm_eps"])
            grid = tuple(-(-side // 2) for side in grid)
        self.grid = grid
        done, last = sum(config["depth"][:stage]), max(sum(config["depth"]) - 1, 1)
        rates = [config["drop_path"] * (done + i) / last for i in range(config["depth"][stage])]
        self.blocks = nn.ModuleList(
            make_block(config, stage, grid, i % 2 == 1, rate, backend)
            for i, rate in enumerate(rates))


class Head(nn.Module):
    def __init__(self, dim: int, classes: int):
        super().__init__()
        self.fc = nn.Linear(dim, classes)


class SwinTransformer(Model):
    embeddings = "absolute_pos_embed",

    def __init__(self, config: dict, backend: str = "auto"):
        super().__init__(config)
        self.backend = backend
        dims, grid, eps = config["dim"], configs.grid(config), config["norm_eps"]
        if config["pos_embed"]:
            self.absolute_pos_embed = nn.Parameter(torch.empty(1, grid[0] * grid[1], dims[0]))
        self.patch_embed = Patches(config["channels"], dims[0], config["patch"],
                                   eps if config["patch_norm"] else None)
        self.layers = nn.ModuleList()
        for stage in range(len(dims)):
            self.layers.append(Stage(config, stage, grid, backend))
            grid = self.layers[-1].grid
        self.norm = nn.LayerNorm(dims[-1], eps=eps)
        self.head = Head(dims[-1], config["classes"])
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """New initial values, from PyTorch's generator; mixers keep theirs."""
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Conv2d)):
                if self._config["init"] == "torch":
                    fill_as_torch(module)
                    continue
                nn.init.trunc_normal_(module.weight, std=0.02)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
            if isinstance(module, WindowAttention) and self._config["relative_bias"]:
                nn.init.trunc_normal_(module.relative_position_bias_table, std=0.02)
        if self._config["pos_embed"]:
            nn.init.trunc_normal_(self.absolute_pos_embed, std=0.02)

    @property
    def depth(self) -> int:
        return sum(self._config["depth"])

    def tokens(self, images: torch.Tensor, blocks: int) -> torch.Tensor:
        x = self.patch_embed(images)
        if self._config["pos_embed"]:
            x = x + self.absolute_pos_embed
        done = 0
        for stage in self.layers:
            if done == blocks:
                break
            if hasattr(stage, "downsample"):
                x = stage.downsample(x)
            for block in stage.blocks:
                if done == blocks:
                    break
                x, done = block(x), done + 1
        return x

    def classify(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head.fc(self.norm(tokens).mean(1))

    def grids(self) -> dict:
        found = {}
        if self._config["pos_embed"]:
            found["absolute_pos_embed"] = ("grid", 0, *configs.grid(self._config))
        for name, module in self.named_modules():
            if isinstance(module, WindowAttention) and self._config["relative_bias"]:
                rows, cols = module.side
                found[f"{name}.relative_position_bias_table"] = (
                    "relative", 0, 2 * rows - 1, 2 * cols - 1)
        return found
