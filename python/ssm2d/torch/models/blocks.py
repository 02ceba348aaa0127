"""What the models share: patches, attention, the MLP, the mixer on the grid of a sequence of
tokens, and the class that all of them are."""
import copy
from typing import Optional

import torch
from torch import nn
from torch.nn import functional as F

from .. import tracing
from ..layer import create
from . import config as configs


def make_mixer(settings: Optional[dict], place: str, channels: int, backend: str):
    """The mixer of a block's place, or None when it has none there."""
    if settings is None or settings["place"] != place:
        return None
    options = {key: value for key, value in settings.items() if key not in ("kind", "place")}
    try:
        return create(settings["kind"], channels, backend=backend, **options)
    except (TypeError, ValueError) as error:
        raise ValueError(f"\"mixer\": {error}") from None


def mix(mixer: Optional[nn.Module], x: torch.Tensor, grid: tuple, first: int = 0) -> torch.Tensor:
    """x [batch][first + rows*columns][channels] with its patches mixed; the tokens before them
    pass."""
    if mixer is None:
        return x
    rows, cols = grid
    patches = x[:, first:] if first else x
    y = mixer(patches.reshape(-1, rows, cols, x.shape[-1])).flatten(1, 2)
    return torch.cat([x[:, :first], y], 1) if first else y


class Mixing(nn.Module):
    """A block that may have a mixer, in one of three places; as a parameter of a file it is
    `<block>.mixer`."""

    def __init__(self, settings: Optional[dict], widths: dict, grid: tuple, first: int,
                 backend: str):
        super().__init__()
        self.grid, self.first, self.place = tuple(grid), first, None
        if settings is not None:
            self.place = settings["place"]
            self.mixer = make_mixer(settings, self.place, widths[self.place], backend)

    def mix(self, place: str, x: torch.Tensor) -> torch.Tensor:
        return mix(self.mixer, x, self.grid, self.first) if place == self.place else x


class Patches(nn.Module):
    """[batch][channels][rows][columns] -> [batch][patches][dim], in raster order."""

    def __init__(self, channels: int, dim: int, patch: int, norm_eps: Optional[float] = None):
        super().__init__()
        self.proj = nn.Conv2d(channels, dim, patch, stride=patch)
        if norm_eps is not None:
            self.norm = nn.LayerNorm(dim, eps=norm_eps)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        x = self.proj(images).flatten(2).transpose(1, 2)
        return self.norm(x) if hasattr(self, "norm") else x


def split_heads(x: torch.Tensor, tokens: int, heads: int) -> torch.Tensor:
    """[batch][tokens][dim] -> [batch][heads][tokens][dim / heads]"""
    return x.reshape(-1, tokens, heads, x.shape[-1] // heads).transpose(1, 2)


def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, bias=None) -> torch.Tensor:
    """Softmax attention; bias is added to the scores. [batch][heads][tokens][..] each."""
    scores = q * q.shape[-1] ** -0.5 @ k.transpose(-2, -1)
    return (scores if bias is None else scores + bias).softmax(-1) @ v


def join_heads(x: torch.Tensor) -> torch.Tensor:
    return x.transpose(1, 2).flatten(2)


def drop_path(x: torch.Tensor, rate: float, training: bool) -> torch.Tensor:
    """Stochastic depth: in training all of an image's numbers are 0 at this rate, else divided by
    1 - rate."""
    if not training or rate == 0:
        return x
    kept = torch.rand(x.shape[0], *[1] * (x.dim() - 1), device=x.device) >= rate
    return x * (kept / (1 - rate)).to(x.dtype)


def fill_as_torch(module: nn.Module) -> None:
    """The initial values that PyTorch gives a Linear or a convolution: weight and bias uniform in
    +-1/sqrt(inputs)."""
    bound = module.weight[0].numel() ** -0.5
    nn.init.uniform_(module.weight, -bound, bound)
    if module.bias is not None:
        nn.init.uniform_(module.bias, -bound, bound)


class Mlp(nn.Module):
    def __init__(self, dim: int, hidden: int):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(dim, hidden), nn.Linear(hidden, dim)

    def forward(self, x: torch.Tensor, between) -> torch.Tensor:
        return self.fc2(F.gelu(between(self.fc1(x))))


