"""Reductions over any axes but the batch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from intarsia.backends.ncnn.lowering.builder import Builder, drops_batch
from intarsia.backends.ncnn.lowering.layer import Refused, Shape
from intarsia.backends.ncnn.lowering.normalise import reduced

if TYPE_CHECKING:
    from intarsia.graph import Node

_OPERATIONS: Mapping[str, int] = {
    "ReduceSum": 0,
    "ReduceSumSquare": 2,
    "ReduceMean": 3,
    "ReduceMax": 4,
    "ReduceMin": 5,
    "ReduceProd": 6,
    "ReduceL1": 7,
    "ReduceL2": 8,
}
REDUCTIONS = tuple(_OPERATIONS)
"""Every operator that `reduce` lowers. ReduceLogSumExp is none of them: ncnn's overflows."""


def reduce(build: Builder, node: Node) -> None:
    """A reduction over constant axes."""
    blob = build.blob(node.inputs[0])
    axes = _axes(build, node)
    if not axes:
        if not node.attributes.get("noop_with_empty_axes", 0):
            raise Refused("only the batch is reduced, which ncnn does not have")
        build.bind(node.outputs[0], blob)
        return
    shape = tuple(1 if axis in axes else n for axis, n in enumerate(build.shapes[blob]))
    build.bind(node.outputs[0], reduced(build, blob, _OPERATIONS[node.op_type], axes, shape))


def _axes(build: Builder, node: Node) -> Shape:
    """Axes of the blob, ascending. A batch of 1 is left out: reducing it changes nothing once others are reduced."""
    shape = build.shape(node.inputs[0])
    name = build.optional(node, 1)
    stated = build.constant(name).reshape(-1).tolist() if name else list(node.attributes.get("axes", ()))
    if not stated and node.attributes.get("noop_with_empty_axes", 0):
        return ()
    axes = {int(axis) % len(shape) for axis in stated} or set(range(len(shape)))
    dropped = int(drops_batch(shape))
    return tuple(sorted(axis - dropped for axis in axes if axis >= dropped))
