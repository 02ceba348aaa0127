"""Whole models in PyTorch: ViT and DeiT, Swin, Mega, with or without a mixer, the same as
those of `ssm2d train`."""
from .blocks import Model
from .mega import Mega
from .preprocess import Preprocess
from .runs import create_model, load_model, load_run, save_run
from .swin import SwinTransformer
from .vit import VisionTransformer

__all__ = ["Mega", "Model", "Preprocess", "SwinTransformer", "VisionTransformer", "create_model",
           "load_model", "load_run", "save_run"]
