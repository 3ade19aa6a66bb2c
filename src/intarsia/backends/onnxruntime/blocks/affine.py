"""Joins our operators that multiply and shift each channel by constants: with one another, and with a 1x1 convolution.

ONNX Runtime writes a normalisation, and products and sums with a constant for each channel, as a pass over the values
each. Until it is finished here, such a node of ours has an empty name for a factor or a shift that it lacks.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection

import onnx

from intarsia.backends.onnxruntime.blocks.blocked_nodes import AFFINE
from intarsia.backends.onnxruntime.saved_model import attributes_of, constant_of
from intarsia.graph.placeholder_ops import DOMAIN

POINTWISE, POINTWISE_AFFINE = "Pointwise", "PointwiseAffine"
_BIAS, _SUM = 2, 3
_STAGES = 2
"""Products and sums that one operator does one after the other, at most."""
Stages = tuple[tuple[str, str], ...]
"""The names of factors and shifts; empty for none."""


def join_affine(graph: onnx.GraphProto) -> None:
    """Join them where nothing else reads what lies between, and give each all its inputs."""
    readers = Counter(name for node in graph.node for name in node.input)
    kept = {value.name for value in graph.output}
    makers: dict[str, onnx.NodeProto] = {}
    for node in [each for each in graph.node if _is_affine(each)]:
        before = makers.get(node.input[0])
        stages = _stages(node)
        alone = before is not None and readers[node.input[0]] == 1 and node.input[0] not in kept
        if before is not None and alone and _is_free(before):
            both = _joined(_stages(before), stages)
            if len(both) <= _STAGES:
                node.input[0], stages = before.input[0], both
                graph.node.remove(before)
        node.input[:] = [node.input[0], *(name for stage in stages for name in stage)]
        makers[node.output[0]] = node
    _complete(graph)


def takers(graph: onnx.GraphProto, able: Collection[str]) -> list[onnx.NodeProto]:
    """The nodes that alone read what such an operator gives and add nothing, of those that give these values."""
    readers = Counter(name for node in graph.node for name in node.input)
    made = {node.output[0] for node in graph.node if _is_affine(node)} - {value.name for value in graph.output}
    return [
        node
        for node in graph.node
        if node.output[0] in able
        and node.input[0] in made
        and readers[node.input[0]] == 1
        and not any(node.input[_SUM:])
    ]


def take_in(graph: onnx.GraphProto) -> None:
    """Let 1x1 convolutions of ours that alone read what such an operator gives do its work on what they read."""
    makers = {node.output[0]: node for node in graph.node if _is_affine(node)}
    sizes = {tensor.name: tensor.dims[0] for tensor in graph.initializer if tensor.dims}
    ours = {node.output[0] for node in graph.node if (node.domain, node.op_type) == (DOMAIN, POINTWISE)}
    for node in takers(graph, ours):
        before = makers[node.input[0]]
        stated = attributes_of(before)
        bias = node.input[_BIAS] if len(node.input) > _BIAS and node.input[_BIAS] else ""
        bias = bias or constant_of(graph, 0.0, sizes[node.input[1]])
        node.op_type = POINTWISE_AFFINE
        node.input[:] = [before.input[0], node.input[1], bias, *before.input[1:]]
        limits = {"before_low": stated["low"], "before_high": stated["high"]}
        node.attribute.extend(onnx.helper.make_attribute(key, value) for key, value in limits.items())
        graph.node.remove(before)


def _is_affine(node: onnx.NodeProto) -> bool:
    return (node.domain, node.op_type) == (DOMAIN, AFFINE)


def _stages(node: onnx.NodeProto) -> Stages:
    names = tuple(node.input[1:])
    return tuple(zip(names[::2], names[1::2], strict=True))


def _is_free(node: onnx.NodeProto) -> bool:
    """Whether it holds nothing of what comes out."""
    stated = attributes_of(node)
    return bool(stated["low"] == -math.inf and stated["high"] == math.inf)


def _joined(one: Stages, other: Stages) -> Stages:
    """Both, one after the other; a product without a shift takes that of a sum behind it."""
    (factor, shift), (next_factor, next_shift) = one[-1], other[0]
    if not shift and not next_factor:
        return (*one[:-1], (factor, next_shift), *other[1:])
    return (*one, *other)


def _complete(graph: onnx.GraphProto) -> None:
    """Factors of one and shifts of zero where a node has none: ONNX Runtime wants a type of every input."""
    sizes = {tensor.name: math.prod(tensor.dims) for tensor in graph.initializer}
    made: dict[tuple[float, int], str] = {}
    for node in filter(_is_affine, graph.node):
        channels = max(sizes[name] for name in node.input[1:] if name)
        for at, name in enumerate(node.input):
            if not name:
                number = 1.0 if at % 2 else 0.0
                node.input[at] = made.setdefault((number, channels), constant_of(graph, number, channels))
