"""Compiles a step that runs ``If``, ``Loop`` or ``Scan`` by itself: a plan for each body, and what joins them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from intarsia.backends.contract import EngineArtifact, border_rows
from intarsia.backends.contract.artifact import signature_rows
from intarsia.config.settings import RunSettings
from intarsia.graph import Graph, Node, SubModel, extract
from intarsia.graph.bodies import Body, bodies_of
from intarsia.runtime.executors.private_weights import with_weights
from intarsia.runtime.nested_artifacts import joined
from intarsia.runtime.plan import Build, Plan, Step, body_plan

Builder = Callable[[Graph, Plan], Build]


def compile_bodies(graph: Graph, step: Step, settings: RunSettings, build: Builder) -> tuple[EngineArtifact, float]:
    """What the engines inside compiled, as the artifact of the step, and the seconds that it took.

    Args:
        build: Compiles a plan of a graph.
    """
    model = extract(graph, step.nodes)
    parts, seconds = [], 0.0
    for inner in step.bodies:
        body = bodies_of(graph, graph.node(inner.node))[inner.name]
        built = build(body.graph, body_plan(inner, settings))
        seconds += built.compile_s
        whole = [with_weights(each, body.graph, graph, same_names=False) for each in built.artifacts]
        parts.append(joined(whole))
    own = tuple(name for node in model.nodes for name in node.inputs if name in graph.weights)
    found = joined(parts)
    meta = {**found.meta, **border_rows(model), "nodes": [_facts(node, model) for node in model.nodes]}
    return replace(found, weights=tuple(dict.fromkeys((*found.weights, *own))), meta=meta), seconds


def _facts(node: Node, model: SubModel) -> Mapping[str, Any]:
    """What is known of a node when it is run: its values, and those of its bodies."""
    bodies = bodies_of(model.graph, node)
    scans = _scan_facts(node)
    return {
        "id": node.id,
        "op": node.op_type,
        "inputs": list(node.inputs),
        "outputs": list(node.outputs),
        "bodies": {name: _body_facts(body) for name, body in bodies.items()},
        **scans,
    }


def _body_facts(body: Body) -> Mapping[str, Any]:
    graph = body.graph
    rows = signature_rows(graph.values[name] for name in graph.outputs)
    for row, name in zip(rows, graph.outputs, strict=True):
        # Of a loop without a round, a dimension that nobody knows is 0, as in ONNX Runtime.
        proto = graph.values[name].type_proto
        row[2] = [] if proto is None else [dim.dim_value for dim in proto.tensor_type.shape.dim]
    return {"inputs": list(graph.inputs), "own": body.inputs, "outputs": rows}


def _scan_facts(node: Node) -> Mapping[str, Any]:
    if node.op_type != "Scan":
        return {"axes": [], "backwards": [], "output_axes": [], "output_backwards": []}
    count = node.attributes["num_scan_inputs"]
    stacked = len(node.outputs) - (len(node.inputs) - count)

    def each(name: str, several: int) -> list[int]:
        return list(node.attributes.get(name) or (0,) * several)

    return {
        "axes": each("scan_input_axes", count),
        "backwards": [bool(flag) for flag in each("scan_input_directions", count)],
        "output_axes": each("scan_output_axes", stacked),
        "output_backwards": [bool(flag) for flag in each("scan_output_directions", stacked)],
    }
