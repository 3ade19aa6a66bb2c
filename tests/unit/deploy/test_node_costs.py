"""What a machine measured of segments is shared out among their nodes, and comes to what the plan takes."""

from __future__ import annotations

from typing import Any

import pytest

from intarsia.deploy.node_costs import node_ms
from intarsia.graph import Graph, load_model
from intarsia.graph.work import work
from intarsia.partitioning import linear_order
from tests.unit.graph.models import branching


@pytest.fixture(scope="module")
def graph() -> Graph:
    return load_model(branching())


def report(order: tuple[str, ...], cut: int, first: dict[str, float | None], second: dict[str, float | None]) -> Any:
    rows = [(order[:cut], first), (order[cut:], second)]
    return {"segments": [{"nodes": len(n), "first": n[0], "last": n[-1], "ms": ms} for n, ms in rows]}


def test_segments_cost_what_their_fastest_engine_takes(graph: Graph) -> None:
    order = linear_order(graph)
    found = node_ms(graph, report(order, 2, {"x": 3.0, "y": 1.0}, {"x": 3.0, "y": None}), latency_ms=8.0)
    assert sum(found[id_] for id_ in order[:2]) == pytest.approx(2.0, rel=1e-3)
    assert sum(found[id_] for id_ in order[2:]) == pytest.approx(6.0, rel=1e-3)


@pytest.mark.parametrize("broken", ["none", "unmeasured", "another graph", "short"])
def test_without_segments_of_this_graph_work_decides(graph: Graph, broken: str) -> None:
    order = linear_order(graph)
    made = report(order, 2, {"x": 3.0}, {"x": 3.0})
    match broken:
        case "none":
            made = {}
        case "unmeasured":
            made["segments"][0]["ms"] = {"x": None}
        case "another graph":
            made["segments"][1]["first"] = "elsewhere"
        case "short":
            del made["segments"][1]
    found = node_ms(graph, made, latency_ms=10.0)
    whole = sum(work(graph, node) for node in graph.nodes)
    for node in graph.nodes:
        assert found[node.id] == pytest.approx(10.0 * work(graph, node) / whole, abs=1e-5)
