"""The lazy search finds the best mix there is, asks for little, and learns from whole plans."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from intarsia.backends.contract.failures import Cause
from intarsia.config import RunSettings, Spin
from intarsia.cost.records.record import Failure, Measurement, Outcome
from intarsia.cost.timing.sampling import Effort
from intarsia.cost.worker.deadline import NO_END, Deadline
from intarsia.cost.worker.progress import unwatched
from intarsia.partitioning import Capability, Partition
from intarsia.planning.problem import Problem
from intarsia.runtime import Plan
from intarsia.search.collage.collage import CollageResult, CollageSearch
from intarsia.search.thresholds import COLLAGE
from intarsia.target import Target
from tests.fakes import fake_dag
from tests.unit.search.fakes import FakeMeasurer, chain_problem, measured

ORT, OPENVINO, MNN = Target("onnxruntime"), Target("openvino"), Target("mnn")


@pytest.fixture(autouse=True, scope="module")
def _no_engine() -> Iterator[None]:
    """ONNX Runtime counts as one that can hold others' partitions wherever it stands on both sides of them."""

    def can_embed(plan: Plan) -> bool:
        return sum(step.target == ORT for step in plan.steps) > 1

    class FakeEngine:
        def __init__(self, name: str, *, loading: bool = False) -> None:
            self._name = name

        def embedding(self) -> object:
            return object() if self._name == ORT.kind.name else None

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("intarsia.search.collage.run_modes.can_embed", can_embed)
        patch.setattr("intarsia.search.collage.collage.registry.get", FakeEngine)
        patch.setattr("intarsia.search.collage.collage.predict", lambda _, parts, settings: (1.0,) * len(parts))
        yield


def search(
    fake: FakeMeasurer, costs: dict[Target, Sequence[float]], seconds: float = 1e9, *, prune: bool = True
) -> CollageResult:
    segments = len(next(iter(costs.values())))
    problem = chain_problem(segments, list(costs))
    problem = replace(problem, settings=replace(problem.settings, prune=prune))
    wholes: dict[Target, Outcome] = {target: measured(sum(own)) for target, own in costs.items()}
    capabilities = {target: Capability(refusals={}) for target in costs}
    return CollageSearch(problem, fake.as_measurer(), capabilities, wholes, unwatched).run(Deadline(seconds))


def every_mix(segments: int, targets: Sequence[Target]) -> Iterator[tuple[Partition, ...]]:
    for choice in itertools.product(targets, repeat=segments):
        runs = [(target, list(run)) for target, run in itertools.groupby(range(segments), key=lambda i: choice[i])]
        if len(runs) > 1:
            yield tuple(Partition(target=target, nodes=tuple(f"n{i}" for i in run)) for target, run in runs)


table = st.integers(2, 5).flatmap(
    lambda segments: st.lists(
        st.lists(st.integers(1, 20).map(float), min_size=segments, max_size=segments), min_size=2, max_size=3
    )
)


@settings(deadline=None)
@given(rows=table, transition=st.integers(0, 10).map(float))
def test_of_so_few_nodes_the_best_mix_is_found_if_one_is_faster(rows: list[list[float]], transition: float) -> None:
    costs: dict[Target, Sequence[float]] = dict(zip((ORT, OPENVINO, MNN), rows, strict=False))
    fake = FakeMeasurer(costs, transition_ms=transition)
    best_single = min(map(sum, rows))
    best_mix = min(map(fake.plan_ms, every_mix(len(rows[0]), list(costs))))
    result = search(fake, costs)
    if best_mix >= best_single:
        assert result.mixes == ()
    else:
        assert math.isclose(result.mixes[0].measured_ms, best_mix)
        assert result.mixes[0].candidate.total_ms is not None
        assert math.isclose(result.mixes[0].candidate.total_ms, best_mix)
    assert result.is_finished


def test_equal_costs_give_the_same_plan() -> None:
    costs: dict[Target, Sequence[float]] = {ORT: [1.0, 5.0, 1.0], OPENVINO: [5.0, 1.0, 5.0]}
    first, second = (search(FakeMeasurer(costs), costs) for _ in range(2))
    assert first == second


def test_few_of_the_edges_are_measured() -> None:
    costs: dict[Target, Sequence[float]] = {ORT: [1.0] * 10 + [5.0] * 10, OPENVINO: [3.0] * 10 + [1.0] * 10}
    fake = FakeMeasurer(costs, transition_ms=1.0)
    result = search(fake, costs)
    assert [len(partition.nodes) for partition in result.mixes[0].candidate.partitions] == [10, 10]
    assert fake.measured < 60  # of 20 * 21 / 2 runs * 2 engines * 2 predecessors


