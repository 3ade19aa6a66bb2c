from __future__ import annotations

from intarsia.backends.openvino.shape_rules import deciding_inputs, refusal
from intarsia.graph import extract, load_model
from tests.conformance.cases import Case, Feed, f32, i64, node

SIZE = Feed(shape=(1,), dtype="int64", low=1, high=4)
CUT = Case(
    name="cut",
    nodes=(node("Add", "n one", "m"), node("Slice", "x zero m", "s"), node("Relu", "s", "y")),
    inputs={"x": f32(6, 3), "n": SIZE},
    weights={"zero": i64(0), "one": i64(1)},
)
LIKE = Case(
    name="like",
    nodes=(node("CastLike", "n x", "m"), node("Shape", "x", "s"), node("Mul", "m scale", "y")),
    inputs={"x": f32(6, 3), "n": SIZE},
    weights={"scale": f32(1).shape},
)


def test_inputs_decide_through_what_is_computed_from_them() -> None:
    graph = load_model(CUT.model())
    assert [refusal(each, graph) for each in graph.nodes] == [None] * len(graph.nodes)
    assert deciding_inputs(extract(graph, (each.id for each in graph.nodes))) == ("n",)


def test_in_a_partition_what_another_computes_decides() -> None:
    graph = load_model(CUT.model())
    ids = {each.op_type: each.id for each in graph.nodes}
    assert deciding_inputs(extract(graph, [ids["Slice"]])) == ("m",)
    assert deciding_inputs(extract(graph, [ids["Relu"]])) == ()


def test_without_shapes_to_decide_over_no_input_does() -> None:
    graph = load_model(LIKE.model())
    assert deciding_inputs(extract(graph, (each.id for each in graph.nodes))) == ()
