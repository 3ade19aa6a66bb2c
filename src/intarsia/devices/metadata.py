"""Constraints that travel with a model: each node may carry its own, and the model a whole file of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from intarsia.devices.constraint import Constraint
from intarsia.devices.constraint_file import parse_constraints

if TYPE_CHECKING:
    from intarsia.graph import Graph

MODEL_KEY = "intarsia.devices"
"""Metadata key of a model; the value is the text of a file of constraints."""
NODE_KEY = "intarsia.device"
"""Metadata key of a node; the value is a label or a device. A function gives its own to its nodes."""


def model_constraints(graph: Graph) -> tuple[Constraint, ...]:
    """The constraints that a model carries.

    Raises:
        ConfigError: The model's metadata says what a file of constraints cannot say.
    """
    own = (
        Constraint.node(node.id, node.metadata[NODE_KEY].strip(), source=f"the metadata of node {node.id!r}")
        for node in graph.nodes
        if NODE_KEY in node.metadata
    )
    text = graph.metadata.get(MODEL_KEY)
    return (*own, *(() if text is None else parse_constraints(text, f"the model's metadata {MODEL_KEY!r}")))
