"""Which parameters weight decay acts on: the rules of the tool's option decay_of."""
from torch import nn

from .layer import Layer

NORMS = (nn.LayerNorm, nn.GroupNorm, nn.modules.batchnorm._BatchNorm,
         nn.modules.instancenorm._InstanceNorm)
RULES = {
    # name: whether it decays (kind of parameter, its number of axes)
    "all": lambda kind, axes: kind in ("weight", "scale", "embedding", "omega", "gain"),
    "matrices": lambda kind, axes: kind in ("weight", "scale", "omega", "gain") and axes > 1,
    "paper": lambda kind, axes: kind in ("weight", "embedding", "offset", "omega"),
    "everything": lambda kind, axes: kind not in ("system", "gain"),
}


def kinds_of(model: nn.Module) -> dict:
    """What each parameter is, by id. Of a Layer: omega, gain (what else the layer's own rule
    decays) or system. Else bias, scale (the weight of a norm), embedding (class token and position
    embedding: what the model's no_weight_decay names, as in timm), offset (added like a bias, but
    of attention: a module's list `offsets`) or weight."""
    found, embeddings = {}, set()
    for module in model.modules():
        names = getattr(module, "no_weight_decay", set)()
        embeddings |= {id(p) for name, p in module.named_parameters() if name in names}
    for module in model.modules():
        layer = {p.name: "omega" if p.decay_paper else "gain" if p.decay else "system"
                 for p in module.config.params} if isinstance(module, Layer) else {}
        is_norm = isinstance(module, NORMS) or getattr(module, "is_norm", False)
        for name, p in module.named_parameters(recurse=False):
            if name in layer:
                kind = layer[name]
            elif id(p) in embeddings:
                kind = "embedding"
            elif name in getattr(module, "offsets", ()):
                kind = "offset"
            else:
                kind = "bias" if name == "bias" else "scale" if is_norm else "weight"
            found[id(p)] = kind
    return found


def decay_groups(model: nn.Module, weight_decay: float, of: str = "all") -> list:
    """Two groups of parameters for an optimizer, with and without weight decay. of: as the tool's
    decay_of.

    all: everything but biases, relative position biases and the systems of the layers (A, B, C of
        SSM2d, all but D of S4ND, all but omega of EMA, all but projections and the weights of gates
        of selective kinds)
    matrices: of these only arrays of several axes, without embeddings, as timm
    paper: as the paper's code of 2023: everything but biases, the weights of norms, and the layers
        other than their omega (D of SSM2d, omega of EMA) and projections
    everything: as its runs of the Long Range Arena: biases and norms as well"""
    if of not in RULES:
        raise ValueError(f"of={of!r}: use one of {', '.join(RULES)}")
    kinds, groups = kinds_of(model), ([], [])
    for p in model.parameters():
        if p.requires_grad:
            groups[not RULES[of](kinds[id(p)], p.dim())].append(p)
    return [{"params": groups[0], "weight_decay": weight_decay},
            {"params": groups[1], "weight_decay": 0.0}]
