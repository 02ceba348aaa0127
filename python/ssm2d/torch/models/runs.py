"""Whole models from and to the folders of runs, which `ssm2d train` writes and `ssm2d eval` reads.

    train.json          all settings; only the data and the preparation of images are used here
    config.json         the model alone
    data.json           names of the classes, normalisation
    model.safetensors   the weights after the latest epoch
    best.safetensors    the weights of the best epoch"""
import json
import os
from contextlib import contextmanager
from typing import Optional

from ...files import parse_json, read_json, write_whole
from ...safetensors import read_safetensors, save_safetensors
from ..layer import BACKENDS
from . import config as configs
from .blocks import Model
from .convnext import ConvNeXt
from .mega import Mega
from .preprocess import FILTERS, Preprocess
from .swin import SwinTransformer
from .vit import VisionTransformer
from .weights import load_weights, read_weights, weights_of

FAMILIES = {"vit": VisionTransformer, "swin": SwinTransformer, "mega": Mega, "convnext": ConvNeXt}
WEIGHTS = {"last": "model.safetensors", "best": "best.safetensors"}
# in the order in which they are written: a folder without train.json has no run
FILES = ("train.json", "config.json", "data.json", "model.safetensors", "best.safetensors",
         "last.safetensors", "metrics.jsonl", "curves.svg", "machines.json")
# Settings of a run about its evaluation. The others describe its training, which is unknown for
# imported weights.
KEPT = ("data", "val_fraction", "train_fraction", "split_seed", "bad_images", "max_pixels", "loss")
NO_DATA = "none"
FILE_VERSION = "1"  # of model files


def build(config: dict, backend: str) -> Model:
    if backend not in BACKENDS:
        raise ValueError(f"backend={backend!r}: use one of {', '.join(map(repr, BACKENDS))}")
    return FAMILIES[configs.family_of(config)](config, backend)


# ---- creating and reading ------------------------------------------------------------------------

def create_model(name: str, *, mixer="auto", classes=None, image_size=None,
                 channels: Optional[int] = None, mean=None, std=None, backend: str = "auto",
                 **settings) -> Model:
    """A new model by its name in `ssm2d models`, with initial values from PyTorch's generator.

    mixer: "auto" (that of `ssm2d train`), "ssm2d", "s4nd", "ema", None, or a dict with kind and
        settings, as {"kind": "ssm2d", "complex": True}
    classes: their number, or their names; image_size: (rows, columns), or one number
    mean, std: how images are normalised, for preprocess and save_run
    settings: other keys of `ssm2d models --keys`, as depth=2 or drop_path=0.1"""
    where = "create_model"
    if name in configs.TABLE["models"] and mixer == "auto":
        mixer = configs.TABLE["models"][name]["mixer"]
    given = {"model": name, "mixer": mixer, **settings}
    names = None if classes is None or isinstance(classes, int) else [str(c) for c in classes]
    for key, value in (("classes", len(names) if names is not None else classes),
                       ("image", image_size), ("channels", channels)):
        if value is not None:
            given[key] = value
    model = build(configs.parse(where, given, from_file=False), backend)
    model.classes = names or model.classes
    if (mean is None) != (std is None):
        raise ValueError("mean, std: give both or none")
    if mean is not None:
        model.preprocess = _preprocess(model.config, mean, std)
    return model


def _preprocess(config: dict, mean, std, settings: Optional[dict] = None) -> Preprocess:
    """The preparation of images in the tool's evaluation of a run with these settings."""
    large = min(config["image"]) >= 128
    return Preprocess(config["image"], config["channels"], mean, std,
                      **(settings or {"eval_crop": 0.875 if large else 1.0}))


def load_model(config, weights, *, backend: str = "auto", image_size=None) -> Model:
    """A model from its configuration (JSON) and weights (safetensors), as `ssm2d run` takes them.
    Weights for another image size are interpolated. In evaluation mode; backend and image_size as
    in load_run."""
    model = _load(config, configs.parse(config, read_json(config)), weights, backend)
    return _finish(model, image_size)


def _load(path, config: dict, weights, backend: str) -> Model:
    """path: of the configuration, for messages."""
    read = read_weights(weights, config)
    try:
        model = build(config, backend)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    load_weights(model, weights, *read)
    return model


def _finish(model: Model, image_size) -> Model:
    model.eval()
    return model if image_size is None else model.resized(image_size)


