"""Layers for PyTorch: Layer, a module of any kind of the library; SSM2d, the 2-D state-space layer;
S4ND and EMA, which it is compared with; add_mixers, which puts one of them into vision
transformers. Whole models: load_run, save_run, create_model."""
from .decay import decay_groups
from .layer import EMA, S4ND, Layer, SSM2d
from .mixers import add_mixers
from .models import Model, Preprocess, create_model, load_model, load_run, save_run
from .plans import get_num_threads, set_num_threads

__all__ = ["EMA", "Layer", "Model", "Preprocess", "S4ND", "SSM2d", "add_mixers", "create_model",
           "decay_groups", "get_num_threads", "load_model", "load_run", "save_run",
           "set_num_threads"]
