"""How a stream is driven: balanced cuts, pipelines within the budget, and never one that is not faster."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import combinations, pairwise
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intarsia.backends.contract.failures import Cause
from intarsia.config import Pipeline, RunSettings
from intarsia.cost.measure import Measurer
from intarsia.cost.records.record import Failure, Outcome
from intarsia.cost.timing.sampling import Effort
from intarsia.cost.worker.deadline import Deadline
from intarsia.cost.worker.progress import unwatched
from intarsia.graph import load_model
from intarsia.partitioning import Partition
from intarsia.planning.problem import Candidate, Problem
from intarsia.search.streams import balanced, choose_stream, pipelines
from intarsia.target import Target
from tests.unit.graph.models import two_layers
from tests.unit.search.fakes import measured

GRAPH = load_model(two_layers())
NODES = tuple(node.id for node in GRAPH.nodes)
ENGINE = Target("onnxruntime")
Rate = Callable[[tuple[Partition, ...], Pipeline | None, int], float]


class FakeMeasurer:
    """Streams cost what they are said to; a partition costs its number of nodes."""

    def __init__(self, rate: Rate) -> None:
        self.graph = GRAPH
        self.streams: list[tuple[int, Pipeline | None, int]] = []
        self._rate = rate

    def cost(self, partition: Partition, settings: RunSettings, effort: Effort) -> Outcome:
        return measured(float(len(partition.nodes)))

    def cost_of_stream(
        self, partitions: Sequence[Partition], settings: RunSettings, effort: Effort, trial: int = 0
    ) -> Outcome:
        self.streams.append((len(partitions), settings.pipeline, trial))
        ms = self._rate(tuple(partitions), settings.pipeline, trial)
        return Failure(stage="run", reason="on purpose", cause=Cause.ENGINE) if math.isinf(ms) else measured(ms)


def problem(threads: int) -> Problem:
    facts = {
        "graph": GRAPH,
        "threads": threads,
        "segments": tuple((node,) for node in NODES),
        "run": staticmethod(lambda spin: RunSettings(threads=threads, spin=spin)),
    }
    return cast("Problem", type("P", (), facts))


def candidate(name: str, parts: int = 1, *, threads: int = 2, embed: bool = False) -> Candidate:
    ends = [round(len(NODES) * number / parts) for number in range(parts + 1)]
    partitions = tuple(Partition(target=ENGINE, nodes=NODES[a:b]) for a, b in pairwise(ends))
    settings = RunSettings(threads=threads, embed=embed)
    return Candidate(name=name, label=name, partitions=partitions, settings=settings, predicted_ms=(1.0,) * parts)


def chosen(rate: Rate, *pool: Candidate, threads: int = 2, seconds: float = 60.0) -> tuple[Candidate | None, str]:
    fake = cast("Measurer", FakeMeasurer(rate))
    choice = choose_stream(problem(threads), fake, pool, None, Deadline(seconds), unwatched)
    return choice.candidate, choice.reason


@given(st.lists(st.floats(0, 100), min_size=1, max_size=9), st.data())
def test_no_other_cut_has_a_smaller_greatest_stage(costs: list[float], data: st.DataObject) -> None:
    count = data.draw(st.integers(1, len(costs)))
    sizes = balanced(costs, count)
    assert len(sizes) == count
    assert min(sizes) > 0
    assert sum(sizes) == len(costs)

    def greatest(ends: Sequence[int]) -> float:
        return max(sum(costs[a:b]) for a, b in pairwise((0, *ends, len(costs))))

    own = [sum(sizes[: number + 1]) for number in range(count - 1)]
    least = min(greatest(cut) for cut in combinations(range(1, len(costs)), count - 1))
    assert greatest(own) == pytest.approx(least)


@given(st.lists(st.floats(0, 10), min_size=1, max_size=12), st.integers(1, 9))
def test_pipelines_fit_the_plan_and_the_threads(costs: list[float], threads: int) -> None:
    several = list(pipelines(costs, threads))
    assert len(set(several)) == len(several)
    assert (threads == 1) == (several == [])
    for pipeline in several:
        assert pipeline.fault(len(costs), threads) is None
        assert pipeline.depth >= pipeline.lanes * len(pipeline.stages)
        assert pipeline.lanes * len(pipeline.stages) > 1


def test_the_fastest_is_taken() -> None:
    def rate(parts: tuple[Partition, ...], pipeline: Pipeline | None, trial: int) -> float:
        return 4.0 if pipeline is None else 3.0 if pipeline.lanes == 2 else 2.0

    best, reason = chosen(rate, candidate("a", 3))
    assert best is not None
    assert best.settings.pipeline == Pipeline(stages=(1, 2), threads=(1, 1), depth=4)
    assert best.name == best.label == "a, 2 stages"
    assert "2.00 times as many requests a second" in reason


@pytest.mark.parametrize("slow_trial", [1, 2, 3])
def test_what_is_not_faster_each_time_is_not_taken(slow_trial: int) -> None:
    def rate(parts: tuple[Partition, ...], pipeline: Pipeline | None, trial: int) -> float:
        return 4.0 if pipeline is None else 5.0 if trial == slow_trial else 2.0

    best, reason = chosen(rate, candidate("a"))
    assert best is None
    assert reason == "no pipeline is faster than one request after another"


def test_pipelines_that_fail_are_not_taken() -> None:
    best, _ = chosen(lambda parts, pipeline, trial: 4.0 if pipeline is None else math.inf, candidate("a"))
    assert best is None


def test_a_plan_of_one_partition_is_cut_into_stages_of_like_cost() -> None:
    def rate(parts: tuple[Partition, ...], pipeline: Pipeline | None, trial: int) -> float:
        return 4.0 if pipeline is None else 1.0 if len(parts) > 1 else 3.0

    best, _ = chosen(rate, candidate("a"))
    assert best is not None
    assert [id_ for part in best.partitions for id_ in part.nodes] == list(NODES)
    assert {part.target for part in best.partitions} == {ENGINE}
    sizes = [len(part.nodes) for part in best.partitions]
    assert best.predicted_ms == tuple(map(float, sizes))
    assert max(sizes) - min(sizes) <= 1


def test_the_baseline_is_the_fastest_plan_and_not_the_pipelines_own() -> None:
    def rate(parts: tuple[Partition, ...], pipeline: Pipeline | None, trial: int) -> float:
        if pipeline is None:
            return 10.0 if len(parts) == 2 else 4.0
        return 5.0

    best, _ = chosen(rate, candidate("slow", 2), candidate("fast"))
    assert best is None


def test_an_embedded_plan_is_taken_apart_for_it() -> None:
    best, _ = chosen(lambda parts, pipeline, trial: 4.0 if pipeline is None else 2.0, candidate("a", 2, embed=True))
    assert best is not None
    assert not best.settings.embed
    assert best.settings.pipeline is not None


def test_one_thread_leaves_nothing_to_choose() -> None:
    best, reason = chosen(lambda parts, pipeline, trial: 1.0, candidate("a", threads=1), threads=1)
    assert best is None
    assert reason == "there is one thread, so requests run one after another"


def test_when_the_time_is_over_one_pipeline_is_tried() -> None:
    fake = FakeMeasurer(lambda parts, pipeline, trial: 4.0 if pipeline is None else 2.0)
    pool = [candidate("a", 2), candidate("b", 3)]
    choose_stream(problem(2), cast("Measurer", fake), pool, 7, Deadline(0.0), unwatched)
    tried = {pipeline for _, pipeline, _ in fake.streams if pipeline is not None}
    assert [pipeline.depth for pipeline in tried] == [7]
