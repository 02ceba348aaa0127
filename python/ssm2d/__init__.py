"""ssm2d - the 2-D state-space layer for vision models, fast on CPUs.

    ssm2d.torch.SSM2d                       the layer as a PyTorch module
    ssm2d.torch.S4ND, EMA                   baselines
    ssm2d.torch.Layer                       a layer of any kind as a PyTorch module
    ssm2d.torch.add_mixers                  adds a layer to the blocks of a vision transformer
    ssm2d.torch.load_run, save_run          whole models from and to the folders of `ssm2d train`
    ssm2d.kernel, forward, scan, Stream     the layer on NumPy arrays
    ssm2d.Layer                             a layer of any kind on NumPy arrays
    ssm2d.kinds, options, describe          the kinds of layers and their options
    ssm2d.load_safetensors, save_safetensors    weights in the format of `ssm2d train`
    ssm2d.plot_kernels                      pictures of kernels, with matplotlib

`import ssm2d.torch` needs PyTorch; the rest needs NumPy only.
"""
from ._library import lib as _lib
from .arrays import Layer, Stream, forward, init_params, kernel, scan
from .config import Config, describe, kinds, options
from .plot import plot_kernels
from .safetensors import load_safetensors, save_safetensors

__version__ = _lib.ssm2d_version().decode()
__all__ = ["Config", "Layer", "Stream", "describe", "forward", "init_params", "kernel", "kinds",
           "load_safetensors", "options", "plot_kernels", "save_safetensors", "scan"]
