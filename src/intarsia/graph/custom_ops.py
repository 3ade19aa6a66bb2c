"""Finds the results of custom operators: those that ONNX does not define, whose types only some engines know."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnx import defs

from intarsia.graph.reference.contrib_ops import CONTRIB_OPS

if TYPE_CHECKING:
    from intarsia.graph.graph import Graph


def custom_op_values(graph: Graph) -> tuple[str, ...]:
    """Names of the values that custom operators compute, in the graph's order."""
    custom = (node for node in graph.nodes if not defs.has(node.op_type, node.domain))
    return tuple(name for node in custom for name in node.outputs if name)


def unknown_values(graph: Graph) -> tuple[str, ...]:
    """Of `custom_op_values` those that the reference evaluator cannot compute either."""
    known = {(op.op_domain, op.__name__) for op in CONTRIB_OPS}
    computed = {name for node in graph.nodes if (node.domain, node.op_type) in known for name in node.outputs}
    return tuple(name for name in custom_op_values(graph) if name not in computed)
