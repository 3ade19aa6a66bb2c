"""Weights for torch modules: each parameter drawn by what it does, so that activations stay O(1) through the depth.

A torch module starts with weights of its own, but many of them do nothing (norms of exactly 1, branches scaled by
1e-6): an engine that got those wrong would not be noticed.
"""

from __future__ import annotations

import math
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor

    from networks.draw import Draw, Floats

_CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
_TRANSPOSED = (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)
_BATCH_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)
_NORMS = (*_BATCH_NORMS, nn.LayerNorm, nn.GroupNorm)
# What norms and biases stray by from the value that does nothing.
_SPREAD = 0.05
# Position embeddings, tables of relative positions, class tokens: parameters of a module of their own.
_TABLE = 0.2
# ConvNeXt scales each branch by a parameter; trained ones are of this order.
_LAYER_SCALE = 0.3


def redraw(module: nn.Module, draw: Draw) -> None:
    """Give every parameter of `module`, and the statistics of its batch norms, numbers from `draw` by its name."""
    with torch.no_grad():
        for key, parameter in module.named_parameters():
            layer = module.get_submodule(key.rpartition(".")[0])
            parameter.copy_(torch.from_numpy(_values(draw, key, layer, parameter)))
    for path, layer in module.named_modules():
        if isinstance(layer, _BATCH_NORMS):
            count = (layer.num_features,)
            layer.running_mean.copy_(torch.from_numpy(draw.normal(f"{path}.mean", count, std=_SPREAD)))
            layer.running_var.copy_(torch.from_numpy(draw.uniform(f"{path}.var", count, 1 - _SPREAD, 1 + _SPREAD)))


def _values(draw: Draw, key: str, layer: nn.Module, parameter: Tensor) -> Floats:
    role, shape = key.rpartition(".")[2], tuple(parameter.shape)
    if role.startswith("bias"):
        return draw.normal(key, shape, std=_SPREAD)
    if isinstance(layer, _NORMS):
        return draw.normal(key, shape, mean=1.0, std=_SPREAD)
    if "layer_scale" in role:
        return draw.normal(key, shape, mean=_LAYER_SCALE, std=_LAYER_SCALE * _SPREAD)
    fan_in = _fan_in(layer, shape)
    if isinstance(layer, (*_CONVOLUTIONS, *_TRANSPOSED)):
        return draw.he(key, shape, fan_in)
    return draw.normal(key, shape, std=1 / math.sqrt(fan_in) if fan_in else _TABLE)


def _fan_in(layer: nn.Module, shape: tuple[int, ...]) -> int:
    """How many products each number of the result is the sum of; 0 for what is not multiplied."""
    if isinstance(layer, _TRANSPOSED):
        strides: tuple[int, ...] = layer.stride
        return shape[0] * math.prod(shape[2:]) // math.prod(strides)
    if isinstance(layer, (*_CONVOLUTIONS, nn.Linear, nn.RNNBase)):
        return math.prod(shape[1:])
    # GPT-2's projections are stored the other way round than Linear's, by a class of this name.
    return shape[0] if type(layer).__name__ == "Conv1D" else 0


@contextmanager
def calibrated(module: nn.Module) -> Iterator[None]:
    """Within, a forward pass scales each convolution so that what it gives is O(1) (Mishkin and Matas, 2016).

    The scale is a power of two, so that the weights do not hang on the last bits of this machine's sums.
    """

    def scale(layer: nn.Module, _: Any, output: Tensor) -> Tensor:
        power = 2.0 ** -round(math.log2(output.std().item()))
        for parameter in layer.parameters():
            parameter.mul_(power)
        return output * power

    kinds = (*_CONVOLUTIONS, *_TRANSPOSED)
    hooks = [layer.register_forward_hook(scale) for layer in module.modules() if isinstance(layer, kinds)]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
