"""The configuration of a whole model: config.json of a run, checked and completed with defaults.

The keys, their bounds, and their values in each named model come from the tool: models.json is the
output of `ssm2d models --keys --json`, and a test compares them."""
import copy
import difflib
import json
import pathlib

TABLE = json.loads((pathlib.Path(__file__).parent / "models.json").read_text())
MAX_STAGES = 8  # of a list
MAX_TOKENS = 1 << 24
MISSING = {"mega-lra": {"head": "projection"}}  # what files mean that lack newer keys


def _show(value) -> str:
    return json.dumps(value)[:60] if isinstance(value, (str, list, dict)) else str(value)[:60]


def names() -> list:
    return list(TABLE["models"])


def family_of(config: dict) -> str:
    return TABLE["models"][config["model"]]["family"]


def _closest(key: str, known) -> str:
    near = difflib.get_close_matches(key, list(known), 1)
    return f": did you mean {near[0]!r}?" if near else f"; there are {', '.join(known)}"


# ---- values --------------------------------------------------------------------------------------

def _takes(field: dict, value) -> bool:
    """Whether a number is a valid value of the field."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    if field["kind"] != "real" and value != int(value):
        return False
    if "allowed" in field:
        return value in field["allowed"]
    return field["minimum"] <= value <= field["maximum"]


def _wanted(field: dict) -> str:
    if field["kind"] == "flag":
        return "true or false"
    some = field.get("choices") or field.get("allowed")
    if some:
        return "one of " + ", ".join(map(str, some))
    number = f"{field['minimum']} to {field['maximum']}"
    return {"int": f"a whole number from {number}", "real": f"a number from {number}",
            "pair": f"[rows, columns], each from {number}",
            "list": f"a list of whole numbers from {number}, at most {MAX_STAGES}"}[field["kind"]]


def _value(where: str, key: str, field: dict, value):
    """The checked value in its normal form."""
    kind = field["kind"]
    if kind == "flag" and isinstance(value, bool):
        return value
    if kind == "choice" and isinstance(value, str) and value in field["choices"]:
        return value
    if kind in ("int", "real") and _takes(field, value):
        return int(value) if kind == "int" else value
    if kind in ("pair", "list"):
        numbers = [value] if not isinstance(value, (list, tuple)) else list(value)
        if numbers and all(_takes(field, n) for n in numbers):
            numbers = [int(n) for n in numbers]
            if kind == "list" and len(numbers) <= MAX_STAGES:
                return numbers
            if kind == "pair" and len(numbers) == 2:
                return numbers
            if kind == "pair" and not isinstance(value, (list, tuple)):
                return 2 * numbers
    raise ValueError(f"{where}: \"{key}\" is {_show(value)}: use {_wanted(field)}")


# ---- the mixer -----------------------------------------------------------------------------------

# Pairs of keys for the same setting, which must not both be given.
SAME = (("values", "complex"), ("values", "complex_form"), ("layer_norm", "normalize"),
        ("trunc_rows", "trunc"), ("trunc_cols", "trunc"))
OLD = ("complex", "complex_form", "normalize", "trunc")  # keys of the 2-D SSM in earlier versions
FLAG = {"kind": "flag"}


def _old_keys(where: str, given: dict, mixer: dict, fields: dict) -> None:
    for new, old in SAME:
        if new in given and old in given:
            raise ValueError(f"{where}: \"mixer.{new}\" and \"mixer.{old}\" are the same: give one "
                             "of them")
    if "complex" in given:
        is_complex = _value(where, "mixer.complex", FLAG, given["complex"])
        if not is_complex:
            mixer["values"] = "real"
        elif mixer["values"] == "real":
            mixer["values"] = "polar"
    form = given.get("complex_form")
    if form is not None and given.get("complex") is not False:
        form = _value(where, "mixer.complex_form",
                      {"kind": "choice", "choices": ["polar", "cartesian"]}, form)
        if mixer["values"] == "real":
            raise ValueError(f"{where}: \"mixer.complex_form\" is {form}, but the layer is real: "
                             "use \"mixer.values\"")
        mixer["values"] = form
    if "normalize" in given:
        mixer["layer_norm"] = _value(where, "mixer.normalize", FLAG, given["normalize"])
    if "trunc" in given:
        sides = given["trunc"]
        good = sides is None or isinstance(sides, list) and len(sides) == 2 and all(
            _takes(fields["trunc_rows"], n) and n > 0 for n in sides)
        if not good:
            raise ValueError(f"{where}: \"mixer.trunc\" is {_show(sides)}: use null or "
                             f"[rows, cols], each from 1 to {fields['trunc_rows']['maximum']}")
        mixer["trunc_rows"], mixer["trunc_cols"] = map(int, sides or (0, 0))


def _mixer(where: str, model: str, given, from_file: bool):
    """The mixer as an object with all of its keys, or None."""
    presets = TABLE["models"][model]["mixers"]
    kind = given.get("kind") if isinstance(given, dict) else "none" if given is None else given
    key = "mixer.kind" if isinstance(given, dict) else "mixer"
    if kind is None:
        raise ValueError(f"{where}: \"mixer\" has settings, but no \"kind\": give it, such as "
                         "\"kind\": \"ssm2d\"")
    if not isinstance(kind, str) or kind not in presets:
        raise ValueError(f"{where}: \"{key}\" is {_show(kind)}: use one of {', '.join(presets)}")
    mixer, fields = copy.deepcopy(presets[kind]), TABLE["mixers"][kind]
    if not isinstance(given, dict):
        return mixer
    if mixer is None:
        if len(given) > 1:
            raise ValueError(f"{where}: \"mixer\" has settings, but its \"kind\" is none, which "
                             "takes no others")
        return None
    if kind == "ssm2d":
        if from_file:  # a missing key keeps its original default
            mixer["assign"] = "authors"
        _old_keys(where, given, mixer, fields)
    for key, value in given.items():
        if key in fields:
            mixer[key] = _value(where, f"mixer.{key}", fields[key], value)
        elif key != "kind" and not (kind == "ssm2d" and key in OLD):
            raise ValueError(f"{where}: \"mixer.{_show(key)[1:-1]}\" is not a known key"
                             f"{_closest(key, fields)}")
    return mixer


# ---- the whole configuration ---------------------------------------------------------------------

def parse(where, given: dict, *, from_file: bool = True, others: bool = False) -> dict:
    """A complete configuration from an object such as config.json. where: the file, for messages;
    from_file: missing keys keep their original defaults; others: the object may have other keys,
    as train.json does, which are ignored."""
    where = str(where)
    model = given.get("model")
    if not isinstance(model, str) or model not in TABLE["models"]:
        if "model" not in given:
            raise ValueError(f"{where}: \"model\" is missing")
        raise ValueError(f"{where}: \"model\" is {_show(model)}: use one of {', '.join(names())}")
    entry = TABLE["models"][model]
    fields, config = TABLE["families"][entry["family"]], copy.deepcopy(entry["config"])
    config["mixer"] = None
    if from_file:  # the values of keys before there was a choice
        config.update(MISSING.get(model, {}))
    for key, value in given.items():
        if key in fields:
            config[key] = _value(where, key, fields[key], value)
        elif key == "mixer":
            config["mixer"] = _mixer(where, model, value, from_file)
        elif key != "model" and not others:
            raise ValueError(f"{where}: \"{_show(key)[1:-1]}\" is not a known key"
                             f"{_closest(key, [*fields, 'mixer'])}")
    return finish(where, config)


def finish(where, config: dict) -> dict:
    """Fills in values that follow from others, and checks that all are consistent."""
    family = family_of(config)
    _fill(family, config)
    for key, field in TABLE["families"][family].items():
        if field.get("minimum", 0) > 0 and config[key] in (0, [0, 0], []):
            raise ValueError(f"{where}: model {config['model']} has no default for \"{key}\": "
                             "give it")
    rows, cols = config["image"]
    patch = config["patch"]
    if rows % patch or cols % patch:
        raise ValueError(f"{where}: \"patch\" is {patch}: images of {rows} x {cols} cannot be cut "
                         "into such patches")
    {"vit": _check_vit, "swin": _check_swin, "mega": _check_mega,
     "convnext": _check_convnext}[family](where, config)
    return config


def _fill(family: str, config: dict) -> None:
    if not config["patch"]:  # the paper's models have as many patches at 32 as at 64 pixels
        large = min(config["image"]) >= 64
        config["patch"] = (4 if large else 2) if family == "swin" else 8 if large else 4
    if isinstance(config["depth"], list):
        for key in ("dim", "heads"):  # a single value is doubled from stage to stage
            if key not in config:
                continue
            numbers = config[key]
            maximum = TABLE["families"][family][key]["maximum"]
            while len(config[key]) == 1 < len(config["depth"]) > len(numbers) \
                    and 2 * numbers[-1] <= maximum:
                numbers = [*numbers, 2 * numbers[-1]]
            config[key] = numbers


def _check_width(where, config: dict, dim: int, heads: int) -> None:
    if dim % heads:
        raise ValueError(f"{where}: \"heads\" is {heads}: it must divide \"dim\", which is {dim}")
    if int(dim * config["mlp_ratio"]) < 1:
        raise ValueError(f"{where}: \"mlp_ratio\" is {config['mlp_ratio']}: too small for "
                         f"\"dim\" {dim}")


def _check_vit(where, config: dict) -> None:
    _check_width(where, config, config["dim"], config["heads"])


def _check_swin(where, config: dict) -> None:
    dims, heads, depths = config["dim"], config["heads"], config["depth"]
    if not len(dims) == len(heads) == len(depths):
        raise ValueError(f"{where}: \"depth\" has {len(depths)} stages, \"dim\" {len(dims)} and "
                         f"\"heads\" {len(heads)}: give all of them one number per stage")
    for stage, (before, dim) in enumerate(zip(dims, dims[1:]), 1):
        if dim != 2 * before:
            raise ValueError(f"{where}: \"dim\" is {dim} in stage {stage}: it must be "
                             f"{2 * before}, twice that of the previous one")
    for dim, count in zip(dims, heads):
        _check_width(where, config, dim, count)


def _check_convnext(where, config: dict) -> None:
    dims, depths, mixer = config["dim"], config["depth"], config["mixer"]
    if len(dims) != len(depths):
        raise ValueError(f"{where}: \"depth\" has {len(depths)} stages and \"dim\" {len(dims)}: "
                         "give both one number per stage")
    if mixer is not None and mixer["place"] != "attn":
        raise ValueError(f"{where}: \"mixer.place\" is not attn: in a ConvNeXt the mixer "
                         "replaces the convolution; leave it out")
    for dim in dims:
        _check_width(where, config, dim, 1)
    rows, cols = grid(config)
    halvings = len(depths) - 1
    if not rows >> halvings or not cols >> halvings:
        raise ValueError(f"{where}: \"depth\" has {len(depths)} stages: a map of {rows} x {cols} "
                         f"patches cannot be halved {halvings} times")


def tokens(config: dict) -> int:
    rows, cols = config["image"]
    return (rows // config["patch"]) * (cols // config["patch"])


def _check_mega(where, config: dict) -> None:
    count, positions = tokens(config), config["max_positions"]
    if count > MAX_TOKENS:
        raise ValueError(f"{where}: \"patch\" is {config['patch']}: an image of "
                         f"{config['image'][0]} x {config['image'][1]} has too many such patches")
    if positions and positions < count:
        raise ValueError(f"{where}: \"max_positions\" is {positions}, but there are {count} "
                         "tokens: use 0, or at least that")


def resized(config: dict, image_size) -> dict:
    """The same model for images of another size: (rows, columns), or one size for both."""
    config = copy.deepcopy(config)
    field = TABLE["families"][family_of(config)]["image"]
    config["image"] = _value("image_size", "image", field, image_size)
    if config.get("max_positions"):  # more tokens than the bias has entries for: it must grow
        config["max_positions"] = max(config["max_positions"], tokens(config))
    return finish("image_size", config)


def grid(config: dict) -> tuple:
    """Rows and columns of patches."""
    return tuple(side // config["patch"] for side in config["image"])


def min_elements(config: dict) -> int:
    """A lower bound of the model's parameter count: its matrices. A configuration may have any
    size, so it is compared with the size of the weights before a model is allocated."""
    family = family_of(config)
    if family in ("swin", "convnext"):
        attention = 4 if family == "swin" else 0
        return sum(depth * dim * (attention * dim + 2 * int(dim * config["mlp_ratio"]))
                   for dim, depth in zip(config["dim"], config["depth"]))
    dim = config["dim"]
    if family == "mega":
        block = dim * (2 * dim + config["z"] + 3 * config["v"] + 2 * config["ffn"])
    else:
        block = dim * (4 * dim + 2 * int(dim * config["mlp_ratio"]))
    return config["depth"] * block + config["classes"] * dim