def load_run(folder, weights: Optional[str] = None, *, backend: str = "auto",
             image_size=None) -> Model:
    """The model of a run, as an nn.Module in evaluation mode.

    folder: of the run, or a model file, which `ssm2d quantize` makes of one
    weights: "last", of the latest epoch (default), or "best"; a model file has those of one epoch
    backend: of its mixers: "auto" (the library for CPU tensors, PyTorch operations for others),
        "library", or "torch" (only PyTorch operations, on any device)
    image_size: (rows, columns) other than those of training: positions are interpolated"""
    folder = os.fspath(folder)
    if os.path.isfile(folder):
        return _load_file(folder, weights, backend, image_size)
    if weights is None:
        weights = "last"
    if weights not in WEIGHTS:
        raise ValueError(f"weights={weights!r}: use one of {', '.join(map(repr, WEIGHTS))}")
    paths = {name: os.path.join(folder, name) for name in FILES}
    if not os.path.exists(paths["train.json"]):
        raise FileNotFoundError(f"{folder}: is not the folder of a run: it has no train.json")
    settings = read_json(paths["train.json"])
    config = configs.parse(paths["config.json"], read_json(paths["config.json"]))
    _check_same(paths, config, _trained(paths["train.json"], settings))
    data = _read_data(paths["data.json"], read_json(paths["data.json"]), config["classes"])
    path = os.path.join(folder, WEIGHTS[weights])
    if not os.path.exists(path):
        raise FileNotFoundError(f"{path}: does not exist: it is written at the end of an epoch")
    model = _load(paths["config.json"], config, path, backend)
    _describe(model, paths["train.json"], settings, paths["data.json"], data)
    return _finish(model, image_size)


def _describe(model: Model, settings_path: str, settings: dict, data_path: str,
              data: dict) -> None:
    """Sets what a model knows of its data and the preparation of images."""
    model.classes, model.labels = data["classes"], data.get("labels", "class")
    try:
        model.preprocess = _preprocess(model.config, data["mean"], data["std"],
                                       _preparation(settings_path, settings))
    except ValueError as error:
        raise ValueError(f"{data_path}: {error}") from None
    model.evaluation = {key: settings[key] for key in KEPT if key in settings}
    if "images" in data:
        model.evaluation["images"] = data["images"]


def _load_file(path: str, weights: Optional[str], backend: str, image_size) -> Model:
    if weights is not None:
        raise ValueError(f"weights={weights!r}: {path} is a model file, which has the weights of "
                         "one epoch: leave it out")
    notes = read_safetensors(path)[1]
    version = notes.get("ssm2d_model")
    if version != FILE_VERSION:
        raise ValueError(f"{path}: is not a model file: it has no \"ssm2d_model\" in its metadata"
                         if version is None else f"{path}: is a model file of version "
                         f"{version!r:.40}; this version of ssm2d reads version {FILE_VERSION}")
    parts = {}
    for key in ("config", "data", "evaluation"):
        if key not in notes:
            raise ValueError(f"{path}: \"{key}\" is missing in its metadata")
        parts[key] = parse_json(f"{path}: {key}", notes[key].encode())
    config = configs.parse(f"{path}: config", parts["config"])
    data = _read_data(f"{path}: data", parts["data"], config["classes"])
    model = _load(f"{path}: config", config, path, backend)
    _describe(model, f"{path}: evaluation", parts["evaluation"], f"{path}: data", data)
    return _finish(model, image_size)


def _trained(path: str, settings: dict) -> dict:
    """The model of train.json; a run without the key "mixer" has the model's own mixer."""
    name = settings.get("model")
    if isinstance(name, str) and name in configs.TABLE["models"]:
        settings = {"mixer": configs.TABLE["models"][name]["mixer"], **settings}
    return configs.parse(path, settings, others=True)


def _check_same(paths: dict, config: dict, other: dict) -> None:
    """Checks that config.json, for `ssm2d run`, and train.json describe the same model."""
    for key in config:
        if config[key] != other.get(key):
            raise ValueError(f"{paths['config.json']}: \"{key}\" is {str(config[key])[:80]}, but "
                             f"{str(other.get(key))[:80]} in train.json: the file was changed")


def _preparation(path: str, settings: dict) -> dict:
    """How a run prepares images; missing keys keep their original defaults."""
    crop, kind = settings.get("eval_crop", 0), settings.get("interpolation", "bilinear")
    if isinstance(crop, bool) or not isinstance(crop, (int, float)) or not 0 <= crop <= 1:
        raise ValueError(f"{path}: \"eval_crop\" is {str(crop)[:40]}: use a number from 0 to 1")
    if not isinstance(kind, str) or kind not in FILTERS:
        raise ValueError(f"{path}: \"interpolation\" is {str(kind)[:40]}: use "
                         f"{' or '.join(FILTERS)}")
    return {"eval_crop": crop, "interpolation": kind}


def _read_data(path: str, data: dict, classes: int) -> dict:
    names = data.get("classes")
    if not isinstance(names, list) or not names or not all(isinstance(n, str) for n in names):
        raise ValueError(f"{path}: \"classes\" is not a list of names")
    if len(names) != classes:
        raise ValueError(f"{path}: \"classes\" has {len(names)} names, but the model has {classes}")
    if data.get("labels", "binary") != "binary":
        raise ValueError(f"{path}: \"labels\" is {str(data['labels'])[:40]!r}: use \"binary\", or "
                         "leave it out if each image has one class")
    for key in ("mean", "std"):
        values = data.get(key)
        if not isinstance(values, list) or len(values) != 3 or not all(
                isinstance(v, (int, float)) and not isinstance(v, bool) for v in values):
            raise ValueError(f"{path}: \"{key}\" is not a list of three numbers")
    images = data.get("images", 1)
    if isinstance(images, bool) or not isinstance(images, int) or images < 1:
        raise ValueError(f"{path}: \"images\" is {str(images)[:40]}: use a whole number from 1")
    return data


