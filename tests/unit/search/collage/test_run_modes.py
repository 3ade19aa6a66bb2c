"""A mix is measured in each way it can be run, and hopeless ways are given up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from intarsia.backends.contract.failures import Cause
from intarsia.config import RunSettings, Spin
from intarsia.cost.records.record import Failure, Outcome
from intarsia.cost.timing.sampling import Effort
from intarsia.cost.worker.deadline import Deadline
from intarsia.partitioning import Partition
from intarsia.search.collage.run_modes import measured_ways, ways
from intarsia.search.thresholds import COLLAGE
from intarsia.target import Target
from tests.fakes import fake_dag
from tests.unit.search.fakes import FakeMeasurer, chain_problem, measured

ONE, TWO = Target("reference -threads=1"), Target("reference")
PARTS = (Partition(target=ONE, nodes=("n0",)), Partition(target=TWO, nodes=("n1", "n2")))


class Ways(FakeMeasurer):
    """Takes 8, 4, ... ms from way to way, and fails where engines may spin freely."""

    def __init__(self) -> None:
        super().__init__({})
        self.hopeless: list[float | None] = []

    def cost_of_plan(self, partitions: Sequence[Partition], settings: RunSettings, effort: Effort) -> Outcome:
        self.hopeless.append(effort.hopeless_ms)
        if settings.spin is Spin.FREE:
            return Failure(stage="crash", reason="on purpose", cause=Cause.ENGINE)
        return measured(8.0 / len(self.hopeless))


@pytest.mark.parametrize("embeds", [False, True])
def test_inside_a_session_only_where_that_can_be(monkeypatch: pytest.MonkeyPatch, embeds: bool) -> None:
    monkeypatch.setattr("intarsia.search.collage.run_modes.can_embed", lambda plan: embeds and len(plan.steps) == 2)
    found = ways(replace(chain_problem(2, [ONE, TWO]), graph=fake_dag([[], [0], [1]]), threads=2), PARTS)
    assert [(way.spin, way.embed) for way in found[:2]] == [(Spin.CALL, False), (Spin.NEVER, False)]
    assert [(way.spin, way.embed) for way in found[2:]] == [(Spin.CALL, True), (Spin.FREE, True)] * embeds
    assert all(way.threads == 2 for way in found)


def test_ways_that_fail_are_left_out_and_slow_ones_given_up() -> None:
    fake = Ways()
    several = [RunSettings(threads=1, spin=spin) for spin in (Spin.CALL, Spin.FREE, Spin.NEVER)]
    found = measured_ways(fake.as_measurer(), PARTS, several)
    assert list(found.values()) == [8.0, 8.0 / 3]
    assert fake.hopeless == [None, COLLAGE.way_behind * 8.0, COLLAGE.way_behind * 8.0]
    fake = Ways()
    measured_ways(fake.as_measurer(), PARTS, several[:1], best_ms=2.0)
    assert fake.hopeless == [COLLAGE.way_behind * 2.0]


def test_behind_the_deadline_no_way_is_measured_but_the_first() -> None:
    several = [RunSettings(threads=1, spin=spin) for spin in (Spin.CALL, Spin.NEVER)]
    found = measured_ways(Ways().as_measurer(), PARTS, several, deadline=Deadline(0.0))
    assert list(found) == several[:1]


def test_where_one_way_is_far_behind_the_same_with_other_waiting_is_not_measured() -> None:
    fake = Ways()
    apart = [RunSettings(threads=1, spin=spin) for spin in (Spin.CALL, Spin.NEVER)]
    beside = replace(apart[0], parallel=True)
    found = measured_ways(fake.as_measurer(), PARTS, [*apart, beside], best_ms=6.9)
    assert list(found) == [apart[0], beside]
