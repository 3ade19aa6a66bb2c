"""Which nodes must stay together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given

from intarsia.partitioning.groups import fused_groups, indivisible, may_cross
from intarsia.partitioning.quotient import edges, members
from intarsia.topological_order import runnable_order
from tests.fakes import dags, fake_graph

if TYPE_CHECKING:
    from intarsia.graph import Graph

DQ, Q = "DequantizeLinear", "QuantizeLinear"
OP_TYPES = (DQ, Q, "Conv", "Relu")


def groups(graph: Graph) -> list[set[str]]:
    return [set(group) for group in fused_groups(graph)]


def quantised_block(
    name: str, source: str, *, activation: str | None = None
) -> list[tuple[str, str, list[str], list[str]]]:
    rows = [
        (f"{name}_dq", DQ, [source, "s"], [f"{name}_1"]),
        (f"{name}_dq_weight", DQ, ["w", "s"], [f"{name}_2"]),
        (f"{name}_conv", "Conv", [f"{name}_1", f"{name}_2"], [f"{name}_3"]),
    ]
    last = f"{name}_3"
    if activation:
        rows.append((f"{name}_act", activation, [last], [f"{name}_4"]))
        last = f"{name}_4"
    return [*rows, (f"{name}_q", Q, [last, "s"], [f"{name}_out"])]


def test_an_operator_keeps_what_dequantises_and_quantises_for_it() -> None:
    rows = [
        ("q", Q, ["x", "s"], ["in"]),
        *quantised_block("a", "in"),
        *quantised_block("b", "a_out", activation="Relu"),
    ]
    graph = fake_graph(rows, weights=["s", "w"])
    assert groups(graph) == [
        {"a_dq", "a_dq_weight", "a_conv", "a_q"},
        {"b_dq", "b_dq_weight", "b_conv", "b_act", "b_q"},
    ]


def test_an_activation_that_is_not_quantised_is_free() -> None:
    graph = fake_graph([("dq", DQ, ["x"], ["a"]), ("conv", "Conv", ["a"], ["b"]), ("relu", "Relu", ["b"], ["c"])])
    assert groups(graph) == [{"dq", "conv"}]


def test_a_float_graph_has_no_group() -> None:
    graph = fake_graph([("conv", "Conv", ["x"], ["a"]), ("q", Q, ["a"], ["b"])])
    assert groups(graph) == []


def test_groups_that_share_a_node_take_in_what_lies_between() -> None:
    rows = [
        ("dq", DQ, ["x"], ["a"]),
        ("conv", "Conv", ["a"], ["b"]),
        ("middle", "Sin", ["b"], ["c"]),
        ("add", "Add", ["a", "c"], ["d"]),
        ("after", "Sin", ["d"], ["e"]),
    ]
    assert groups(fake_graph(rows)) == [{"dq", "conv", "middle", "add"}]


def test_an_output_that_is_left_out_is_no_value() -> None:
    graph = fake_graph([("dq", DQ, ["x"], ["a"]), ("pool", "MaxPool", ["a"], ["b", ""])])
    assert groups(graph) == [{"dq", "pool"}]


def test_a_value_of_unknown_shape_holds_its_ends_together_unless_it_may_cross() -> None:
    rows = [("a", "NonZero", ["x"], ["va"]), ("b", "Relu", ["va"], ["vb"]), ("c", "Relu", ["vb"], ["vc"])]
    graph = fake_graph(rows, shapes={"va": None})
    assert indivisible(graph) == [0, 0, 1]
    assert indivisible(graph, crossing_ok=lambda value: value.name == "va") == [0, 1, 2]


def test_what_is_no_tensor_crosses_only_if_allowed() -> None:
    graph = fake_graph([("a", "SequenceConstruct", ["x"], ["va"])], dtypes={"va": None})
    assert may_cross(graph.values["x"], None)
    assert not may_cross(graph.values["va"], None)
    assert may_cross(graph.values["va"], lambda value: True)


def test_fixed_sets_stay_whole_with_what_lies_between() -> None:
    graph = fake_graph([(name, "Relu", [before], [name]) for before, name in zip("xabc", "abcd", strict=True)])
    assert indivisible(graph, fixed=[["a", "c"]]) == [0, 0, 0, 1]


@given(dags(op_types=OP_TYPES))
def test_the_graph_of_groups_is_acyclic_and_holds_each_coupling(graph: Graph) -> None:
    labels = indivisible(graph)
    after = edges(graph, labels)
    assert len(runnable_order(after)) == len(after)
    assert groups(graph) == [{graph.nodes[index].id for index in part} for part in members(labels) if len(part) > 1]
    for node in graph.nodes:
        if node.op_type in (DQ, Q):
            continue
        for name in node.reads:
            producer = graph.values[name].producer
            if producer is not None and graph.nodes[producer].op_type == DQ:
                assert labels[producer] == labels[node.index]
