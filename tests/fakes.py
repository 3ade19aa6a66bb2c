"""Graphs given by who reads whom, without a model behind them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from hypothesis import strategies as st
from onnx import helper

from intarsia.graph import Graph, Weight
from intarsia.graph.build import build
from intarsia.graph.dtypes import elem_type_of, numpy_dtype


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
    rows = list(rows)
    made = [name for _, _, _, writes in rows for name in writes if name]
    read = dict.fromkeys(name for _, _, reads, _ in rows for name in reads if name)
    held = frozenset(weights)

    def info(name: str) -> onnx.ValueInfoProto:
        dtype = (dtypes or {}).get(name, "float32")
        if dtype is None:
            return onnx.ValueInfoProto(name=name)
        return helper.make_tensor_value_info(name, elem_type_of(dtype), (shapes or {}).get(name, (1,)))

    def weight(name: str) -> Weight:
        dtype, shape = (dtypes or {}).get(name) or "float32", (shapes or {}).get(name) or (1,)
        return Weight.of(name, np.zeros(shape, numpy_dtype(dtype)))

    given = [name for name in made if name not in read] if outputs is None else outputs
    graph = helper.make_graph(
        [helper.make_node(op_type, reads, writes, id_) for id_, op_type, reads, writes in rows],
        "fake",
        [info(name) for name in read if name not in made and name not in held],
        [info(name) for name in given],
        value_info=[info(name) for name in made],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])
    return build(model, {name: weight(name) for name in held})


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
