"""Limits that several engines have: of windows, groups, shapes."""

from __future__ import annotations

from collections.abc import Collection
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING

from intarsia.backends.contract.node_facts import Case, constant, refused

if TYPE_CHECKING:
    from intarsia.graph import Graph, Node

_QLINEAR = "QLinearConv"
Pair = tuple[tuple[int, ...], tuple[int, ...]]


def shape_of(node: Node, graph: Graph, position: int = 0) -> tuple[int, ...]:
    """Sizes of an input; empty where they are unknown."""
    return graph.values[node.inputs[position]].shape or ()


def result_of(node: Node, graph: Graph) -> tuple[int, ...]:
    """Sizes of the first output; empty where they are unknown."""
    return graph.values[node.outputs[0]].shape or ()


def weight_of(node: Node, graph: Graph) -> tuple[int, ...]:
    """Sizes of the weight of a convolution."""
    return shape_of(node, graph, 3 if node.op_type == _QLINEAR else 1)


def kernel(node: Node, graph: Graph) -> tuple[int, ...]:
    """Sizes of the window; for a global pool, those of the image."""
    if node.op_type.startswith("Global"):
        return shape_of(node, graph)[2:]
    return tuple(node.attributes.get("kernel_shape") or weight_of(node, graph)[2:])


def steps(node: Node, graph: Graph) -> tuple[int, ...]:
    """Strides of the window."""
    return tuple(node.attributes.get("strides") or [1] * len(kernel(node, graph)))


def dilations(node: Node, graph: Graph) -> tuple[int, ...]:
    """Distances between the elements of the window."""
    return tuple(node.attributes.get("dilations") or [1] * len(kernel(node, graph)))


def pads(node: Node, graph: Graph) -> Pair:
    """Padding before and behind each axis, also where an attribute only says how to find it."""
    window, axes = kernel(node, graph), len(kernel(node, graph))
    mode = node.attributes.get("auto_pad", "NOTSET")
    if mode in ("NOTSET", b"NOTSET"):
        stated = tuple(node.attributes.get("pads") or [0] * (2 * axes))
        return stated[:axes], stated[axes:]
    if str(mode).find("SAME") < 0:
        return (0,) * axes, (0,) * axes
    sizes = zip(
        shape_of(node, graph)[2:], result_of(node, graph)[2:], window, steps(node, graph), dilations(node, graph),
        strict=False,
    )  # fmt: skip
    needed = [max((given - 1) * step + (size - 1) * apart + 1 - read, 0) for read, given, size, step, apart in sizes]
    less, more = tuple(each // 2 for each in needed), tuple(each - each // 2 for each in needed)
    return (less, more) if str(mode).find("LOWER") < 0 else (more, less)


def is_depthwise(node: Node, graph: Graph) -> bool:
    """Whether each channel has a filter of its own, and only one."""
    weight, image = weight_of(node, graph), shape_of(node, graph)
    groups = node.attributes.get("group", 1)
    return groups > 1 and len(weight) > 1 and len(image) > 1 and groups == image[1] == weight[0]


flat_weight: Case = refused("needs a weight of two dimensions", lambda node, graph: len(shape_of(node, graph, 1)) != 2)
undilated: Case = refused("takes no dilation", lambda node, graph: any(each != 1 for each in dilations(node, graph)))
even_pads: Case = refused("takes the same padding on both sides", lambda node, graph: len(set(pads(node, graph))) != 1)
plain_or_depthwise: Case = refused(
    "takes one group, or one for each channel",
    lambda node, graph: node.attributes.get("group", 1) != 1 and not is_depthwise(node, graph),
)
not_depthwise: Case = refused("takes no group for each channel", is_depthwise)
inside: Case = refused(
    "does not crop", lambda node, graph: any(each < 0 for side in pads(node, graph) for each in side)
)
two_inputs: Case = refused("takes two inputs", lambda node, graph: len(node.inputs) != 2)


def _shapes_differ(node: Node, graph: Graph) -> bool:
    shapes = [graph.values[name].shape for name in node.inputs]
    return None in shapes or any(one != other for one, other in pairwise(shapes))


same_shapes: Case = refused("takes inputs of one shape", _shapes_differ)


def window_of(sizes: Collection[int], strides: Collection[int]) -> Case:
    """A limit: the window has one of these sizes on each axis, and one of these strides."""

    def limit(node: Node, graph: Graph) -> str | None:
        if not set(kernel(node, graph)) <= set(sizes):
            return f"takes no window of {_by(kernel(node, graph))}"
        if not set(steps(node, graph)) <= set(strides):
            return f"takes no strides of {_by(steps(node, graph))}"
        return None

    return limit


def axis_at(*allowed: int) -> Case:
    """A limit: the attribute ``axis``, counted from the front, is one of these."""

    def limit(node: Node, graph: Graph) -> str | None:
        rank = len(result_of(node, graph))
        axis = node.attributes.get("axis", -1 if "oftmax" in node.op_type else 0)
        axis = axis + rank if axis < 0 else axis
        return None if axis in allowed else f"does not take axis {axis}"

    return limit


def axes_of(node: Node, graph: Graph, position: int = 1) -> tuple[int, ...] | None:
    """The axes that an input states, counted from the front; ``None`` where they are left out or computed."""
    stated = node.attributes.get("axes")
    if stated is None:
        content = constant(node, graph, position)
        stated = None if content is None else content.reshape(-1).tolist()
    if stated is None:
        return None
    rank = len(shape_of(node, graph))
    return tuple(sorted(axis + rank if axis < 0 else axis for axis in stated))


def per_channel_operand(node: Node, graph: Graph) -> bool:
    """Whether one of two inputs is a weight with a number for each channel, or one for all."""
    found = [name for name in node.inputs if _kept(name, graph) is not None]
    if len(found) != 1:
        return False
    shape = _kept(found[0], graph) or ()
    channels = (result_of(node, graph) or (0, 0))[1] if len(result_of(node, graph)) > 1 else 0
    return prod(shape) == 1 or (prod(shape) == channels and len(shape) > 2 and shape[-3] == channels)


def _kept(name: str, graph: Graph) -> tuple[int, ...] | None:
    """Sizes of a weight, also of one in integers; ``None`` if the value is none."""
    producer = graph.values[name].producer
    if producer is not None and graph.nodes[producer].op_type == "DequantizeLinear":
        name = graph.nodes[producer].inputs[0]
    return graph.weights[name].shape if name in graph.weights else None


def _by(sizes: Collection[int]) -> str:
    return "x".join(map(str, sizes))
