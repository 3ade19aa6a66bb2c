"""Puts our own convolution in the place of ONNX Runtime's blocked ones, in a model that ONNX Runtime has optimised.

It knows how both are written; what they compute is the engine's business and the native library's.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import onnx

from intarsia.backends.onnxruntime.saved_model import parsed
from intarsia.graph.export import serialise

HOST = ("com.microsoft.nchwc", "Conv")
"""Domain and type of the convolution that is replaced."""
OWN = ("intarsia", "Winograd3x3")
"""Domain and type of the one that replaces it."""
_WEIGHTS, _BIAS, _SUM = 1, 2, 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Substituted:
    """A model after the substitution, and how many convolutions are ours now."""

    content: bytes
    replaced: int


def substitute(content: bytes, block: int) -> Substituted:
    """Replace every convolution that ours can compute in a model as ONNX Runtime saves its optimised graph.

    Raises:
        ModelError: The file is not ONNX.
    """
    model = parsed(content)
    constants = {tensor.name: tuple(tensor.dims) for tensor in model.graph.initializer}
    replaced = 0
    for node in model.graph.node:
        limits = _limits(node, constants, block)
        if limits is not None:
            _replace(node, limits, constants[node.input[_WEIGHTS]][0], model.graph)
            replaced += 1
    if replaced:
        model.opset_import.add(domain=OWN[0], version=1)
    return Substituted(content=serialise(model), replaced=replaced)


def fits(weights: tuple[int, ...], attributes: Mapping[str, Any], block: int) -> bool:
    """Whether ours computes the convolution with weights of this shape and these attributes.

    Both the standard ``Conv`` and the blocked one are described so; activations aside.
    """
    return (
        is_three_by_three(weights, attributes)
        and all(channels % block == 0 for channels in weights[:2])
        and attributes.get("group", 1) == 1
        and pads_by_one(attributes)
    )


def is_three_by_three(weights: tuple[int, ...], attributes: Mapping[str, Any]) -> bool:
    """Whether it is a convolution over two dimensions by 3x3, at every place."""
    return (
        len(weights) == 4
        and weights[2:] == (3, 3)
        and all(attributes.get(name) in (None, (), (1, 1)) for name in ("strides", "dilations"))
    )


def pads_by_one(attributes: Mapping[str, Any]) -> bool:
    """Whether its results are as many as its inputs, with a row of zeros around them."""
    match attributes.get("auto_pad", "NOTSET"):
        case "NOTSET" | "":
            return attributes.get("pads") == (1, 1, 1, 1)
        case "SAME_UPPER" | "SAME_LOWER":
            return True
        case _:
            return False


def _limits(node: onnx.NodeProto, constants: Mapping[str, tuple[int, ...]], block: int) -> tuple[float, float] | None:
    """Between what the results are clamped, or ``None`` if ours cannot take the node's place."""
    if (node.domain, node.op_type) != HOST:
        return None
    attributes = {attribute.name: _value(attribute) for attribute in node.attribute}
    weights = constants.get(node.input[_WEIGHTS], ())
    if not fits(weights, attributes, block):
        return None
    if _has(node, _BIAS) and constants.get(node.input[_BIAS]) != weights[:1]:
        return None
    match attributes.get("activation", ""), attributes.get("activation_params", ()):
        case ("", _):
            return (-math.inf, math.inf)
        case ("Relu", _):
            return (0.0, math.inf)
        case ("Clip", (low, high)):
            return (low, high)
        case _:
            return None


def _value(attribute: onnx.AttributeProto) -> Any:
    value = onnx.helper.get_attribute_value(attribute)
    if isinstance(value, bytes):
        return value.decode()
    return tuple(value) if isinstance(value, Sequence) else value


def _replace(node: onnx.NodeProto, limits: tuple[float, float], channels_out: int, graph: onnx.GraphProto) -> None:
    node.domain, node.op_type = OWN
    del node.attribute[:]
    for name, limit in zip(("low", "high"), limits, strict=True):
        node.attribute.append(onnx.helper.make_attribute(name, limit))
    if _has(node, _SUM) and not _has(node, _BIAS):
        # ONNX Runtime's shape inference for custom operators reads the type of every input up to the last one.
        node.input[_BIAS] = _zeros(channels_out, f"{node.output[0]}/bias", graph)


def _zeros(count: int, name: str, graph: onnx.GraphProto) -> str:
    """The name of a new constant."""
    taken = {tensor.name for tensor in graph.initializer} | {value for node in graph.node for value in node.output}
    while name in taken:
        name += "_"
    graph.initializer.append(onnx.helper.make_tensor(name, onnx.TensorProto.FLOAT, [count], [0.0] * count))
    return name


def _has(node: onnx.NodeProto, position: int) -> bool:
    return len(node.input) > position and node.input[position] != ""
