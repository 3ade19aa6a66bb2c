"""One node while it is lowered: its operands as terms, its attributes, and what of it is known beforehand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from intarsia.backends.lowering.builder import Builder
from intarsia.backends.lowering.program import Term, UnsupportedError

if TYPE_CHECKING:
    from intarsia.graph import Graph, Node

MOST_KNOWN = 1 << 20
"""Constants up to so many elements are looked at while lowering: axes, shapes, paddings, tables of indices."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeContext:
    """A node of a graph, where its instructions go, and by name the terms of each value that is there."""

    builder: Builder
    node: Node
    graph: Graph
    terms: Mapping[str, Term]

    @property
    def count(self) -> int:
        """Number of inputs, those left out in the middle counted."""
        return len(self.node.inputs)

    def has(self, position: int) -> bool:
        """Whether an optional input is there."""
        return position < self.count and self.node.inputs[position] != ""

    def operand(self, position: int) -> Term:
        """An input; `UnsupportedError` if it is left out."""
        if not self.has(position):
            raise UnsupportedError(f"input {position} is left out")
        return self.terms[self.node.inputs[position]]

    def operands(self) -> list[Term]:
        """All inputs."""
        return [self.operand(position) for position in range(self.count)]

    def optional(self, position: int) -> Term | None:
        """An input, if it is there."""
        return self.operand(position) if self.has(position) else None

    def known(self, position: int) -> np.ndarray:
        """The content of an input that is a constant; `UnsupportedError` if only running tells it."""
        name = self.node.inputs[position] if self.has(position) else ""
        weight = self.graph.weights.get(name)
        if weight is None or np.prod(weight.shape) > MOST_KNOWN:
            raise UnsupportedError(f"input {position} is not known before it runs")
        return weight.array()

    def numbers(self, position: int) -> list[int]:
        """A constant list of whole numbers, or a single one."""
        return [int(number) for number in self.known(position).reshape(-1)]

    def get(self, name: str, default: Any = None) -> Any:
        """An attribute."""
        return self.node.attributes.get(name, default)

    def wants(self, position: int) -> bool:
        """Whether an output is asked for."""
        return position < len(self.node.outputs) and self.node.outputs[position] != ""

    def shape_of_output(self, position: int = 0) -> tuple[int, ...]:
        """The inferred shape of an output; `UnsupportedError` if only running tells it."""
        shape = self.graph.values[self.node.outputs[position]].shape
        if shape is None:
            raise UnsupportedError("its output's shape is only known after it was computed")
        return shape

    def dtype_of_output(self, position: int = 0) -> str:
        """The inferred element type of an output."""
        return self.graph.values[self.node.outputs[position]].dtype or ""


Results = Term | Sequence[Term | None]
Rule = Callable[[NodeContext], Results]
"""Lowers a node, to its output or its outputs."""


def axis_of(axis: int, rank: int) -> int:
    """A dimension counted from the front."""
    return axis + rank if axis < 0 else axis


def axes_of(axes: Sequence[int] | None, rank: int) -> list[int]:
    """Dimensions counted from the front; all if none are said."""
    return list(range(rank)) if axes is None else sorted(axis_of(int(axis), rank) for axis in axes)
