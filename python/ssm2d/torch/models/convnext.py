"""ConvNeXt: blocks of one token mixer and one MLP, and stages, each with a map of half the sides.
Names are timm's. ConvNeXt's own mixer is the depthwise convolution `conv_dw`; layers of other kinds
take its place as `mixer`."""
import torch
from torch import nn

from . import config as configs
from .blocks import Mlp, Model, drop_path, make_mixer, mix


class Block(nn.Module):
    def __init__(self, config: dict, dim: int, grid: tuple, rate: float, backend: str):
        super().__init__()
        self.grid, self.rate, self.mixes = tuple(grid), rate, None
        settings = config["mixer"]
        if settings is not None:
            self.mixes = "conv_dw" if settings["kind"] == "conv" else "mixer"
            self.add_module(self.mixes, make_mixer(settings, "attn", dim, backend))
        self.norm = nn.LayerNorm(dim, eps=config["norm_eps"])
        self.mlp = Mlp(dim, int(dim * config["mlp_ratio"]))
        self.gamma = nn.Parameter(torch.full((dim,), float(config["layer_scale"])))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = mix(getattr(self, self.mixes) if self.mixes else None, x, self.grid)
        y = self.gamma * self.mlp(self.norm(y), lambda hidden: hidden)
        return x + drop_path(y, self.rate, self.training)


def convolve(convolution: nn.Conv2d, x: torch.Tensor, grid: tuple) -> torch.Tensor:
    """Tokens of a grid to those of the convolution's grid, in raster order."""
    x = x.reshape(-1, *grid, x.shape[-1]).permute(0, 3, 1, 2)
    return convolution(x).flatten(2).transpose(1, 2)


class Stage(nn.Module):
    def __init__(self, config: dict, stage: int, before: tuple, backend: str):
        """before: the grid of the stage before, or of the patches."""
        super().__init__()
        dims, self.before, self.grid = config["dim"], tuple(before), tuple(before)
        if stage:
            self.downsample = nn.Sequential(
                nn.LayerNorm(dims[stage - 1], eps=config["norm_eps"]),
                nn.Conv2d(dims[stage - 1], dims[stage], 2, stride=2))
            self.grid = tuple(side // 2 for side in before)
        done, last = sum(config["depth"][:stage]), max(sum(config["depth"]) - 1, 1)
        self.blocks = nn.Sequential(*(
            Block(config, dims[stage], self.grid, config["drop_path"] * (done + i) / last, backend)
            for i in range(config["depth"][stage])))

    def enter(self, x: torch.Tensor) -> torch.Tensor:
        if not hasattr(self, "downsample"):
            return x
        return convolve(self.downsample[1], self.downsample[0](x), self.before)


class Head(nn.Module):
    def __init__(self, dim: int, classes: int, eps: float):
        super().__init__()
        self.norm = nn.LayerNorm(dim, eps=eps)
        self.fc = nn.Linear(dim, classes)


class ConvNeXt(Model):
    def __init__(self, config: dict, backend: str = "auto"):
        super().__init__(config)
        self.backend = backend
        dims, grid, patch = config["dim"], configs.grid(config), config["patch"]
        self.stem = nn.Sequential(nn.Conv2d(config["channels"], dims[0], patch, stride=patch),
                                  nn.LayerNorm(dims[0], eps=config["norm_eps"]))
        self.stages = nn.ModuleList()
        for stage in range(len(dims)):
            self.stages.append(Stage(config, stage, grid, backend))
            grid = self.stages[-1].grid
        self.head = Head(dims[-1], config["classes"], config["norm_eps"])
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """New initial values, from PyTorch's generator; mixers keep theirs."""
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Conv2d)):
                nn.init.trunc_normal_(module.weight, std=0.02)
                nn.init.zeros_(module.bias)
            if isinstance(module, Block):
                nn.init.constant_(module.gamma, self._config["layer_scale"])

    @property
    def depth(self) -> int:
        return sum(self._config["depth"])

    def tokens(self, images: torch.Tensor, blocks: int) -> torch.Tensor:
        x = self.stem[1](self.stem[0](images).flatten(2).transpose(1, 2))
        done = 0
        for stage in self.stages:
            if done == blocks:
                break
            x = stage.enter(x)
            for block in stage.blocks:
                if done == blocks:
                    break
                x, done = block(x), done + 1
        return x

    def classify(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head.fc(self.head.norm(tokens.mean(1)))

    def grids(self) -> dict:
        return {}
