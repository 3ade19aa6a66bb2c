"""The lazy search finds the best mix there is, asks for little, and learns from whole plans."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from intarsia.cost.progress import unwatched
from intarsia.cost.record import Failure, Outcome
from intarsia.partition import Capability, Partition
from intarsia.search.collage import WORTH_BUILDING, CollageResult, CollageSearch
from intarsia.search.problem import Deadline
from intarsia.target import Target
from tests.unit.search.fakes import FakeMeasurer, chain_problem, measured

ORT, OPENVINO, MNN = Target("onnxruntime"), Target("openvino"), Target("mnn")


def search(fake: FakeMeasurer, costs: dict[Target, Sequence[float]], seconds: float = 1e9) -> CollageResult:
    atoms = len(next(iter(costs.values())))
    problem = chain_problem(atoms, list(costs))
    wholes: dict[Target, Outcome] = {target: measured(sum(own)) for target, own in costs.items()}
    capabilities = {target: Capability(refusals={}) for target in costs}
    return CollageSearch(problem, fake.as_measurer(), capabilities, wholes, unwatched).run(Deadline(seconds))


def every_mix(atoms: int, targets: Sequence[Target]) -> Iterator[tuple[Partition, ...]]:
    for choice in itertools.product(targets, repeat=atoms):
        runs = [(target, list(run)) for target, run in itertools.groupby(range(atoms), key=lambda i: choice[i])]
        if len(runs) > 1:
            yield tuple(Partition(target=target, nodes=tuple(f"n{i}" for i in run)) for target, run in runs)


table = st.integers(2, 5).flatmap(
    lambda atoms: st.lists(
        st.lists(st.integers(1, 20).map(float), min_size=atoms, max_size=atoms), min_size=2, max_size=3
    )
)


@settings(deadline=None)
@given(rows=table, switch=st.integers(0, 10).map(float))
def test_the_best_mix_is_found_if_one_is_worth_building(rows: list[list[float]], switch: float) -> None:
    costs: dict[Target, Sequence[float]] = dict(zip((ORT, OPENVINO, MNN), rows, strict=False))
    fake = FakeMeasurer(costs, switch_ms=switch)
    best_single = min(map(sum, rows))
    best_mix = min(map(fake.plan_ms, every_mix(len(rows[0]), list(costs))))
    result = search(fake, costs)
    if best_mix > WORTH_BUILDING * best_single:
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
    fake = FakeMeasurer(costs, switch_ms=1.0)
    result = search(fake, costs)
    assert [len(partition.nodes) for partition in result.mixes[0].candidate.partitions] == [10, 10]
    assert fake.measured < 60  # of 20 * 21 / 2 runs * 2 engines * 2 predecessors


def test_what_only_whole_plans_show_is_learned() -> None:
    # Switching back and forth in the middle looks free piece by piece; in a whole plan each switch costs 4.
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
    wholes: dict[Target, Outcome] = {ORT: measured(4.0), MNN: Failure(stage="timeout", reason="hung")}
    capabilities = {target: Capability(refusals={}) for target in costs}
    problem = chain_problem(4, list(costs))
    CollageSearch(problem, fake.as_measurer(), capabilities, wholes, unwatched).run(Deadline(1e9))
    assert all(name != "mnn" for name, _ in fake.asked)


def test_no_time_means_no_mix() -> None:
    costs: dict[Target, Sequence[float]] = {ORT: [1.0, 5.0], OPENVINO: [5.0, 1.0]}
    result = search(FakeMeasurer(costs), costs, seconds=0.0)
    assert result.mixes == ()
    assert not result.is_finished


def test_no_piece_of_a_mix_spans_two_devices() -> None:
    """OpenVINO is better throughout but for one atom, so that its pieces meet at the border of the devices."""
    costs: dict[Target, Sequence[float]] = {ORT: (9.0, 9.0, 9.0, 1.0), OPENVINO: (1.0, 1.0, 1.0, 9.0)}
    problem = chain_problem(4, list(costs))
    places = {"n0": "a", "n1": "a", "n2": "b", "n3": "b"}
    wholes: dict[Target, Outcome] = {target: measured(sum(own)) for target, own in costs.items()}
    found = CollageSearch(
        replace(problem, places=places), FakeMeasurer(costs).as_measurer(), problem.capabilities, wholes, unwatched
    ).run(Deadline(1e9))
    assert [(p.target, p.nodes) for p in found.mixes[0].candidate.partitions] == [
        (OPENVINO, ("n0", "n1")),
        (OPENVINO, ("n2",)),
        (ORT, ("n3",)),
    ]
