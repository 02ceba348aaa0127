"""The layer for PyTorch: SSM2d, a module; S4ND and EMA, which it is compared with; add_mixers,
which puts one of them into vision transformers. Whole models: load_run, save_run, create_model."""
from . import layer_operator
from .baseline import decay_groups
from .ema import EMA
from .layer import SSM2d, get_num_threads, set_num_threads
from .mixers import add_mixers
from .models import Model, Preprocess, create_model, load_model, load_run, save_run
from .s4nd import S4ND

__all__ = ["EMA", "Model", "Preprocess", "S4ND", "SSM2d", "add_mixers", "create_model",
           "decay_groups", "get_num_threads", "load_model", "load_run", "save_run",
           "set_num_threads"]