def test_what_only_whole_plans_show_is_learned() -> None:
    # Switching back and forth in the middle looks free partition by partition; in a whole plan each transition costs 4.
    costs: dict[Target, Sequence[float]] = {
        ORT: [1.0] * 4 + [1.0, 3.0] * 4 + [9.0] * 4,
        OPENVINO: [4.0] * 4 + [3.0, 1.0] * 4 + [1.0] * 4,
    }
    result = search(FakeMeasurer(costs, surprise_ms=4.0), costs)
    assert [len(mix.candidate.partitions) for mix in result.mixes] == [2, 8]
    assert result.mixes[0].measured_ms < sum(costs[OPENVINO]) < result.mixes[1].measured_ms


def test_an_engine_that_hangs_is_asked_once_and_one_that_fails_three_times() -> None:
    costs: dict[Target, Sequence[float]] = {ORT: [1.0] * 6, OPENVINO: [2.0] * 6, MNN: [1.0] * 6}
    for stage, times in (("timeout", 1), ("crash", 3)):
        fake = FakeMeasurer(costs, failing={MNN: stage})
        search(fake, costs)
        assert sum(name == "mnn" for name, _ in fake.asked) == times


def test_an_engine_that_failed_whole_counts_that_failure() -> None:
    costs: dict[Target, Sequence[float]] = {ORT: [1.0] * 4, MNN: [1.0] * 4}
    fake = FakeMeasurer(costs, failing={MNN: "crash"})
    wholes: dict[Target, Outcome] = {
        ORT: measured(4.0),
        MNN: Failure(stage="timeout", reason="hung", cause=Cause.ENGINE),
    }
    capabilities = {target: Capability(refusals={}) for target in costs}
    problem = chain_problem(4, list(costs))
    CollageSearch(problem, fake.as_measurer(), capabilities, wholes, unwatched).run(NO_END)
    assert all(name != "mnn" for name, _ in fake.asked)


def test_no_time_means_no_mix() -> None:
    costs: dict[Target, Sequence[float]] = {ORT: [1.0, 5.0], OPENVINO: [5.0, 1.0]}
    result = search(FakeMeasurer(costs), costs, seconds=0.0)
    assert result.mixes == ()
    assert not result.is_finished


def test_no_partition_of_a_mix_spans_two_devices() -> None:
    """OpenVINO is better throughout but for one segment, so that its partitions meet at the border of the devices."""
    costs: dict[Target, Sequence[float]] = {ORT: (9.0, 9.0, 9.0, 1.0), OPENVINO: (1.0, 1.0, 1.0, 9.0)}
    problem = chain_problem(4, list(costs))
    places = {"n0": "a", "n1": "a", "n2": "b", "n3": "b"}
    wholes: dict[Target, Outcome] = {target: measured(sum(own)) for target, own in costs.items()}
    found = CollageSearch(
        replace(problem, places=places), FakeMeasurer(costs).as_measurer(), problem.capabilities, wholes, unwatched
    ).run(NO_END)
    assert [(p.target, p.nodes) for p in found.mixes[0].candidate.partitions] == [
        (OPENVINO, ("n0", "n1")),
        (OPENVINO, ("n2",)),
        (ORT, ("n3",)),
    ]


def unlike(segments: int, base: float, **special: float) -> list[float]:
    """Costs of segments that differ a little, and of some, by number, as they are given."""
    return [special.get(f"n{segment}", base + segment / 1000) for segment in range(segments)]


def unlike_problem(costs: dict[Target, Sequence[float]]) -> Problem:
    """A chain of segments none of which is like another, so that they are searched from coarse to fine."""
    segments = len(next(iter(costs.values())))
    graph = fake_dag(
        [[number - 1] if number else [] for number in range(segments)], [f"Op{i}" for i in range(segments)]
    )
    return replace(chain_problem(segments, list(costs)), graph=graph)


def found_in(problem: Problem, fake: FakeMeasurer, costs: dict[Target, Sequence[float]]) -> CollageResult:
    wholes: dict[Target, Outcome] = {target: measured(sum(own)) for target, own in costs.items()}
    return CollageSearch(problem, fake.as_measurer(), problem.capabilities, wholes, unwatched).run(NO_END)


