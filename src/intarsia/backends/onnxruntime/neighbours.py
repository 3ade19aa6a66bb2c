"""What stands before and behind a value in the part of a graph that may be rewritten."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING

from intarsia.graph.quantise import GraphDraft

if TYPE_CHECKING:
    from intarsia.graph import Graph, Node, SubModel

SAME_MEMORY = frozenset({"Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze"})
"""Nodes whose output holds the numbers of their first input in the same order."""


class Neighbours:
    """The nodes around values.

    Attributes:
        graph: The whole.
        inside: Indices of the nodes that may go.
    """

    def __init__(self, graph: Graph, inside: Collection[int], outputs: Collection[str] = frozenset()) -> None:
        """Values in ``outputs`` must be there beside those that the graph yields."""
        self.graph = graph
        self.inside = inside
        self._outputs = outputs

    @classmethod
    def of(cls, model: SubModel) -> Neighbours:
        """Within a partition."""
        inside = frozenset(node.index for node in model.nodes)
        return cls(model.graph, inside, frozenset(value.name for value in model.outputs))

    def shape(self, name: str) -> tuple[int, ...]:
        """Of a value; of one whose sizes are unknown, none."""
        return self.graph.values[name].shape or ()

    def is_kept(self, name: str) -> bool:
        """Whether a value must be there whatever reads it."""
        return self.graph.values[name].is_output or name in self._outputs

    def maker(self, name: str, op_types: Collection[str]) -> Node | None:
        """What yields a value, if it is a node of ONNX's of one of these types that may go."""
        return self._of_type(self.graph.values[name].producer, op_types)

    def reader(self, name: str, op_types: Collection[str]) -> Node | None:
        """All that reads a value, if it is one such node."""
        consumers = self.graph.values[name].consumers
        return None if len(consumers) != 1 or self.is_kept(name) else self._of_type(consumers[0], op_types)

    def _of_type(self, index: int | None, op_types: Collection[str]) -> Node | None:
        node = self.graph.nodes[index] if index is not None and index in self.inside else None
        return node if node is not None and node.op_type in op_types and not node.domain else None


def rewritten(
    model: SubModel, written: Mapping[int, Callable[[GraphDraft], object]], gone: Collection[int]
) -> SubModel:
    """The partition with other nodes in the place of some.

    Args:
        written: Writes what takes a node's place, by that node's index.
        gone: Indices of further nodes that are left out.
    """
    draft = GraphDraft(model.graph)
    for node in model.nodes:
        if node.index in written:
            written[node.index](draft)
        elif node.index not in gone:
            draft.keep(node)
    return draft.finish_part(model)


def other_term(total: Node, name: str) -> str:
    """What a sum of two adds to this value."""
    first, second = total.inputs
    return second if first == name else first
