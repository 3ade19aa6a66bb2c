"""Layers stand in the order of what they cost where they run; what no engine tells is left out."""

from __future__ import annotations

from intarsia.graph import load_model
from intarsia.partitioning import Partition
from intarsia.report.layers import MOST, engines_of, how, layers_json, own_kernels, rows_of
from intarsia.target import Target
from tests.fakes import fake_dag
from tests.unit.graph.models import two_layers

GRAPH = load_model(two_layers())
FIRST, RELU, SECOND, LAST = (node.id for node in GRAPH.nodes)
TOLD = {"mnn": {FIRST: 3.0, SECOND: 1.0, LAST: 0.5}, "ncnn": {RELU: 1.0, SECOND: 2.0}}


def layers(*parts: tuple[str, tuple[str, ...]]) -> list[dict[str, object]]:
    return layers_json(
        GRAPH, [Partition(target=Target(target), nodes=nodes) for target, nodes in parts], TOLD, {RELU: "Fast"}
    )


def test_a_kernel_and_what_is_fused_into_it_are_one_layer_whatever_engines_name_it_after() -> None:
    assert layers(("mnn", (FIRST, RELU, SECOND, LAST))) == [
        {"node": FIRST, "op": "MatMul + Relu", "target": "mnn", "kernel": "Fast", "ms": {"mnn": 3.0, "ncnn": 1.0}},
        {"node": SECOND, "op": "MatMul + Relu", "target": "mnn", "kernel": None, "ms": {"mnn": 1.5, "ncnn": 2.0}},
    ]


def test_rows_are_ordered_by_the_engine_that_runs_them() -> None:
    alone = {"layers": layers(("ncnn", (FIRST, RELU, SECOND, LAST)))}
    assert [row.node for row in rows_of(alone)] == [SECOND, FIRST]
    assert [row.least for row in rows_of(alone)] == [1.5, 1.0]
    assert {row.target for row in rows_of(alone)} == {""}
    mixed = {"layers": layers(("mnn", (FIRST, RELU)), ("ncnn", (SECOND, LAST)))}
    assert [(row.node, row.target) for row in rows_of(mixed)] == [(FIRST, "mnn"), (SECOND, "ncnn")]
    assert engines_of(mixed) == ("mnn", "ncnn")


def test_the_share_of_our_kernels_is_that_of_the_time_where_they_run() -> None:
    told = own_kernels({"layers": layers(("mnn", (FIRST, RELU, SECOND, LAST)))})
    assert told == "kernels of ours compute 1 of 2 layers, 67 % of the time of all"


def test_a_report_without_layers_has_no_table() -> None:
    reports: list[dict[str, object]] = [{}, {"layers": []}, {"layers": layers_json(GRAPH, [], {})}]
    for report in reports:
        assert engines_of(report) == ()
        assert rows_of(report) == []
        assert own_kernels(report) is None
    assert "ms here, as" in how({"described": {"a": "machine"}})


def test_of_many_layers_the_longest_are_kept() -> None:
    graph = fake_dag([[]] * (MOST + 3))
    told = {"mnn": {node.id: float(place + 1) for place, node in enumerate(graph.nodes)}}
    kept = layers_json(graph, [], told)
    assert len(kept) == MOST
    assert not {graph.nodes[place].id for place in range(3)} & {each["node"] for each in kept}