def test_a_sick_segment_is_found_from_coarse_to_fine() -> None:
    """Its engine is better on every coarse cell but that one, and there on all segments but one."""
    costs: dict[Target, Sequence[float]] = {ORT: unlike(60, 1.0, n37=20.0), OPENVINO: unlike(60, 1.5, n37=2.0)}
    fake = FakeMeasurer(costs, transition_ms=0.5, telling=(ORT, OPENVINO))
    result = found_in(unlike_problem(costs), fake, costs)
    assert [(p.target, len(p.nodes)) for p in result.mixes[0].candidate.partitions] == [
        (ORT, 37),
        (OPENVINO, 1),
        (ORT, 22),
    ]
    assert result.is_finished
    assert fake.measured < 60
    assert result.segments == 60 > COLLAGE.levels[0]


def test_after_a_mix_that_lost_the_search_goes_on_for_a_share_of_the_budget() -> None:
    costs: dict[Target, Sequence[float]] = {ORT: unlike(60, 1.0, n37=20.0), OPENVINO: unlike(60, 1.5, n37=2.0)}
    problem = unlike_problem(costs)

    def measured_with(budget_s: float) -> int:
        fake = FakeMeasurer(costs, transition_ms=0.5, surprise_ms=20.0)
        stated = replace(problem, settings=replace(problem.settings, budget_s=budget_s))
        assert found_in(stated, fake, costs).is_finished
        return fake.measured

    assert measured_with(1e-6) < measured_with(1e6)


def test_what_is_best_inside_a_session_ships_embedded() -> None:
    """Called in turn each transition costs 4, so the mix loses; inside the session it wins."""
    costs: dict[Target, Sequence[float]] = {ORT: [2.0, 9.0, 2.0, 2.0], OPENVINO: [8.0, 4.0, 8.0, 8.0]}
    fake = FakeMeasurer(costs, surprise_ms=4.0, embedded_ms=0.25, telling=(ORT, OPENVINO))
    best = search(fake, costs).mixes[0]
    assert [len(p.nodes) for p in best.candidate.partitions] == [1, 1, 2]
    assert best.candidate.settings.embed
    assert math.isclose(best.measured_ms, 10.5)
    # Each part was measured to take as long as any other, and all of them together these 10.5 ms.
    assert best.candidate.predicted_ms == pytest.approx((3.5, 3.5, 3.5))


def test_the_way_that_is_measured_fastest_is_kept() -> None:
    class Sleepy(FakeMeasurer):
        def cost_of_plan(self, partitions: Sequence[Partition], settings: RunSettings, effort: Effort) -> Outcome:
            return measured(self.plan_ms(partitions) - (1.0 if settings.spin is Spin.NEVER else 0.0))

    costs: dict[Target, Sequence[float]] = {ORT: [2.0, 9.0], OPENVINO: [8.0, 4.0]}
    best = search(Sleepy(costs), costs).mixes[0]
    assert best.candidate.settings.spin is Spin.NEVER
    assert best.measured_ms == 5.0


def test_without_pruning_everything_is_tried_and_little_is_gained() -> None:
    costs: dict[Target, Sequence[float]] = {ORT: unlike(40, 1.0, n20=9.0), OPENVINO: unlike(40, 1.5, n20=1.0)}
    problem = unlike_problem(costs)
    few, many = FakeMeasurer(costs, transition_ms=0.5), FakeMeasurer(costs, transition_ms=0.5)
    pruned = found_in(problem, few, costs)
    full = found_in(replace(problem, settings=replace(problem.settings, prune=False)), many, costs)
    assert full.mixes[0].measured_ms <= pruned.mixes[0].measured_ms <= 1.02 * full.mixes[0].measured_ms
    assert full.candidates > 2 * pruned.candidates
    assert many.measured > few.measured


def test_a_plan_that_its_bounds_still_allow_is_built() -> None:
    """By their medians the partitions are a little too dear, by the least of their samples they are not."""

    class Spread(FakeMeasurer):
        def cost(
            self,
            partition: Partition,
            settings: RunSettings,
            after: Partition | None = None,
            effort: Effort | None = None,
        ) -> Outcome:
            ms = self.partition_ms(partition)
            return Measurement(samples_ms=(0.8 * ms, ms, 1.2 * ms) * 5, compile_s=0.0, load_s=0.0, error=0.0)

    costs: dict[Target, Sequence[float]] = {ORT: [5.0, 6.0], OPENVINO: [6.0, 5.0]}
    wholes: dict[Target, Outcome] = {target: measured(9.5) for target in costs}
    problem = chain_problem(2, list(costs))
    for fake, built in ((Spread(costs), True), (FakeMeasurer(costs), False)):
        result = CollageSearch(problem, fake.as_measurer(), problem.capabilities, wholes, unwatched).run(NO_END)
        assert bool(result.mixes) == built
