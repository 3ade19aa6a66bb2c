"""What a graph computes, by definition: ONNX's own evaluator, one node after the other. Slow; used to judge engines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

from intarsia.errors import FeedError, ModelError
from intarsia.graph.graph import Graph
from intarsia.graph.inference import INFERENCE_ERRORS
from intarsia.graph.reference.contrib_ops import CONTRIB_OPS
from intarsia.graph.reference.operators import REPLACEMENTS
from intarsia.graph.submodel import SubModel, extract

if TYPE_CHECKING:
    from intarsia.graph.parts import Node

EVALUATION_ERRORS = (
    *INFERENCE_ERRORS,  # of operators that are defined by a function
    *(ArithmeticError, AssertionError, AttributeError, ImportError, LookupError, MemoryError, TypeError),
)
"""What the reference implementation raises for input it does not take, or does not know."""

Feeds = Mapping[str, np.ndarray]
Around = Callable[["Node", Feeds, Callable[[Feeds], Sequence[np.ndarray]]], Sequence[np.ndarray]]
"""Stands between the evaluator and a node: it is handed the node, what it reads, and what computes it; it answers the
node's outputs."""


def evaluate_node(
    node: onnx.NodeProto,
    opsets: Mapping[str, int],
    feeds: Mapping[str, Any],
    types: Mapping[str, onnx.TypeProto | None],
) -> Sequence[Any]:
    """The node's outputs by position.

    ``feeds`` has every value that it reads, captured ones included, and ``types`` their types: some operators are
    defined through functions that depend on these.
    """
    outputs = [name for name in node.output if name]
    graph = onnx.GraphProto(name="node")
    graph.node.append(node)
    graph.input.extend(onnx.ValueInfoProto(name=name, type=types.get(name)) for name in feeds)
    graph.output.extend(onnx.ValueInfoProto(name=name) for name in outputs)
    evaluator = ReferenceEvaluator(graph, opsets={"": 1, **opsets}, new_ops=[*REPLACEMENTS, *CONTRIB_OPS])
    with np.errstate(all="ignore"):
        results = dict(zip(outputs, evaluator.run(outputs, dict(feeds)), strict=True))
    return [results.get(name) for name in node.output]


def evaluate(
    graph: Graph | SubModel,
    feeds: Mapping[str, np.ndarray],
    keep: Collection[str] = (),
    given: Mapping[str, np.ndarray] = MappingProxyType({}),
    around: Around | None = None,
) -> dict[str, np.ndarray]:
    """Compute the outputs.

    Args:
        keep: Names of further values to return. All others are freed after their last use.
        given: Values that are known. A node all of whose outputs are is not computed.

    Raises:
        FeedError: An input is missing, or ``keep`` names a value that is not computed here.
        ModelError: The evaluator does not know an operator, or fails at it; the message names the node.
    """
    if isinstance(graph, Graph):
        model, inputs, outputs = extract(graph, graph.position), graph.inputs, graph.outputs
    else:
        model = graph
        inputs, outputs = (tuple(value.name for value in values) for values in (graph.inputs, graph.outputs))
    if missing := [name for name in inputs if name not in feeds]:
        raise FeedError(f"no array for input {', '.join(missing)}")
    return _run(model, {name: feeds[name] for name in inputs}, list(dict.fromkeys((*outputs, *keep))), given, around)


def _run(
    model: SubModel,
    live: dict[str, np.ndarray],
    wanted: list[str],
    given: Mapping[str, np.ndarray],
    around: Around | None,
) -> dict[str, np.ndarray]:
    uses = Counter(wanted)
    uses.update(name for node in model.nodes for name in node.reads)
    for node in model.nodes:
        made = zip(node.outputs, _given(node, given) or _outputs(model, node, live, around), strict=True)
        live.update((name, array) for name, array in made if name and uses[name])
        for name in node.reads:
            uses[name] -= 1
            if not uses[name]:
                live.pop(name, None)
    if absent := [name for name in wanted if name not in live and name not in model.weights]:
        raise FeedError(f"the graph computes no value {', '.join(absent)}")
    return {name: live[name] if name in live else model.weights[name].array() for name in wanted}


def _given(node: Node, given: Mapping[str, np.ndarray]) -> list[np.ndarray] | None:
    found = [given[name] for name in node.outputs if name in given]
    return found if len(found) == len(node.outputs) else None


def _outputs(
    model: SubModel, node: Node, live: Mapping[str, np.ndarray], around: Around | None
) -> Sequence[np.ndarray]:
    feeds = {name: live[name] if name in live else model.weights[name].array() for name in node.reads}
    if around is None:
        return _computed(model, node, feeds)
    return around(node, feeds, lambda others: _computed(model, node, others))


def _computed(model: SubModel, node: Node, feeds: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    types = {name: model.graph.values[name].type_proto for name in node.reads}
    try:
        return list(evaluate_node(node.proto, model.graph.opsets, feeds, types))
    except EVALUATION_ERRORS as error:
        raise ModelError(f"the reference cannot compute node {node.id!r} ({node.op_type}): {error}") from error
