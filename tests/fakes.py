"""Stand-ins with nothing behind them: graphs given by who reads whom."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any, cast

from hypothesis import strategies as st

if TYPE_CHECKING:
    from intarsia.graph import Graph


@dataclass(frozen=True, slots=True, kw_only=True)
class FakeNode:
    """Looks like a graph's node."""

    id: str
    index: int
    op_type: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    domain: str = ""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    has_subgraph: bool = False

    @property
    def reads(self) -> tuple[str, ...]:
        """What it really reads, each name once."""
        return tuple(dict.fromkeys(name for name in self.inputs if name))


@dataclass(frozen=True, slots=True, kw_only=True)
class FakeValue:
    """Looks like a graph's value; elements take four bytes."""

    name: str
    dtype: str | None
    shape: tuple[int, ...] | None
    producer: int | None
    consumers: tuple[int, ...]
    is_input: bool
    is_output: bool
    is_weight: bool

    @property
    def rank(self) -> int | None:
        """Number of dimensions, where the shape is known."""
        return None if self.shape is None else len(self.shape)

    @property
    def nbytes(self) -> int:
        """Size, 0 where unknown."""
        return 0 if self.shape is None else 4 * prod(self.shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class FakePartition:
    """Looks like some nodes of a graph as a model of their own."""

    nodes: tuple[FakeNode, ...]
    inputs: tuple[FakeValue, ...]
    outputs: tuple[FakeValue, ...]

    @property
    def fingerprint(self) -> str:
        """Differs with the operators and their order."""
        return " ".join(node.op_type for node in self.nodes)


@dataclass(frozen=True, slots=True, kw_only=True)
class FakeGraph:
    """Looks like a graph, as far as partitioning looks."""

    nodes: tuple[FakeNode, ...]
    values: Mapping[str, FakeValue]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    weights: Mapping[str, FakeValue]
    by_id: Mapping[str, FakeNode]
    memo: dict[Any, Any] = field(default_factory=dict, repr=False)

    @property
    def position(self) -> Mapping[str, int]:
        """The place of each node."""
        return {node.id: node.index for node in self.nodes}

    def fingerprint_of(self, ids: Iterable[str]) -> str:
        """That of the piece."""
        return self.extract(ids).fingerprint

    @property
    def fingerprint(self) -> str:
        """Differs with the operators and their order."""
        return " ".join(node.op_type for node in self.nodes)

    def node(self, id_: str) -> FakeNode:
        """The node of this id."""
        return self.by_id[id_]

    def extract(self, ids: Iterable[str]) -> FakePartition:
        """The nodes of these ids, with what they read of others and what others read of them."""
        nodes = tuple(sorted((self.by_id[id_] for id_ in ids), key=lambda node: node.index))
        inside = {node.index for node in nodes}
        read = [self.values[name] for name in dict.fromkeys(name for node in nodes for name in node.reads)]
        made = [self.values[name] for node in nodes for name in node.outputs if name]
        return FakePartition(
            nodes=nodes,
            inputs=tuple(value for value in read if not value.is_weight and value.producer not in inside),
            outputs=tuple(value for value in made if value.is_output or not inside.issuperset(value.consumers)),
        )


def fake_graph(
    rows: Iterable[tuple[str, str, Sequence[str], Sequence[str]]],
    *,
    outputs: Sequence[str] | None = None,
    weights: Iterable[str] = (),
    shapes: Mapping[str, tuple[int, ...] | None] | None = None,
    dtypes: Mapping[str, str | None] | None = None,
) -> Graph:
    """A graph from rows of id, operator type, inputs and outputs, in topological order.

    Args:
        rows: The nodes. What none computes and is no weight is an input of the graph.
        outputs: Outputs of the graph; without it, the values that nobody reads.
        weights: Names of weights.
        shapes: Shapes that differ from ``(1,)``; ``None`` for an unknown one.
        dtypes: Dtypes that differ from ``float32``.
    """
    nodes = tuple(
        FakeNode(id=id_, index=index, op_type=op_type, inputs=tuple(reads), outputs=tuple(writes))
        for index, (id_, op_type, reads, writes) in enumerate(rows)
    )
    producers = {name: node.index for node in nodes for name in node.outputs if name}
    consumers: dict[str, list[int]] = {}
    for node in nodes:
        for name in node.reads:
            consumers.setdefault(name, []).append(node.index)
    held = frozenset(weights)
    inputs = tuple(name for name in consumers if name not in producers and name not in held)
    given = tuple(name for name in producers if name not in consumers) if outputs is None else tuple(outputs)
    values = {
        name: FakeValue(
            name=name,
            dtype=(dtypes or {}).get(name, "float32"),
            shape=(shapes or {}).get(name, (1,)),
            producer=producers.get(name),
            consumers=tuple(consumers.get(name, ())),
            is_input=name in inputs,
            is_output=name in given,
            is_weight=name in held,
        )
        for name in dict.fromkeys((*inputs, *held, *producers))
    }
    graph = FakeGraph(
        nodes=nodes,
        values=values,
        inputs=inputs,
        outputs=given,
        weights={name: values[name] for name in held},
        by_id={node.id: node for node in nodes},
    )
    return cast("Graph", graph)


def fake_dag(reads: Sequence[Iterable[int]], op_types: Sequence[str] | None = None, **more: Any) -> Graph:
    """Nodes ``n0``, ``n1``, ... that write ``v0``, ``v1``, ... and read the numbered ones, or the input ``x``."""
    rows = []
    for number, numbers in enumerate(reads):
        inputs = [f"v{earlier}" for earlier in numbers] or ["x"]
        rows.append((f"n{number}", op_types[number] if op_types else "Relu", inputs, [f"v{number}"]))
    return fake_graph(rows, **more)


def dags(max_nodes: int = 14, op_types: Sequence[str] = ("Relu",)) -> st.SearchStrategy[Graph]:
    """Random graphs, of which each node reads up to three of those before it."""
    return st.integers(1, max_nodes).flatmap(lambda count: _dags(count, op_types))


def _dags(count: int, op_types: Sequence[str]) -> st.SearchStrategy[Graph]:
    reads = st.tuples(
        *(
            st.lists(st.integers(0, number - 1), max_size=3, unique=True) if number else st.just([])
            for number in range(count)
        )
    )
    types = st.lists(st.sampled_from(op_types), min_size=count, max_size=count)
    return st.builds(fake_dag, reads, types)
