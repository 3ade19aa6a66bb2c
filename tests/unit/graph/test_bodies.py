"""Bodies of control flow as graphs of their own: what they capture, and which shapes hold in every round."""

from __future__ import annotations

import json

import numpy as np
import pytest
from onnx import numpy_helper, parser

from intarsia.errors import ModelError
from intarsia.graph import Graph, load_model, open_graph, save_graph
from intarsia.graph.bodies import bodies_of, holds_bodies, inner_plans, load_typed, with_body_plans
from intarsia.graph.fingerprint import content_hash, fingerprint_of
from intarsia.graph.graph import PLANS_KEY

LOOP = """
<ir_version: 10, opset_import: ["": 21]>
g (float[2,3] x, int64 n) => (float[2,3] y, float[r,3] z)
<bool t = {1}>
{
  a = Relu(x)
  y0, z0 = Loop(n, t, a, x) <body = b (int64 i, bool c, float[2,3] h, float[k,3] g)
     => (bool co, float[2,3] ho, float[m,3] go) {
     co = Identity(c)
     p = MatMul(h, w)
     ho = Add(p, a)
     go = Concat<axis=0>(g, a)
  }>
  y = Neg(y0)
  z = Neg(z0)
}"""
BRANCH = """
<ir_version: 10, opset_import: ["": 21]>
g (float[2,3] x, bool p) => (float[2,3] y)
{
  a = Relu(x)
  y = If(p) <then_branch = tb () => (float[2,3] u) { u = Exp(a) },
    else_branch = eb () => (float[2,3] v) { v = Identity(x) }>
}"""


def _loop() -> Graph:
    model = parser.parse_model(LOOP)
    weight = np.random.default_rng(0).standard_normal((3, 3)).astype(np.float32)
    model.graph.initializer.append(numpy_helper.from_array(weight, "w"))
    return load_typed(model)


def test_what_a_body_captures_is_an_input_behind_its_own_or_a_weight() -> None:
    graph = _loop()
    body = bodies_of(graph, graph.nodes[1])["body"]
    assert body.graph.inputs == ("i", "c", "h", "g", "a")
    assert body.inputs == 4
    assert set(body.graph.weights) == {"w"}
    np.testing.assert_array_equal(body.graph.weights["w"].array(), graph.weights["w"].array())


def test_a_dimension_that_changes_from_round_to_round_is_open_and_no_other() -> None:
    graph = _loop()
    values = bodies_of(graph, graph.nodes[1])["body"].graph.values
    assert values["h"].shape == (2, 3)
    assert values["g"].shape is None
    assert values["g"].rank == 2


def test_what_a_loop_makes_has_the_shape_that_holds_after_any_round() -> None:
    graph = _loop()
    assert (graph.values["y0"].shape, graph.values["y"].shape) == ((2, 3), (2, 3))
    assert (graph.values["z0"].shape, graph.values["z0"].rank) == (None, 2)
    plain = load_model(parser.parse_model(LOOP.replace("MatMul(h, w)", "Relu(h)")))
    assert plain.values["y0"].rank is None  # as ONNX infers it


def test_a_branch_may_hand_on_what_is_around_it() -> None:
    graph = load_model(parser.parse_model(BRANCH))
    bodies = bodies_of(graph, graph.nodes[1])
    assert sorted(bodies) == ["else_branch", "then_branch"]
    assert [node.op_type for node in bodies["else_branch"].graph.nodes] == ["Identity"]


def test_a_node_without_bodies_has_none_and_says_so() -> None:
    graph = _loop()
    assert [holds_bodies(node) for node in graph.nodes] == [False, True, False, False]
    with pytest.raises(ModelError, match="Relu has no bodies"):
        bodies_of(graph, graph.nodes[0])


def test_a_state_of_another_rank_after_a_round_is_refused() -> None:
    text = LOOP.replace("go = Concat<axis=0>(g, a)", "go = Unsqueeze(g, i)")
    model = parser.parse_model(text.replace("MatMul(h, w)", "Relu(h)").replace("float[m,3] go", "float go"))
    graph = load_typed(model)
    with pytest.raises(ModelError, match=r"after a round|only known after it was computed"):
        bodies_of(graph, graph.nodes[1])


def test_plans_of_bodies_change_what_is_measured_and_not_what_is_computed(tmp_path: object) -> None:
    graph = load_model(parser.parse_model(BRANCH))
    node = graph.nodes[1].id
    text = json.dumps([{"node": node, "body": "then_branch", "partitions": [{"target": "mnn", "nodes": ["Exp_0"]}]}])
    planned = with_body_plans(graph, {node: text})
    assert planned.nodes[1].metadata[PLANS_KEY] == text
    assert fingerprint_of(planned) != fingerprint_of(graph)
    assert fingerprint_of(with_body_plans(planned, {})) == fingerprint_of(graph)
    assert PLANS_KEY not in graph.nodes[1].metadata
    assert content_hash(planned) != ""


def test_plans_of_bodies_are_saved_with_the_graph(tmp_path: object) -> None:
    from pathlib import Path

    folder = Path(str(tmp_path))
    graph = load_model(parser.parse_model(BRANCH))
    save_graph(with_body_plans(graph, {graph.nodes[1].id: "[]"}), folder)
    opened = open_graph((folder / "graph.onnx").read_bytes(), folder / "weights.bin")
    assert opened.nodes[1].metadata[PLANS_KEY] == "[]"


def test_plans_inside_a_body_are_those_of_its_own_nodes() -> None:
    deep = {"node": "If_2", "body": "then_branch", "partitions": [{"target": "mnn", "nodes": ["Exp_0"]}]}
    rows = [
        {"node": "Loop_1", "body": "body", "partitions": [{"target": "x", "nodes": ["If_2"], "bodies": [deep]}]},
    ]
    assert inner_plans(json.dumps(rows), "body") == {"If_2": json.dumps([deep], sort_keys=True)}
    assert inner_plans(json.dumps(rows), "other") == {}
