"""Walks over the nodes of a quantised model, and spends instructions only where a value is needed as it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from intarsia.backends.lowering.builder import Builder
from intarsia.backends.lowering.integer.fixed_point import in_steps
from intarsia.backends.lowering.integer.values import Codes, Known, Pending, State, Stored, affine
from intarsia.backends.lowering.lower import lowered
from intarsia.backends.lowering.program import Term, UnsupportedError
from intarsia.errors import ModelError

if TYPE_CHECKING:
    from intarsia.graph import Graph, Node, SubModel

EIGHT_BITS = frozenset({"int8", "uint8"})
UNSIGNED = 128
"""What a uint8 is less as int8."""


class Walk:
    """The program that grows, and what is known of each value so far.

    Attributes:
        builder: Where instructions go.
        graph: The graph.
        states: What is known of values that are not there as the graph has them.
        terms: Values that are there as the graph has them.
    """

    def __init__(self, model: SubModel, natives: frozenset[str]) -> None:
        self.builder = Builder(natives)
        self.graph: Graph = model.graph
        self.states: dict[str, State] = {}
        self.terms: dict[str, Term] = {}
        self._wanted = frozenset(value.name for value in model.outputs)
        for value in model.inputs:
            self.terms[value.name] = self.builder.input(value.name, value.dtype or "", value.shape or ())
        self._weights = model.weights

    # What is known

    def array(self, name: str) -> np.ndarray | None:
        """The content of a constant; ``None`` of what is computed."""
        weight = self.graph.weights.get(name)
        return None if weight is None else weight.array()

    def only_reader(self, name: str) -> bool:
        """Whether one node reads the value and nobody outside."""
        return name not in self._wanted and len(self.graph.values[name].consumers) == 1

    def codes(self, name: str) -> Codes | None:
        """A value in floating point by the codes it is a function of; constants are given codes of their own."""
        state = self.states.get(name)
        if isinstance(state, Known) and state.codes is not None:
            term = self.builder.constant(state.codes)
            return affine(term, float(state.scale.reshape(-1)[0]), state.zero, state.nodes)
        return state if isinstance(state, Codes) else None

    def stored(self, name: str) -> Stored | None:
        """A value in 8 bits as int8; ``None`` of one that the graph has in another type."""
        state = self.states.get(name)
        if isinstance(state, Stored):
            return state
        dtype = self.graph.values[name].dtype
        if dtype not in EIGHT_BITS:
            return None
        array = self.array(name)
        if array is not None:
            made = Stored(term=self.builder.constant(as_int8(array)))
        elif name in self.terms:
            term = self.terms[name]
            made = Stored(term=term if dtype == "int8" else self.emit("q_flip", (term,), "int8", term.shape, ()))
        else:
            return None
        self.states[name] = made
        return made

    # What is spent

    def emit(
        self,
        name: str,
        reads: Sequence[Term],
        dtype: str,
        shape: Sequence[int],
        nodes: tuple[str, ...],
        /,
        **attrs: object,
    ) -> Term:
        """Append an instruction that computes these nodes."""
        self.builder.origin = tuple(dict.fromkeys(nodes))
        return self.builder.emit(name, reads, dtype, shape, **attrs)

    def term(self, name: str) -> Term:
        """The value as the graph has it, computed if it is not there yet.

        Raises:
            UnsupportedError: Its node has no lowering.
        """
        if name in self.terms:
            return self.terms[name]
        if name in self._weights:
            weight = self._weights[name]
            self.terms[name] = self.builder.weight(name, weight.dtype, weight.shape)
            return self.terms[name]
        state = self.states.get(name)
        if isinstance(state, Stored):
            is_int8 = self.graph.values[name].dtype == "int8"
            self.terms[name] = (
                state.term if is_int8 else self.emit("q_flip", (state.term,), "uint8", state.term.shape, state.nodes)
            )
        elif isinstance(state, Codes) and state.scale is not None:
            self.terms[name] = self.emit(
                "dequantize",
                (state.term,),
                "float32",
                state.term.shape,
                state.nodes,
                scale=state.scale,
                zero=state.zero,
            )
        else:
            producer = self.graph.values[name].producer
            if producer is None:
                raise UnsupportedError(f"{name} is not there")
            self.in_float(self.graph.nodes[producer])
        return self.terms[name]

    def in_float(self, node: Node) -> None:
        """Lower a node as every engine's is, on values as the graph has them."""
        found = {name: self.term(name) for name in node.reads}
        self.builder.origin = (node.id,)
        try:
            self.terms.update(lowered(self.builder, node, self.graph, found))
        except UnsupportedError as error:
            raise ModelError(f"node {node.id!r} cannot be lowered: {error}") from error

    def moved_to(self, codes: Codes, scale: float, zero: int, nodes: tuple[str, ...]) -> Term:
        """The value in steps of this scale, as int8: the codes themselves where they say so already."""
        table = in_steps(codes.table, scale, zero)
        if (table == np.arange(-128, 128)).all():
            return codes.term
        if codes.term.number in (known := self._constants()):
            return self.builder.constant(table[known[codes.term.number].astype(np.int64) + 128])
        return self.emit(
            "q_lookup", (codes.term,), "int8", codes.term.shape, (*codes.nodes, *nodes), table=[int(n) for n in table]
        )

    def _constants(self) -> dict[int, np.ndarray]:
        made = self.builder.instructions
        return {
            number: self.builder.constants[each.attributes["name"]]
            for number, each in enumerate(made)
            if each.name == "constant"
        }

    def outputs(self, model: SubModel) -> Mapping[str, Term]:
        """Terms of what leaves the sub-graph."""
        return {value.name: self.term(value.name) for value in model.outputs}


def as_int8(array: np.ndarray) -> np.ndarray:
    """8-bit numbers as int8, uint8 less 128."""
    return (array.astype(np.int16) - (UNSIGNED if array.dtype == np.uint8 else 0)).astype(np.int8)


def zero_as_int8(array: np.ndarray | None, dtype: str) -> int:
    """A single zero point, of values of this type, as it is among int8 codes."""
    zero = 0 if array is None else int(array.reshape(-1)[0])
    return zero - (UNSIGNED if dtype == "uint8" else 0)


def held(pending: Pending, low: float, high: float, node: Node, name: str) -> Pending:
    """The value held between two more bounds by a node; ``name`` is what that reads."""
    bottom, top = min(max(pending.low, low), high), min(max(pending.high, low), high)
    return replace(pending, low=bottom, high=top, nodes=(*pending.nodes, node.id), names=(*pending.names, name))
