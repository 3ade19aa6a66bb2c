"""Which values of a model are defined, and hold still when every operator is a little inexact: those judge an engine.

A generated graph may round, compare or cancel, and then the last bit of one operator decides over the result. So the
reference is computed again with noise far below the tolerance after each operator; what moves beyond it proves nothing.
Nor does what is computed from infinities, NaN or casts out of range: ONNX does not say what becomes of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from intarsia.graph import Graph, Node, SubModel, extract
from intarsia.graph.reference.reference import evaluate
from intarsia.runtime.verify import deviation

DRAWS = 3
NOISE: Mapping[str, float] = MappingProxyType({"float64": 1e-8, "float32": 1e-5, "float16": 2e-3})
"""Relative error after each operator: a hundredth of the tolerance, or about what the dtype rounds off."""
FLOOR = 1e-2
"""Noise as a share of the largest value, against `NOISE`: sums that cancel keep the error of what they were made of."""

Arrays = dict[str, np.ndarray]


def reference(partition: Graph | SubModel, feeds: Mapping[str, np.ndarray]) -> tuple[Arrays, frozenset[str]]:
    """Every value that the partition computes, and the names of those that are defined and hold still."""
    nodes = partition.nodes
    graph = partition if isinstance(partition, Graph) else partition.graph
    exact = _walk(graph, [node.id for node in nodes], feeds, None)
    steady = _defined(nodes, {**feeds, **exact})
    for draw in range(DRAWS):
        moved = _walk(graph, [node.id for node in nodes], feeds, np.random.default_rng(draw))
        steady = {name for name in steady if deviation(name, moved[name], exact[name]).is_acceptable}
    return exact, frozenset(steady)


def _defined(nodes: Sequence[Node], values: Mapping[str, np.ndarray]) -> set[str]:
    """What is finite and computed from finite values that fit into what they were cast to."""
    odd: set[str] = {name for name, array in values.items() if not np.isfinite(array).all()}
    for node in nodes:
        if not odd.isdisjoint(node.reads) or (node.op_type == "Cast" and _overflows(node, values)):
            odd.update(node.outputs)
    return {name for node in nodes for name in node.outputs if name and name not in odd}


def _overflows(node: Node, values: Mapping[str, np.ndarray]) -> bool:
    given, made = values.get(node.inputs[0]), values[node.outputs[0]]
    if given is None or made.dtype.kind not in "iu":
        return False
    limits = np.iinfo(made.dtype)
    # The largest int64 is no float64: from there on a float is out of range.
    return bool((given.astype(np.float64) < limits.min).any() or (given.astype(np.float64) >= limits.max).any())


def _walk(graph: Graph, nodes: list[str], feeds: Mapping[str, np.ndarray], rng: np.random.Generator | None) -> Arrays:
    live = dict(feeds)
    made: Arrays = {}
    for id_ in nodes:
        found = evaluate(extract(graph, [id_]), live, keep=[name for name in graph.node(id_).outputs if name])
        made |= found if rng is None else {name: _moved(array, rng) for name, array in found.items()}
        live |= made
    return made


def _moved(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """With noise on all but exact zeros, which engines compute exactly too."""
    noise = NOISE.get(array.dtype.name)
    if noise is None or array.size == 0:
        return array
    values = array.astype(np.float64)
    finite = np.isfinite(values) & (values != 0)
    largest = np.abs(values[finite]).max(initial=0.0)
    own, shared = rng.uniform(-1, 1, (2, *values.shape))
    with np.errstate(all="ignore"):
        values[finite] += (noise * (own * np.abs(values) + FLOOR * shared * largest))[finite]
        return values.astype(array.dtype)
