"""The places of a graph that each get a device: its nodes, and where the caller feeds and gets values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from intarsia.graph import Graph, Value


class Places:
    """Numbers the places: nodes by index, then inputs, then outputs."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        first_input = len(graph.nodes)
        first_output = first_input + len(graph.inputs)
        self.nodes = {node.id: node.index for node in graph.nodes}
        self.inputs = {name: first_input + number for number, name in enumerate(graph.inputs)}
        self.outputs = {name: first_output + number for number, name in enumerate(graph.outputs)}
        self.count = first_output + len(graph.outputs)

    def values(self) -> Iterator[Value]:
        """Every value but weights, which go along with whoever reads them: inputs, then by who computes them."""
        names = (name for node in self.graph.nodes for name in node.outputs if name)
        return (self.graph.values[name] for name in (*self.inputs, *names))

    def producer(self, value: Value) -> int:
        """Where a value comes from."""
        return self.inputs[value.name] if value.producer is None else value.producer

    def readers(self, value: Value) -> tuple[int, ...]:
        """Where a value is read: by nodes, in order, then by the caller."""
        return (*value.consumers, self.outputs[value.name]) if value.name in self.outputs else value.consumers

    def name(self, place: int) -> str:
        """How messages call a place."""
        nodes, inputs = self.graph.nodes, self.graph.inputs
        if place < len(nodes):
            return f"node {nodes[place].id!r}"
        place -= len(nodes)
        if place < len(inputs):
            return f"input {inputs[place]!r}"
        return f"output {self.graph.outputs[place - len(inputs)]!r}"
