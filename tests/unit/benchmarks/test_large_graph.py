"""The large graph is planned by the product's own code, on costs that no engine was asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.large_graph import BLOCK_NODES, CALL_MS, Table, synthetic
from intarsia.config import RunSettings
from intarsia.cost.records.store import Store
from intarsia.cost.worker.repro import Origin
from intarsia.graph import load_model
from intarsia.partitioning import Partition
from intarsia.target import Target

SETTINGS = RunSettings(threads=2)


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Table:
    monkeypatch.setattr("intarsia.cost.keys.run_facts", lambda engines, settings: {})  # no engine need be here
    graph = load_model(synthetic(3 * BLOCK_NODES))
    return Table(graph, tmp_path, Store(tmp_path / "records.sqlite"), ["mnn", "openvino"], Origin(model=None))


def test_the_synthetic_network_has_as_many_nodes_as_asked_for() -> None:
    assert len(load_model(synthetic(50)).nodes) == 50


def test_costs_are_sums_and_calls(table: Table) -> None:
    nodes = tuple(node.id for node in table.graph.nodes)
    halves = [Partition(target=Target("mnn"), nodes=part) for part in (nodes[:BLOCK_NODES], nodes[BLOCK_NODES:])]
    found = [table.cost(part, SETTINGS) for part in (Partition(target=Target("mnn"), nodes=nodes), *halves)]
    whole, first, second = (outcome.cost_ms for outcome in found)
    assert first + second == pytest.approx(whole + CALL_MS)
    assert table.measured == 3


def test_some_engines_tell_of_their_nodes_and_some_do_not(table: Table) -> None:
    nodes = tuple(node.id for node in table.graph.nodes)
    told = table.node_times(Partition(target=Target("openvino"), nodes=nodes), SETTINGS)
    assert set(told) == set(nodes)
    assert min(told.values()) > 0
    assert not table.node_times(Partition(target=Target("mnn"), nodes=nodes), SETTINGS)