# ---- writing -------------------------------------------------------------------------------------

@contextmanager
def _locked(folder: str):
    """Takes the tool's lock: only one process at a time writes to a run's folder."""
    try:
        import fcntl
    except ImportError:  # a system without such locks
        yield
        return
    fd = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(f"{folder}: another process is training in this folder: wait for it, "
                             "or stop it") from None
        except OSError:  # a file system without locks
            pass
        yield
    finally:
        os.close(fd)


def _make_room(folder: str, overwrite: bool) -> None:
    """Refuses a folder with files that would be replaced, or removes the run in it (overwrite)."""
    there = [name for name in FILES if os.path.lexists(os.path.join(folder, name))]
    if not there:
        return
    if "train.json" not in there:
        raise FileExistsError(f"{folder}: has a file {there[0]}, but no train.json, so that it is "
                              "not a run's: give another folder")
    if not overwrite:
        raise FileExistsError(f"{folder}: has a run already: overwrite=True replaces it, or give "
                              "another folder")
    train = os.path.join(folder, "train.json")
    settings = read_json(train)
    if "model" not in settings or "data" not in settings:
        raise ValueError(f"{train}: is not a run's: give another folder")
    for name in reversed(there):  # train.json is the last
        os.unlink(os.path.join(folder, name))


def _texts(model: Model, data: Optional[str]) -> dict:
    config, how, known = model.config, model.preprocess, dict(model.evaluation)
    images = known.pop("images", None)
    if data is not None:
        known = {"data": _where(data)}
    known.setdefault("data", NO_DATA)
    if model.labels == "binary":
        known["loss"] = "bce"
    train = {**known, "eval_crop": how.eval_crop, "interpolation": how.interpolation, **config}
    about = {"classes": list(model.classes),
             "task": "attributes" if model.labels == "binary" else "classification"}
    if model.labels == "binary":
        about["labels"] = "binary"
    about["channels"] = config["channels"]
    if images is not None and data is None:
        about["images"] = images
    about.update(mean=list(how.mean), std=list(how.std))
    return {"train.json": train, "config.json": config, "data.json": about}


def _where(data) -> str:
    """The data as saved in a run: a folder, alone or as NAME:FOLDER, with its absolute path; or the
    name of a data set."""
    text = os.fspath(data)
    kind, colon, folder = text.partition(":")
    if colon and os.path.isdir(folder):
        return f"{kind}:{os.path.abspath(folder)}"
    return os.path.abspath(text) if os.path.isdir(text) else text


def _check_model(model: Model) -> None:
    if not isinstance(model, Model):
        raise TypeError(f"model={type(model).__name__}: use one of load_run, load_model or "
                        "create_model")
    if model.preprocess is None:
        raise ValueError("model.preprocess: is not known, and a run says how its images are "
                         "normalised: assign a Preprocess, or give create_model mean and std")
    config, how = model.config, model.preprocess
    if (list(how.image_size), how.channels) != (config["image"], config["channels"]):
        raise ValueError(f"model.preprocess: gives {how.channels} channels of "
                         f"{how.image_size[0]} x {how.image_size[1]}, but the model takes "
                         f"{config['channels']} of {config['image'][0]} x {config['image'][1]}")
    if len(model.classes) != config["classes"] or not all(isinstance(c, str)
                                                          for c in model.classes):
        raise ValueError(f"model.classes: use {config['classes']} names")


def save_run(model: Model, folder, *, data=None, overwrite: bool = False) -> None:
    """Writes a folder that `ssm2d eval`, `predict`, `kernels` and `train --start
    FOLDER/model.safetensors` can read. It has the weights and their description, but no
    checkpoint, so `ssm2d train --resume` refuses it.

    data: the data for evaluation, as for `ssm2d train --data`; default: the data of the run that
        the model came from, or none: `ssm2d eval` then needs --data
    overwrite: replaces all files of a run in the folder; without it nothing is replaced"""
    _check_model(model)
    folder = os.fspath(folder)
    texts, (arrays, notes) = _texts(model, data), weights_of(model)
    os.makedirs(folder, exist_ok=True)
    with _locked(folder):
        _make_room(folder, overwrite)
        for name, value in texts.items():
            text = json.dumps(value, indent=1, ensure_ascii=False) + "\n"
            write_whole(os.path.join(folder, name), [text.encode()], False)
        save_safetensors(os.path.join(folder, WEIGHTS["last"]), arrays, notes)
