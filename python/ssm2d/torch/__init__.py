"""The layer for PyTorch: SSM2d, a module; add_mixers, which puts it into vision transformers."""
from . import layer_operator
from .layer import SSM2d, decay_groups, get_num_threads, set_num_threads
from .mixers import add_mixers

__all__ = ["SSM2d", "add_mixers", "decay_groups", "get_num_threads", "set_num_threads"]
