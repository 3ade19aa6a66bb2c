"""Says which nodes a target takes of which no backend can be asked, so that a graph can be partitioned for it.

An accelerator without a backend takes what its operator table says; one without a table takes nothing. A device stands
for whatever generates code for it, and takes every node.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from intarsia.partitioning.capability import Capability

if TYPE_CHECKING:
    from intarsia.graph import Graph
    from intarsia.target import Target


def described_capability(graph: Graph, target: Target) -> Capability:
    """What a target takes of which no backend can be asked."""
    if not target.kind.partial:
        return Capability(refusals=MappingProxyType({}))
    from intarsia.backends.operator_tables.table import refusals  # which plans without such a target do not need
    from intarsia.backends.operator_tables.tables import TABLES

    table = TABLES.get(target.kind.name)
    if table is not None:
        return Capability(refusals=refusals(graph, table(target)))
    reason = f"nothing here says which operators {target.kind.name} takes"
    return Capability(refusals=MappingProxyType({node.id: reason for node in graph.nodes}))