class TransformerBlock(Mixing):
    """Attention and MLP, each after a LayerNorm and added to what it was given: the block of ViT
    and Swin, which have their own attention."""

    def __init__(self, config: dict, dim: int, grid: tuple, first: int, attention: nn.Module,
                 rate: float, backend: str):
        hidden, eps = int(dim * config["mlp_ratio"]), config["norm_eps"]
        super().__init__(config["mixer"], {"attn": dim, "block": dim, "ffn": hidden}, grid, first,
                         backend)
        self.rate = rate
        self.norm1 = nn.LayerNorm(dim, eps=eps)
        self.attn = attention
        self.norm2 = nn.LayerNorm(dim, eps=eps)
        self.mlp = Mlp(dim, hidden)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.mix("block", x)
        y = self.attn(self.mix("attn", self.norm1(x)))
        x = x + drop_path(y, self.rate, self.training)
        y = self.mlp(self.norm2(x), lambda hidden: self.mix("ffn", hidden))
        return x + drop_path(y, self.rate, self.training)


class Model(nn.Module):
    """A whole model: images [batch][channels][rows][columns], normalised -> logits
    [batch][classes].

config: the configuration, as config.json of a run has it
classes: names of the classes
labels: "class", or "binary" when each class is an attribute that an image has or has not
preprocess: callable, an image of any size -> what the model takes; None where it is not known how
    the images were normalised (assign a Preprocess)
features(images, block): the tokens after so many blocks

Made by load_run, load_model and create_model. The names of parameters are those of the safetensors
files: timm's for ViT, DeiT and Swin, its authors' for Mega."""

    embeddings = ()  # names of the class token and the position embedding

    def __init__(self, config: dict):
        super().__init__()
        self._config = config
        self.classes = [str(i) for i in range(config["classes"])]
        self.labels, self.preprocess = "class", None
        self.evaluation = {}  # settings of the run that it came from: its data, their split

    @property
    def config(self) -> dict:
        return copy.deepcopy(self._config)

    def __prepare_scriptable__(self):
        raise RuntimeError(f"{type(self).__name__}: torch.jit.script cannot compile the model; use "
                           "torch.jit.trace")

    def _check(self, images: torch.Tensor) -> None:
        if not isinstance(images, torch.Tensor):
            raise TypeError(f"images: expected a torch.Tensor, got {type(images).__name__}")
        sizes, wanted = tracing.sizes(images), (self._config["channels"], *self._config["image"])
        if len(sizes) != 4 or tuple(sizes[1:]) != wanted:
            raise ValueError(f"images: shape {tuple(sizes)}, expected (batch, "
                             f"{', '.join(map(str, wanted))}); "
                             "model.resized((rows, columns)) is the model for another size")

    def no_weight_decay(self) -> set:
        """Names of embeddings, as timm's models have it."""
        return {name for name in self.embeddings if hasattr(self, name)}

    @property
    def depth(self) -> int:
        """How many blocks there are."""
        raise NotImplementedError

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        self._check(images)
        return self.classify(self.tokens(images, self.depth))

    def features(self, images: torch.Tensor, block: int) -> torch.Tensor:
        """The tokens after the first `block` blocks, [batch][tokens][dim], in raster order; of a
        ViT the class token comes first. 0: the embedded patches."""
        self._check(images)
        if isinstance(block, bool) or not isinstance(block, int) or not 0 <= block <= self.depth:
            raise ValueError(f"block={block!r}: use 0 to {self.depth}")
        return self.tokens(images, block)

    def tokens(self, images: torch.Tensor, blocks: int) -> torch.Tensor:
        raise NotImplementedError

    def classify(self, tokens: torch.Tensor) -> torch.Tensor:
        raise NotImplementedError

    def grids(self) -> dict:
        """Parameters that depend on the image size: name -> (kind, tokens before the grid, rows,
        columns). grid: a row of numbers per patch; relative: per offset inside a window; offsets:
        per distance in raster order."""
        raise NotImplementedError

    def make(self, config: dict) -> "Model":
        """A new model of this configuration, with this one's mixers' backend."""
        made = type(self)(config, self.backend)
        made.train(self.training)
        return made.to(next(self.parameters()))

    def resized(self, image_size) -> "Model":
        """The same model for images of another size, (rows, columns): position embeddings and
        tables of relative positions are interpolated, kernels follow the new grid."""
        from .weights import resize_arrays
        made = self.make(configs.resized(self._config, image_size))
        with torch.no_grad():
            made.load_state_dict(resize_arrays(self, made))
        made.classes, made.labels = list(self.classes), self.labels
        made.evaluation = copy.deepcopy(self.evaluation)
        if self.preprocess is not None:
            made.preprocess = self.preprocess.resized(made._config["image"])
        return made
