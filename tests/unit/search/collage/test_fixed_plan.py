"""Plans that are given: predicted apart or embedded, whichever is asked for or measured to be faster."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import cast

import onnx
import pytest

from intarsia.backends.contract.failures import Cause
from intarsia.config import RunSettings
from intarsia.cost.measure import Measurer
from intarsia.cost.records.record import Failure, Measurement, Outcome
from intarsia.cost.timing.sampling import Effort
from intarsia.errors import ExecutionError
from intarsia.graph import Graph, load_model
from intarsia.partitioning import Partition, Partitioning
from intarsia.runtime import Plan
from intarsia.search.collage.run_modes import given_candidate
from intarsia.search.decision.prediction import predict_embedded, predict_parallel
from intarsia.target import Target
from tests.unit.graph.models import two_layers
from tests.unit.search.fakes import measured

MAIN, OTHER = Target("onnxruntime"), Target("ncnn")
SETTINGS = RunSettings(threads=1)
WAYS = (SETTINGS, RunSettings(threads=1, embed=True))


class FakeMeasurer:
    """Costs of a plan by how it runs, of all of the main engine's steps at once, and of one partition."""

    def __init__(self, graph: Graph, apart_ms: float = 9.0, inside: Outcome | None = None) -> None:
        self.graph = graph
        self._apart_ms, self._inside = apart_ms, inside or measured(7.0)
        self.partitions: list[int] = []

    def cost(
        self, partition: Partition, settings: RunSettings, after: Partition | None = None, effort: Effort | None = None
    ) -> Measurement:
        return measured(1.0)

    def cost_of_plan(self, partitions: Sequence[Partition], settings: RunSettings, effort: Effort) -> Outcome:
        return self._inside if settings.embed else measured(self._apart_ms)

    def cost_of_embedded(
        self, partitions: Sequence[Partition], place: int | None, settings: RunSettings, effort: Effort
    ) -> Outcome:
        if place is None:
            return measured(6.0)
        self.partitions.append(place)
        return measured(0.5)


@pytest.fixture
def partitioning(monkeypatch: pytest.MonkeyPatch) -> tuple[Graph, Partitioning]:
    """Two equal layers, the second operator of each elsewhere; every plan can be embedded."""
    graph = load_model(two_layers())

    def main_places(plan: Plan) -> tuple[int, ...]:
        return tuple(place for place, step in enumerate(plan.steps) if step.target == MAIN)

    monkeypatch.setattr("intarsia.search.collage.run_modes.can_embed", lambda plan: True)
    monkeypatch.setattr(sys.modules["intarsia.search.decision.prediction"], "main_places", main_places)
    targets = [MAIN, OTHER] * (len(graph.nodes) // 2)
    pairs = zip(targets, graph.nodes, strict=False)
    return graph, Partitioning(partitions=tuple(Partition(target=t, nodes=(n.id,)) for t, n in pairs))


@pytest.mark.parametrize(
    ("apart_ms", "inside", "embed"),
    [
        (9.0, measured(7.0), True),
        (6.0, measured(7.0), False),
        (9.0, Failure(stage="run", reason="on purpose", cause=Cause.ENGINE), False),
    ],
)
def test_what_is_faster_is_predicted(
    partitioning: tuple[Graph, Partitioning], apart_ms: float, inside: Outcome, embed: bool
) -> None:
    graph, parts = partitioning
    fake = FakeMeasurer(graph, apart_ms, inside)
    candidate = given_candidate("manual", parts, WAYS, cast("Measurer", fake))
    assert candidate.settings.embed is embed


@pytest.mark.parametrize("embed", [True, False])
def test_what_is_asked_for_is_not_measured_both_ways(partitioning: tuple[Graph, Partitioning], embed: bool) -> None:
    graph, parts = partitioning
    fake = FakeMeasurer(graph, apart_ms=0.1 if embed else 99.0)
    ways = (RunSettings(threads=1, embed=embed),)
    assert given_candidate("manual", parts, ways, cast("Measurer", fake)).settings == ways[0]


def test_the_main_engines_time_is_shared_out_and_equal_partitions_are_timed_once(
    partitioning: tuple[Graph, Partitioning],
) -> None:
    graph, parts = partitioning
    fake = FakeMeasurer(graph)
    costs = predict_embedded(cast("Measurer", fake), parts.partitions, SETTINGS)
    main = [ms for ms, part in zip(costs, parts.partitions, strict=True) if part.target == MAIN]
    assert sum(main) == pytest.approx(6.0)
    assert [ms for ms, part in zip(costs, parts.partitions, strict=True) if part.target == OTHER] == [0.5] * 2
    assert fake.partitions == [1]


def test_partitions_beside_each_other_are_predicted_to_take_as_long_as_the_longer_branch() -> None:
    graph = load_model(two_branches())
    parts = tuple(Partition(target=MAIN, nodes=(node.id,)) for node in graph.nodes)
    costs = predict_parallel(cast("Measurer", FakeMeasurer(graph)), parts, RunSettings(threads=2, parallel=True))
    assert len(costs) == len(parts) == 4
    assert sum(costs) == pytest.approx(3.0)  # the first, the branch of two, and beside it that of one
    assert sum(costs[1:]) == pytest.approx(2.0)


@pytest.mark.parametrize(("threads", "ways"), [(2, [False, True]), (1, [False])])
def test_branches_run_at_one_time_if_that_is_measured_to_be_faster(threads: int, ways: list[bool]) -> None:
    graph = load_model(two_branches())
    parts = Partitioning(partitions=tuple(Partition(target=MAIN, nodes=(node.id,)) for node in graph.nodes))
    fake = FakeMeasurer(graph)
    asked: list[bool] = []

    def cost_of_plan(partitions: Sequence[Partition], settings: RunSettings, effort: Effort) -> Outcome:
        asked.append(settings.parallel)
        return measured(1.0 if settings.parallel else 2.0)

    fake.cost_of_plan = cost_of_plan  # type: ignore[method-assign]
    several = [RunSettings(threads=threads, parallel=parallel) for parallel in (False, True)]
    candidate = given_candidate("manual", parts, several, cast("Measurer", fake))
    assert candidate.settings.parallel == (True in ways)
    assert asked in (ways, [])  # one way alone is not measured


def two_branches() -> onnx.ModelProto:
    """A node, then one branch of two nodes and one of one, which nothing joins."""
    rows = [("a", "x"), ("b", "a"), ("c", "b"), ("d", "a")]
    nodes = [onnx.helper.make_node("Relu", [source], [sink], name=sink) for sink, source in rows]
    ends = {name: onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, 4]) for name in "xcd"}
    body = onnx.helper.make_graph(nodes, "two_branches", [ends["x"]], [ends["c"], ends["d"]])
    return onnx.helper.make_model(body, opset_imports=[onnx.helper.make_opsetid("", 21)], ir_version=10)


def test_a_partition_that_fails_ends_the_plan(partitioning: tuple[Graph, Partitioning]) -> None:
    graph, parts = partitioning
    fake = FakeMeasurer(graph)
    on_purpose = Failure(stage="run", reason="on purpose", cause=Cause.ENGINE)
    fake.cost_of_embedded = lambda *_: on_purpose  # type: ignore[method-assign]
    with pytest.raises(ExecutionError, match="on purpose"):
        predict_embedded(cast("Measurer", fake), parts.partitions, SETTINGS)
