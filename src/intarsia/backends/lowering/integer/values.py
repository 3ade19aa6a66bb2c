"""What is known of a value while a quantised model is lowered, before any instruction is spent on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from intarsia.backends.lowering.program import Term

if TYPE_CHECKING:
    from intarsia.graph import Node

CODES = np.arange(-128, 128)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A value in 8 bits that is there: the graph says int8 or uint8, the term is int8 in any case.

    Attributes:
        term: Of uint8 values, the value less 128.
        nodes: Ids of the nodes that made it.
    """

    term: Term
    nodes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Codes:
    """A value in floating point that is a function of int8 codes which are there.

    Attributes:
        term: The codes.
        table: The float32 that each code stands for, from -128 up.
        scale: What one step is, where the table is ``(code - zero) * scale``; else ``None``.
        zero: The code of 0 there.
        nodes: Ids of the nodes that lead from the codes to the value.
    """

    term: Term
    table: np.ndarray
    scale: float | None = None
    zero: int = 0
    nodes: tuple[str, ...] = ()

    def on(self, term: Term, nodes: tuple[str, ...]) -> Codes:
        """The same function of other codes."""
        return replace(self, term=term, nodes=(*self.nodes, *nodes))


def affine(term: Term, scale: float, zero: int, nodes: tuple[str, ...]) -> Codes:
    """What DequantizeLinear makes of codes."""
    table = ((CODES - zero).astype(np.float32) * np.float32(scale)).astype(np.float32)
    return Codes(term=term, table=table, scale=float(np.float32(scale)), zero=zero, nodes=nodes)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Known:
    """A constant in few bits.

    Attributes:
        array: Integers less their zero points.
        scale: One number, or one a slice.
        axis: Which dimension the slices are of; ``None`` where there is one scale.
        codes: As the model stores them, uint8 less 128, with the zero point of these; for a single scale and 8 bits.
        zero: That zero point.
        bits: Of an element in the model.
        nodes: Ids of the nodes that lead to it.
    """

    array: np.ndarray
    scale: np.ndarray
    axis: int | None
    codes: np.ndarray | None
    zero: int
    bits: int
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pending:
    """A value in floating point whose operator waits for the quantiser behind it.

    Attributes:
        kind: What will be emitted: ``conv``, ``dense``, ``matmul``, ``add``, ...
        operands: Codes it reads.
        facts: What else the emitter has to know.
        low: The value is held at this or above.
        high: The value is held at this or below.
        nodes: Ids of the nodes it stands for.
        names: The values of the graph that it passed through: each must have no other reader.
        node: The operator.
    """

    kind: str
    operands: tuple[Codes, ...]
    facts: Mapping[str, Any] = field(default_factory=dict)
    low: float = -np.inf
    high: float = np.inf
    nodes: tuple[str, ...]
    names: tuple[str, ...]
    node: Node


State = Stored | Codes | Known | Pending
