"""Operators that ONNX does not define: what comes out of them, only an engine that knows them can tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnx import defs

if TYPE_CHECKING:
    from intarsia.graph.graph import Graph


def foreign_values(graph: Graph) -> tuple[str, ...]:
    """What such operators compute, in the graph's order."""
    foreign = (node for node in graph.nodes if not defs.has(node.op_type, node.domain))
    return tuple(name for node in foreign for name in node.outputs if name)
