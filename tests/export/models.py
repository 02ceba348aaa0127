"""Small models of every family with every mixer, for export_check.py: (name, configuration)."""

VIT = {"model": "vit-mini", "image": [16, 12], "channels": 3, "classes": 5, "patch": 4, "dim": 12,
       "depth": 2, "heads": 3, "mixer": None}
DEIT = {"model": "deit", "image": [12, 18], "channels": 3, "classes": 4, "patch": 6, "dim": 16,
        "depth": 2, "heads": 2, "mlp_ratio": 4, "qkv_bias": True, "norm_eps": 1e-6,
        "pos_embed": True, "mixer": None}
# 10 x 14 patches in windows of 4, merged to 5 x 7 and 3 x 4: padding, shifts and odd sides
SWIN = {"model": "swin-mini", "image": [20, 28], "channels": 3, "classes": 5, "patch": 2,
        "dim": [8, 16, 32], "depth": [2, 2, 1], "heads": [1, 2, 4], "window": 4, "mixer": None}
MEGA = {"model": "mega-mini", "image": [16, 24], "channels": 3, "classes": 5, "patch": 4, "dim": 12,
        "depth": 2, "z": 6, "v": 10, "ffn": 14, "mixer": None}
LRA = {"model": "mega-lra", "image": [9, 7], "channels": 1, "classes": 3, "dim": 10, "depth": 2,
       "z": 4, "v": 8, "ffn": 12, "mixer": None}
# tokens for attention of more than 96 at a time, which is another operator
LONG = dict(VIT, image=[40, 44], depth=1)

SSM2D = {"kind": "ssm2d", "d_state": 4, "n_ssm": 2, "directions": 4, "assign": "distinct"}
S4ND = {"kind": "s4nd", "n_ssm": 2, "d_state": 4}
EMA = {"kind": "ema", "d_state": 3}

LAYERS = {
    "real": SSM2D,
    "polar": dict(SSM2D, values="polar"),
    "cartesian": dict(SSM2D, values="cartesian", norm="half"),
    "one direction": dict(SSM2D, directions=1, skip=False),
    "two directions": dict(SSM2D, directions=2, average=True, norm="paper"),
    "columns": dict(SSM2D, directions=2, pair="columns", norm="none"),
    "shared": dict(SSM2D, share_directions=True, c_per_channel=True),
    "silu": dict(SSM2D, assign="paper", activation="silu"),
    "norm and cut": dict(SSM2D, layer_norm=True, trunc_rows=2, trunc_cols=3),
    "authors": dict(SSM2D, assign="authors", n_ssm=3, layer_norm=True, skip=False),
    "s4nd": S4ND,
    "s4nd, dplr": dict(S4ND, form="dplr"),
    "s4nd, steps of channels": dict(S4ND, dt_per_channel=True),
    "s4nd, rate": dict(S4ND, n_ssm=5, rate=0.5),
    "ema": EMA,
    "ema, one way": dict(EMA, bidirectional=False),
    "ema, no shift, cut": dict(EMA, shift=False, trunc=5),
}
FAMILIES = {"vit": VIT, "deit": DEIT, "swin": SWIN, "mega": MEGA, "mega-lra": LRA}


def cases():
    for family, base in FAMILIES.items():
        yield family, base
        for kind in ("real", "polar", "cartesian", "s4nd", "ema"):
            yield f"{family}, {kind}", dict(base, mixer=LAYERS[kind])
        for place in ("block", "ffn"):
            for kind in ("polar", "s4nd", "ema"):
                yield (f"{family}, {kind} in {place}",
                       dict(base, mixer=dict(LAYERS[kind], place=place)))
    for kind in LAYERS:
        yield f"vit, {kind}", dict(VIT, mixer=LAYERS[kind])
    yield "vit, no positions", dict(VIT, pos_embed=False, mixer=SSM2D)
    yield "vit, one token", dict(VIT, image=[4, 4], mixer=SSM2D)
    yield "vit, many tokens", LONG
    yield "vit, a row of tokens", dict(VIT, image=[4, 40], mixer=SSM2D)
    yield "swin, whole windows", dict(SWIN, image=[16, 32], pos_embed=False)
    yield "swin, smaller than a window", dict(SWIN, image=[6, 40], patch_norm=False, mixer=SSM2D)
    yield "swin, no relative bias", dict(SWIN, relative_bias=False)
    yield "swin, no positions", dict(SWIN, image=[16, 32], relative_bias=False, pos_embed=False)
    yield "swin, window of 7", dict(SWIN, image=[36, 18], window=7, mixer=S4ND)
    yield "swin, window of 12", dict(SWIN, image=[52, 26], window=12)
    yield "mega, softmax", dict(MEGA, attention="softmax", pos_embed=False)
    yield "mega, many softmax tokens", dict(MEGA, attention="softmax", image=[44, 40])
    yield "mega, no relative bias", dict(MEGA, relative_bias=False, mixer=EMA)
    yield "mega-lra, its head", dict(LRA, head="lra", mixer=EMA)
    yield "mega, more positions", dict(MEGA, max_positions=50, norm="batch", mixer=EMA)


CASES = list(dict(cases()).items())
