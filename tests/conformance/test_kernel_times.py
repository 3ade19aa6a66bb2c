"""What engines tell of their kernels can be attributed to the nodes of the graph."""

from __future__ import annotations

from pathlib import Path

import pytest

from intarsia.backends import registry
from intarsia.backends.contract import Backend
from intarsia.config import RunSettings
from intarsia.cost.worker.client import WorkerClient
from intarsia.cost.worker.protocol import Inspect, NodeTimes, Workload
from intarsia.graph import load_model, save_graph
from intarsia.partitioning import Partition
from intarsia.runtime.environment import load_environment
from intarsia.target import Target
from tests.unit.graph.models import two_layers

SETTINGS = RunSettings(threads=1)
TELLING = [
    name
    for name in registry.names()
    if type(registry.get(name)).kernel_times is not Backend.kernel_times and registry.get(name).probe().usable
]


@pytest.mark.parametrize("name", registry.names())
def test_nodes_have_times_where_the_engine_has_a_profiler(name: str, tmp_path: Path) -> None:
    if not registry.get(name).probe().usable:
        pytest.skip(f"{name}: {registry.get(name).probe().reason}")
    graph = load_model(two_layers())
    if registry.get(name).capability(graph, Target(name)).refusals:
        pytest.skip(f"{name} does not take this graph")
    save_graph(graph, tmp_path)
    partition = Partition(target=Target(name), nodes=tuple(node.id for node in graph.nodes))
    with WorkerClient(tmp_path, load_environment([name], SETTINGS)) as worker:
        answer = worker.ask(Inspect(workload=Workload.of([partition], SETTINGS), runs=3), 60.0)
    assert isinstance(answer, NodeTimes)
    assert bool(answer.ms) == (name in TELLING)
    assert set(answer.ms) <= set(partition.nodes)
    assert all(ms >= 0 for ms in answer.ms.values())
