"""Joins a 1x1 convolution and the depthwise one behind it, as mobile networks expand a picture, with what lies between.

The picture between them is the largest of the network; joined, only some of its rows are ever in memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import onnx

from intarsia.backends.onnxruntime.kernels.convolution import Convolution, described
from intarsia.backends.onnxruntime.kernels.expansion import is_expansion
from intarsia.backends.onnxruntime.kernels.finish import Finish, limits_of
from intarsia.backends.onnxruntime.saved_model import BLOCKED, attributes_of, constant_of
from intarsia.graph.placeholder_ops import DOMAIN

OPERATOR = "Expansion"
_WEIGHTS, _BIAS, _SUM = 1, 2, 3


def join_expansions(
    graph: onnx.GraphProto,
    constants: Mapping[str, tuple[int, ...]],
    block: int,
    is_free: Callable[[onnx.NodeProto], bool],
) -> list[str]:
    """Join what can be joined.

    Args:
        graph: As ONNX Runtime saves it; it is changed.
        constants: The shapes of its constants in float32.
        block: Channels of a block.
        is_free: Whether nobody asks for another kernel of a node.

    Returns:
        The values that joined nodes give.
    """
    readers = Counter(name for node in graph.node for name in node.input)
    readers.update(value.name for value in graph.output)
    makers = {node.output[0]: node for node in graph.node}
    by_reader = {name: node for node in graph.node for name in node.input if readers[name] == 1}
    joined, gone = [], set()
    for node in graph.node:
        two = _convolution(node, constants)
        between, first = _before(node.input[0], makers, readers) if two is not None else (None, None)
        one = _convolution(first, constants) if first is not None else None
        if first is None or one is None or two is None or not is_expansion(one, two, block):
            continue
        if not (is_free(node) and is_free(first)) or readers[first.output[0]] != 1:
            continue
        behind = by_reader.get(node.output[0])
        last = behind if behind is not None and _is_swish(behind) else None
        gone |= {id(each) for each in (first, between, last) if each is not None}
        _write(node, first, two, graph, is_swish=(between is not None, last is not None))
        if last is not None:
            node.output[0] = last.output[0]
        joined.append(node.output[0])
    kept = [node for node in graph.node if id(node) not in gone]
    del graph.node[:]
    graph.node.extend(kept)
    return joined


def _before(
    name: str, makers: Mapping[str, onnx.NodeProto], readers: Mapping[str, int]
) -> tuple[onnx.NodeProto | None, onnx.NodeProto | None]:
    """The swish that gives a value, if one does, and what stands before it; nobody else reads what lies between."""
    maker = makers.get(name)
    if maker is None or readers[name] != 1:
        return None, None
    return (maker, makers.get(maker.input[0])) if _is_swish(maker) else (None, maker)


def _is_swish(node: onnx.NodeProto) -> bool:
    return (node.domain, node.op_type) == ("com.microsoft", "QuickGelu") and attributes_of(node).get("alpha") == 1.0


def _convolution(node: onnx.NodeProto, constants: Mapping[str, tuple[int, ...]]) -> Convolution | None:
    """What a node convolves by, if it is ONNX Runtime's convolution on blocks and adds nothing to its results."""
    stated = attributes_of(node)
    is_host = (node.domain, node.op_type) == (BLOCKED, "Conv") and not any(node.input[_SUM:])
    has_constants = all(name in constants for name in node.input[1:] if name)
    if not is_host or not has_constants or limits_of(stated) is None:
        return None
    return described(constants[node.input[_WEIGHTS]], stated)


def _write(
    node: onnx.NodeProto,
    first: onnx.NodeProto,
    second: Convolution,
    graph: onnx.GraphProto,
    *,
    is_swish: tuple[bool, bool],
) -> None:
    inputs = [first.input[0]]
    for each in (first, node):
        bias = each.input[_BIAS] if len(each.input) > _BIAS else ""
        inputs += [each.input[_WEIGHTS], bias or constant_of(graph, 0.0, second.groups)]
    attributes: dict[str, Any] = {
        "strides": second.strides,
        "pads": second.pads,
    }
    for prefix, each, swish in (("", first, is_swish[0]), ("last_", node, is_swish[1])):
        finish = limits_of(attributes_of(each)) or Finish()
        attributes |= {f"{prefix}low": finish.low, f"{prefix}high": finish.high, f"{prefix}swish": int(swish)}
    node.domain, node.op_type = DOMAIN, OPERATOR
    node.input[:] = inputs
    del node.attribute[:]
    node.attribute.extend(onnx.helper.make_attribute(name, value) for name, value in attributes.items())
