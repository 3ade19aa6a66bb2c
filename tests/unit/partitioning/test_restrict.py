"""Partitioning under a device plan: no partition spans two devices, and each engine keeps to those it serves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intarsia.config import CompilationConfig
from intarsia.devices import Constraint, DevicePlan, plan_devices
from intarsia.errors import NoCoverError, PlanError
from intarsia.partitioning import (
    Capability,
    Intervals,
    Partitioning,
    fused_groups,
    greedy,
    linear_order,
    restrict,
    segments,
    split_at_places,
)
from intarsia.target import Target
from tests.fakes import dags, fake_dag

if TYPE_CHECKING:
    from intarsia.graph import Graph

ORT, OV, TRT = Target("onnxruntime"), Target("openvino"), Target("tensorrt")
CPUS = CompilationConfig.of({"targets": ["llvm"], "devices": {"big": "cpu:0", "little": "cpu:1"}})
MIXED = CompilationConfig.of({"targets": ["cuda -arch=sm_80", "llvm"], "default_device": "cpu"})
ALL = Capability(refusals={})
GRAPHS = dags(op_types=("Relu", "Relu", "Conv", "DequantizeLinear", "QuantizeLinear"))


def chain(count: int) -> Graph:
    return fake_dag([[number - 1] if number else [] for number in range(count)])


def planned(graph: Graph, config: CompilationConfig, devices: dict[str, str]) -> DevicePlan:
    groups = fused_groups(graph)
    leader = {id_: min(group) for group in groups for id_ in group}
    resolved = [Constraint.node(leader.get(id_, id_), device) for id_, device in devices.items()]
    return plan_devices(graph, config, dict.fromkeys(resolved), together=groups)


def shape(partitioning: Partitioning) -> list[tuple[str, tuple[str, ...]]]:
    return [(str(partition.target), partition.nodes) for partition in partitioning.partitions]


@given(GRAPHS, st.sampled_from(["big", "little"]), st.data())
def test_greedy_never_spans_two_devices(graph: Graph, label: str, data: st.DataObject) -> None:
    """Both devices are served by the same engines, so the engines' capabilities alone would not part them."""
    ids = [node.id for node in graph.nodes]
    somewhere = dict.fromkeys(data.draw(st.sets(st.sampled_from(ids))), label)
    plan = planned(graph, CPUS, somewhere)
    refused = data.draw(st.sets(st.sampled_from(ids)))
    capabilities = restrict({OV: Capability(refusals=dict.fromkeys(refused, "no kernel")), ORT: ALL}, plan)
    result = greedy(graph, [OV, ORT], capabilities, places=plan.places)
    assert all(len({plan.nodes[id_] for id_ in part.nodes}) == 1 for part in result.partitions)
    parts = [(part.target, part.nodes) for part in result.partitions]
    assert Partitioning.of(graph, parts, places=plan.places) == result


@given(GRAPHS, st.data())
def test_runs_of_segments_never_span_two_devices(graph: Graph, data: st.DataObject) -> None:
    ids = [node.id for node in graph.nodes]
    plan = planned(graph, CPUS, dict.fromkeys(data.draw(st.sets(st.sampled_from(ids))), "little"))
    runs = split_at_places(segments(graph, data.draw(st.integers(1, 6)), lambda node: 1.0), plan)
    assert [id_ for run in runs for id_ in run] == list(linear_order(graph))
    rule = Intervals.of(runs, ALL, plan.places)
    for start in range(len(runs)):
        for end in range(start + 1, len(runs) + 1):
            devices = {plan.nodes[id_] for run in runs[start:end] for id_ in run}
            assert rule.accepts(start, end) == (len(devices) == 1)


def test_a_segment_that_spans_two_devices_is_in_no_run() -> None:
    rule = Intervals.of([("a",), ("b", "c"), ("d",)], ALL, {"a": 1, "b": 1, "c": 2, "d": 2})
    accepted = [(start, end) for start in range(3) for end in range(start + 1, 4) if rule.accepts(start, end)]
    assert accepted == [(0, 1), (2, 3)]


def test_one_engine_is_cut_where_the_device_changes() -> None:
    graph = chain(6)
    plan = planned(graph, CPUS, {"n1": "little", "n3": "big", "n4": "little"})
    capabilities = restrict({ORT: ALL}, plan)
    assert capabilities[ORT].refusals == {}
    assert shape(greedy(graph, [ORT], capabilities, places=plan.places)) == [
        ("onnxruntime", ("n0", "n1")),
        ("onnxruntime", ("n2", "n3")),
        ("onnxruntime", ("n4",)),
        ("onnxruntime", ("n5",)),
    ]


def test_each_engine_takes_what_is_on_its_device() -> None:
    graph = chain(5)
    plan = planned(graph, MIXED, {"n1": "cuda", "n4": "cpu"})
    capabilities = restrict({TRT: ALL, ORT: ALL}, plan)
    assert shape(greedy(graph, [TRT, ORT], capabilities, places=plan.places)) == [
        ("tensorrt", ("n0", "n1")),
        ("onnxruntime", ("n2", "n3", "n4")),
    ]


def test_a_node_on_a_device_that_nobody_serves_says_so() -> None:
    graph = chain(2)
    plan = planned(graph, MIXED, {"n0": "cuda"})
    with pytest.raises(NoCoverError, match=r"the device plan puts it on .cuda:0 .*, which this target does not serve"):
        greedy(graph, [ORT], restrict({ORT: ALL}, plan), places=plan.places)


def test_a_plan_file_that_spans_two_devices_is_refused() -> None:
    graph = chain(3)
    plan = planned(graph, CPUS, {"n0": "little"})
    with pytest.raises(PlanError) as caught:
        Partitioning.of(graph, [(ORT, ["n0", "n1", "n2"])], places=plan.places)
    assert str(caught.value) == (
        "partition 1 (onnxruntime) spans two devices: 'n0' is planned on cpu:1 -target=llvm, and 'n1' on "
        "cpu:0 -target=llvm; split it there"
    )
