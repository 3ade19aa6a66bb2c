"""Figures where there are some, estimates where partitions allow one, nothing where nothing is known."""

from __future__ import annotations

import math

import pytest

from intarsia.search.collage.edge_costs import Known
from intarsia.search.collage.segment_costs import Figure, PartitionCosts
from intarsia.search.collage.shortest_path import Edge
from intarsia.target import Target

ONE, TWO = Target("reference -threads=1"), Target("reference")
SHARES = {ONE: (1.0, 2.0, 3.0, 4.0), TWO: (2.0, 1.0, 1.0, math.inf)}


def known(start: int, end: int, target: Target, ms: float, after: Target | None = None) -> Known:
    return Known(start=start, end=end, target=target, after=after, ms=ms)


COSTS = PartitionCosts(
    4,
    {ONE: 9.5},
    SHARES,
    [known(0, 2, ONE, 3.5), known(1, 3, TWO, 2.25), known(1, 3, TWO, 3.0, after=ONE), known(3, 4, TWO, math.inf)],
)


def test_what_was_measured_is_told_as_it_is() -> None:
    assert COSTS.alone(ONE, 0, 2) == Figure(3.5, True)
    assert COSTS.alone(ONE, 0, 4) == Figure(9.5, True)
    assert COSTS.behind(Edge(1, 3, TWO, ONE)) == Figure(3.0, True)


def test_an_estimate_is_the_shares_and_what_a_border_was_seen_to_cost() -> None:
    assert COSTS.within(ONE, 1, 3) == 5.0
    assert COSTS.alone(ONE, 1, 3) == Figure(5.5, False)
    assert COSTS.alone(TWO, 0, 2) == Figure(3.25, False)


def test_a_switch_is_what_a_partition_takes_beyond_itself_alone() -> None:
    assert COSTS.transition(ONE, TWO) == 0.75
    assert COSTS.transition(TWO, ONE) == 0.75  # never seen: as any other
    assert COSTS.behind(Edge(2, 3, TWO, ONE)) == Figure(1.25 + 0.75, False)
    assert PartitionCosts(4, {}, SHARES, []).behind(Edge(2, 3, TWO, ONE)) is None


def test_segments_that_a_target_failed_on_have_no_figure() -> None:
    assert COSTS.has_failed(TWO, 2, 4)
    assert not COSTS.has_failed(TWO, 0, 3)
    assert COSTS.alone(TWO, 2, 4) is None
    assert COSTS.within(TWO, 3, 4) is None


def test_a_plan_has_a_figure_if_all_its_partitions_have_one() -> None:
    assert COSTS.plan([Edge(0, 1, ONE, None), Edge(1, 3, TWO, ONE)]) == pytest.approx(1.5 + 3.0)
    assert COSTS.plan([Edge(0, 2, ONE, None), Edge(2, 4, TWO, ONE)]) is None


def test_every_target_is_listed_once() -> None:
    assert COSTS.targets == (ONE, TWO)
