"""The normalised graph: one frozen view that every later stage shares. `graph.normalisation` makes it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from intarsia.errors import PlanError
from intarsia.graph.parts import Node, Value, Weight
from intarsia.spec.problems import nearest

SIZES_KEY = "intarsia.sizes"
"""The entry of a graph's metadata that holds `Graph.sizes`, as JSON with sorted keys."""
PLANS_KEY = "intarsia.bodies"
"""The entry of a node's metadata that says by which plan its bodies run; see `intarsia.graph.bodies`."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Graph:
    """A model after normalisation. Equal only to itself; `graph.fingerprint` compares content.

    Attributes:
        nodes: In topological order.
        inputs: Names of the values the caller must feed.
        outputs: Names of the values the caller gets.
        values: Every value by name, weights included.
        opsets: Version of each operator domain in use.
        metadata: The model's own key-value pairs.
        position: Index of each node by id.
        memo: What was computed from the graph and takes long for large models, kept for the next one who asks. It only
            ever caches, so the graph still counts as frozen.
    """

    nodes: tuple[Node, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    values: Mapping[str, Value]
    weights: Mapping[str, Weight]
    opsets: Mapping[str, int]
    ir_version: int
    metadata: Mapping[str, str]
    name: str
    position: Mapping[str, int] = field(repr=False)
    memo: dict[Any, Any] = field(default_factory=dict, repr=False)

    def node(self, id_: str) -> Node:
        """Return the node of that id. Raises `PlanError`, which names the most similar id, if there is none."""
        index = self.position.get(id_)
        if index is None:
            raise PlanError(f"the graph has no node {id_!r}{nearest(id_, self.position)}")
        return self.nodes[index]

    @property
    def weight_bytes(self) -> int:
        """Bytes of all weights in memory."""
        return sum(weight.nbytes for weight in self.weights.values())

    @property
    def sizes(self) -> Mapping[str, int]:
        """The sizes of open dimensions at which it is measured and verified; empty if all dimensions are known."""
        return MappingProxyType(json.loads(self.metadata.get(SIZES_KEY, "{}")))

    def with_sizes(self, sizes: Mapping[str, int]) -> Graph:
        """Return the same graph, to be measured and verified at these sizes."""
        return self.with_metadata({SIZES_KEY: json.dumps(dict(sorted(sizes.items())))})

    def with_metadata(self, entries: Mapping[str, str]) -> Graph:
        """Return the same graph with these pairs added to its metadata; a new pair replaces one of the same key."""
        return replace(self, metadata=MappingProxyType({**self.metadata, **entries}))
