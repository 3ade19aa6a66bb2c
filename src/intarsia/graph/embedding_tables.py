"""Finds inputs that are row numbers of a table, so that random inputs stay within the table."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from intarsia.graph.graph import Graph

_PASSING = ("Cast", "Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze")
"""Operators behind which a number is still the same."""


def table_rows(graph: Graph) -> dict[str, int]:
    """For each value that numbers rows: how many rows the smallest table has that it is used with."""
    rows: dict[str, int] = {}
    for node in reversed(graph.nodes):
        if node.domain != "" or not node.inputs:
            continue
        if node.op_type == "Gather" and node.inputs[0] in graph.weights:
            shape = graph.weights[node.inputs[0]].shape
            _note(rows, node.inputs[1], shape[int(node.attributes.get("axis", 0))])
        elif node.op_type in _PASSING and node.outputs[0] in rows:
            _note(rows, node.inputs[0], rows[node.outputs[0]])
    return rows


def _note(rows: dict[str, int], name: str, count: int) -> None:
    rows[name] = min(count, rows.get(name, count))
