"""Partitioning by priority."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intarsia.errors import NoCoverError
from intarsia.partitioning.capability import Capability
from intarsia.partitioning.greedy import greedy
from intarsia.partitioning.groups import fused_groups
from intarsia.partitioning.partitioning import Partitioning
from intarsia.target import Target
from tests.fakes import dags, fake_dag

if TYPE_CHECKING:
    from collections.abc import Iterable

    from intarsia.graph import Graph

ORT, OV, NCNN = Target("onnxruntime"), Target("openvino"), Target("ncnn")
MIXED = dags(op_types=("Relu", "Relu", "Conv", "DequantizeLinear", "QuantizeLinear"))


def refusing(ids: Iterable[str], reason: str = "not here") -> Capability:
    return Capability(refusals=dict.fromkeys(ids, reason))


def shape(partitioning: Partitioning) -> list[tuple[str, tuple[str, ...]]]:
    return [(str(partition.target), partition.nodes) for partition in partitioning.partitions]


def chain(count: int, shapes: dict[str, None] | None = None) -> Graph:
    return fake_dag([[number - 1] if number else [] for number in range(count)], shapes=shapes)


@given(MIXED, st.integers(1, 4), st.data())
def test_greedy_covers_the_graph_with_convex_partitions(graph: Graph, min_nodes: int, data: st.DataObject) -> None:
    ids = [node.id for node in graph.nodes]
    capabilities = {
        NCNN: refusing(data.draw(st.sets(st.sampled_from(ids)))),
        OV: refusing(data.draw(st.sets(st.sampled_from(ids)))),
        ORT: Capability(refusals={}),
    }
    result = greedy(graph, [NCNN, OV, ORT], capabilities, min_nodes={NCNN: min_nodes})
    parts = [(partition.target, partition.nodes) for partition in result.partitions]
    # The door to a partitioning checks cover, order, groups and crossings.
    assert Partitioning.of(graph, parts) == result
    whole = [set(group) for group in fused_groups(graph)]
    for target, nodes in parts:
        assert all(capabilities[target].takes(id_) for id_ in nodes)
    if min_nodes == 1:
        taken = {id_ for target, nodes in parts if target == NCNN for id_ in nodes}
        free = {id_ for id_ in ids if not any(id_ in group for group in whole)}
        assert taken & free == {id_ for id_ in free if capabilities[NCNN].takes(id_)}


def test_the_first_target_takes_the_largest_regions_and_the_next_the_rest() -> None:
    capabilities = {OV: refusing(["n2", "n4"]), ORT: refusing([])}
    assert shape(greedy(chain(6), [OV, ORT], capabilities)) == [
        ("openvino", ("n0", "n1")),
        ("onnxruntime", ("n2",)),
        ("openvino", ("n3",)),
        ("onnxruntime", ("n4",)),
        ("openvino", ("n5",)),
    ]


def test_small_regions_go_to_a_later_target_and_merge_with_what_it_has() -> None:
    capabilities = {OV: refusing(["n2", "n4"]), ORT: refusing([])}
    assert shape(greedy(chain(6), [OV, ORT], capabilities, min_nodes=2)) == [
        ("openvino", ("n0", "n1")),
        ("onnxruntime", ("n2", "n3", "n4", "n5")),
    ]


def test_a_small_region_that_nobody_else_takes_goes_back() -> None:
    capabilities = {OV: refusing(["n1"]), ORT: refusing(["n0", "n2"])}
    assert shape(greedy(chain(3), [OV, ORT], capabilities, min_nodes=9)) == [
        ("openvino", ("n0",)),
        ("onnxruntime", ("n1",)),
        ("openvino", ("n2",)),
    ]


def test_regions_with_little_work_are_left_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    work = ModuleType("intarsia.graph.work")
    work.flops = lambda graph, node: 1000 if node.index == 0 else 1  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "intarsia.graph.work", work)
    capabilities = {OV: refusing(["n1"]), ORT: refusing([])}
    assert shape(greedy(chain(4), [OV, ORT], capabilities, min_flops={OV: 10})) == [
        ("openvino", ("n0",)),
        ("onnxruntime", ("n1", "n2", "n3")),
    ]


def test_values_that_may_not_cross_keep_their_ends_with_who_takes_both() -> None:
    graph = chain(3, shapes={"v0": None})
    capabilities = {OV: refusing(["n1"]), ORT: refusing([])}
    assert shape(greedy(graph, [OV, ORT], capabilities)) == [("onnxruntime", ("n0", "n1")), ("openvino", ("n2",))]
    assert len(greedy(graph, [OV, ORT], capabilities, crossing_ok=lambda value: True).partitions) == 3


def test_nodes_nobody_takes_are_named_with_each_reason() -> None:
    graph = chain(4)
    capabilities = {OV: refusing(["n1", "n2"], "no such kernel"), ORT: refusing(["n1", "n2", "n3"], "odd dtype")}
    with pytest.raises(NoCoverError) as caught:
        greedy(graph, [OV, ORT], capabilities)
    assert str(caught.value).splitlines() == [
        "no target takes 2 of 4 nodes:",
        "  Relu 'n1' (and 1 more Relu)",
        "    openvino: no such kernel",
        "    onnxruntime: odd dtype",
        "add a target that takes them; 'reference' takes what ONNX defines, slowly",
    ]


def test_many_operators_are_counted_and_not_all_listed() -> None:
    graph = fake_dag([[]] * 12, [f"Op{number}" for number in range(12)])
    with pytest.raises(NoCoverError, match="and nodes of other operators: Op5, Op6, Op7, Op8, Op9 and 2 more"):
        greedy(graph, [ORT], {ORT: refusing(node.id for node in graph.nodes)})


def test_a_group_that_nobody_takes_whole_says_what_is_missing() -> None:
    graph = fake_dag([[], [0], [1]], ["DequantizeLinear", "Conv", "QuantizeLinear"])
    capabilities = {OV: refusing(["n1"], "no integer kernel"), ORT: refusing(["n2"], "no such zero point")}
    with pytest.raises(NoCoverError) as caught:
        greedy(graph, [OV, ORT], capabilities)
    message = str(caught.value)
    assert "no target takes 3 of 3 nodes" in message
    assert "openvino: takes it, but not 'n1', which must stay with it: no integer kernel" in message
    assert "onnxruntime: no such zero point" in message


def test_ten_thousand_nodes_are_partitioned() -> None:
    graph = fake_dag([[] if not number else sorted({number - 1, max(number - 9, 0)}) for number in range(10_000)])
    capabilities = {OV: refusing(f"n{number}" for number in range(0, 10_000, 3)), ORT: Capability(refusals={})}
    result = greedy(graph, [OV, ORT], capabilities)
    assert len(result.partitions) == 6_667
