"""Operator-set versions as engines ask for them: lowered by relabelling. Raising them is `graph.raising`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import onnx
from onnx import defs

from intarsia.errors import ModelError

if TYPE_CHECKING:
    from intarsia.graph.graph import Graph
    from intarsia.graph.parts import Node

OPSET = 21
"""The oldest version of ONNX's own operators that later stages see: what its evaluator computes correctly."""


def lowered(nodes: Iterable[Node], graph: Graph, max_opset: int | None, max_ir: int | None) -> tuple[int | None, int]:
    """The opset and IR version to write for a reader that knows no newer ones.

    An opset is only relabelled, never converted: every operator must be the same in both.

    Raises:
        ModelError: Some operator is not, or needs a newer IR version.
    """
    opset = graph.opsets.get("")
    if opset is not None and max_opset is not None and opset > max_opset:
        for node in nodes:
            _check_unchanged(node, opset, max_opset)
        opset = max_opset
    version = graph.ir_version
    if max_ir is not None and version > max_ir:
        if max_ir < 4:
            raise ModelError(f"IR version {max_ir} has no constants apart from inputs; 4 is the oldest we write")
        version = max_ir
    return opset, version


def _check_unchanged(node: Node, opset: int, max_opset: int) -> None:
    for op_type in own_operators(node.proto):
        try:
            since = defs.get_schema(op_type, opset).since_version
        except defs.SchemaError:
            continue
        if since > max_opset:
            inner = "" if op_type == node.op_type else f" (inside {node.op_type})"
            raise ModelError(
                f"node {node.id!r}: {op_type}{inner} changed in opset {since}, and the reader knows only {max_opset}"
            )


def own_operators(node: onnx.NodeProto) -> Iterator[str]:
    """The types of ONNX's own operators that a node has in it, itself included."""
    if node.domain == "":
        yield node.op_type
    for attribute in node.attribute:
        for graph in (attribute.g, *attribute.graphs):
            for inner in graph.node:
                yield from own_operators(inner)
