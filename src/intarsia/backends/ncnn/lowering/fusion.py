"""Joins layers that ncnn computes as one, and drops those that change nothing.

ncnn runs a param file as it stands: its own optimiser is a separate program. What is joined here is a convolution (or a
product) with the scale and the activation that follow it, two scales, and chains of reshapes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from intarsia.backends.ncnn.lowering.layer import Block, Layer, Parameter, Vector

if TYPE_CHECKING:
    from intarsia.backends.ncnn.lowering.builder import Builder

_BIAS_FLAG: Mapping[str, int] = {
    "Convolution": 5,
    "ConvolutionDepthWise": 5,
    "Convolution1D": 5,
    "ConvolutionDepthWise1D": 5,
    "Deconvolution": 5,
    "DeconvolutionDepthWise": 5,
    "InnerProduct": 1,
}
"""Layers with output channels, and the parameter that says whether they have a bias."""
_ACTIVATION, _ACTIVATION_PARAMS = 9, 10


def fuse(build: Builder, outputs: Mapping[str, str]) -> tuple[list[Layer], dict[str, str]]:
    """The layers after joining, and the blob of each output value (names of values to blobs) among them."""
    pass_ = _Pass(build, Counter(outputs.values()))
    for layer in build.layers:
        pass_.add(layer)
    final = {name: pass_.current(blob) for name, blob in outputs.items()}
    return _alive(pass_.layers, final), final


class _Pass:
    """One walk over the layers. ``uses`` counts the readers of each blob, outputs among them."""

    def __init__(self, build: Builder, uses: Counter[str]) -> None:
        self.layers: list[Layer] = []
        self._build = build
        self._uses = uses + Counter(blob for layer in build.layers for blob in layer.inputs)
        self._maker: dict[str, int] = {}
        self._renamed: dict[str, str] = {}

    def current(self, blob: str) -> str:
        """The blob that now holds what ``blob`` held."""
        return self._renamed.get(blob, blob)

    def add(self, layer: Layer) -> None:
        """Take a layer over, joined with the one before it where that is possible."""
        layer = replace(layer, inputs=tuple(self.current(blob) for blob in layer.inputs))
        if layer.type == "Reshape":
            layer = self._shortened(layer)
            if self._build.shapes[layer.inputs[0]] == self._build.shapes[layer.outputs[0]]:
                self._replace(layer.outputs[0], layer.inputs[0])
                return
        joined = self._joined(layer)
        if joined is not None:
            self.layers[self._maker[layer.inputs[0]]] = joined
            self._replace(layer.outputs[0], layer.inputs[0])
            return
        self._maker |= dict.fromkeys(layer.outputs, len(self.layers))
        self.layers.append(layer)

    def _replace(self, old: str, new: str) -> None:
        self._renamed[old] = new
        self._uses[new] += self._uses[old] - 1

    def _shortened(self, layer: Layer) -> Layer:
        before = self._before(layer)
        if before is None or before.type != "Reshape":
            return layer
        source = before.inputs[0]
        self._uses[layer.inputs[0]] -= 1
        self._uses[source] += 1
        return replace(layer, inputs=(source,))

    def _before(self, layer: Layer) -> Layer | None:
        if len(layer.inputs) != 1 or layer.inputs[0] not in self._maker:
            return None
        return self.layers[self._maker[layer.inputs[0]]]

    def _joined(self, layer: Layer) -> Layer | None:
        before = self._before(layer)
        if before is None or self._uses[layer.inputs[0]] != 1:
            return None
        if layer.type == "Scale":
            return self._scaled(before, layer)
        if before.type not in _BIAS_FLAG or _ACTIVATION in before.params:
            return None
        activation = _activation(layer)
        return replace(before, params={**before.params, **activation}) if activation else None

    def _scaled(self, before: Layer, scale: Layer) -> Layer | None:
        factor, offset = (block.derived for block in scale.blocks)
        if factor is None or offset is None:
            return None
        if before.type == "Scale":
            first, second = before.blocks
            return replace(before, blocks=(_times(first, factor), self._shifted(second, factor, offset, scale)))
        flag = _BIAS_FLAG.get(before.type)
        rank = len(self._build.shapes[before.outputs[0]])
        if flag is None or _ACTIVATION in before.params or (before.type == "InnerProduct" and rank != 1):
            return None
        weight = _times(before.blocks[0], factor)
        bias = self._shifted(before.blocks[1] if before.params[flag] else None, factor, offset, scale)
        return replace(before, params={**before.params, flag: 1}, blocks=(weight, bias))

    def _shifted(self, bias: Block | None, factor: Vector, offset: Vector, scale: Layer) -> Block:
        rows = self._build.shapes[scale.outputs[0]][0]
        if bias is None:
            return Block(derived=offset)
        old = bias.derived or partial(self._build.vector, bias.weight, rows)
        return Block(derived=lambda: old() * factor() + offset())


def _times(block: Block, factor: Vector) -> Block:
    if block.derived is not None:
        return replace(block, derived=_product(block.derived, factor))
    return replace(block, factor=factor if block.factor is None else _product(block.factor, factor))


def _product(left: Vector, right: Vector) -> Vector:
    return lambda: np.asarray(left() * right())


def _activation(layer: Layer) -> dict[int, Parameter]:
    """The layer as an activation of the one before it; empty if it is none that ncnn can join."""
    params = layer.params
    match layer.type:
        case "ReLU" if not params:
            return {_ACTIVATION: 1}
        case "ReLU":
            return {_ACTIVATION: 2, _ACTIVATION_PARAMS: (_number(params, 0),)}
        case "Clip":
            return {_ACTIVATION: 3, _ACTIVATION_PARAMS: (_number(params, 0), _number(params, 1))}
        case "Sigmoid":
            return {_ACTIVATION: 4}
        case "Mish":
            return {_ACTIVATION: 5}
        case "HardSwish":
            return {_ACTIVATION: 6, _ACTIVATION_PARAMS: (_number(params, 0), _number(params, 1))}
        case _:
            return {}


def _number(params: Mapping[int, Parameter], key: int) -> float:
    value = params[key]
    assert isinstance(value, int | float)
    return float(value)


def _alive(layers: Sequence[Layer], outputs: Mapping[str, str]) -> list[Layer]:
    """Without the layers that nobody reads any more."""
    wanted = set(outputs.values())
    kept: list[Layer] = []
    for layer in reversed(layers):
        if wanted.intersection(layer.outputs):
            wanted.update(layer.inputs)
            kept.append(layer)
    return kept[::-1]
