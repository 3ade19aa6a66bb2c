"""The normalised graph: one frozen view that every later stage shares. `graph.normalisation` makes it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from intarsia.errors import PlanError

if TYPE_CHECKING:
    from intarsia.graph.parts import Node, Value, Weight
    from intarsia.graph.submodel import SubModel


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Graph:
    """A model after normalisation. Compared by identity; ``fingerprint`` and ``content_hash`` compare content.

    Attributes:
        nodes: In topological order.
        inputs: Names of the values the caller must feed.
        outputs: Names of the values the caller gets.
        values: Every value by name, weights included.
        weights: Every constant by name.
        opsets: Version of each operator domain in use.
        ir_version: ONNX IR version of the model.
        metadata: The model's own key-value pairs.
        name: The graph's name in ONNX.
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
        """The node of that id.

        Raises:
            PlanError: No node has this id; the message names the nearest one.
        """
        index = self.position.get(id_)
        if index is None:
            nearest = get_close_matches(id_, self.position, n=1)
            hint = f"; did you mean {nearest[0]!r}?" if nearest else ""
            raise PlanError(f"the graph has no node {id_!r}{hint}")
        return self.nodes[index]

    @property
    def sizes(self) -> Mapping[str, int]:
        """Sizes of its open dimensions at which it is measured and checked; empty where every dimension is known."""
        from intarsia.graph.sizes import sizes_text

        return MappingProxyType(json.loads(sizes_text(self) or "{}"))

    @property
    def fingerprint(self) -> str:
        """Hex digest of structure, shapes, dtypes and the class of each weight, not of weight values or names."""
        return self.fingerprint_of(self.position)

    def fingerprint_of(self, node_ids: Iterable[str]) -> str:
        """`SubModel.fingerprint` of these nodes, computed once."""
        from intarsia.graph.sizes import sizes_text

        # Copies with other metadata share the memo, and the sizes are in the metadata.
        key = ("fingerprint", sizes_text(self), *node_ids)
        if key not in self.memo:
            self.memo[key] = self.extract(key[2:]).fingerprint
        return str(self.memo[key])

    def content_hash(self) -> str:
        """Hex digest of everything, all weight bytes included. Reads every weight on the first call."""
        from intarsia.graph.fingerprint import content_hash

        return content_hash(self)

    def with_metadata(self, entries: Mapping[str, str]) -> Graph:
        """The same graph with these key-value pairs of its own, beside those that it has or in place of them."""
        return replace(self, metadata=MappingProxyType({**self.metadata, **entries}))

    def extract(self, node_ids: Iterable[str]) -> SubModel:
        """The nodes of these ids as a model of its own that shares this graph's weights.

        The set should be convex (see ``partition``): if it is not, the sub-model takes as an input a value that
        depends on one of its own outputs.
        """
        from intarsia.graph.submodel import cut

        return cut(self, node_ids)

    @property
    def weight_index(self) -> tuple[tuple[str, int, int], ...]:
        """``(name, offset, nbytes)`` of each weight in ``weights.bin``; weights of equal bytes share an offset."""
        from intarsia.graph.store import weight_index

        return weight_index(self)

    def structure(self) -> bytes:
        """The model with small weights inside and large ones by offset in ``weights.bin``, for ``open_graph``."""
        from intarsia.graph.store import structure

        return structure(self)

    def save(self, folder: str | Path) -> None:
        """Write ``graph.onnx`` and ``weights.bin``: the folder appears whole, or stays as it was."""
        from intarsia.graph.store import save

        save(self, Path(folder))
