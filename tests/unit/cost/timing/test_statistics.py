"""Medians, their intervals, and the control of a window."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intarsia.cost.thresholds import PAIRED
from intarsia.cost.timing.footprint import Tail
from intarsia.cost.timing.statistics import (
    Interval,
    halves_agree,
    hull,
    median,
    median_interval,
    paired_ratios,
    percentile,
    percentile_interval,
    set_medians,
)

samples = st.lists(st.floats(0.001, 1000), min_size=1, max_size=60)


@given(samples)
def test_the_interval_holds_the_median_and_lies_in_the_samples(values: list[float]) -> None:
    interval = median_interval(values)
    assert min(values) <= interval.low <= interval.median <= interval.high <= max(values)


@given(samples, st.randoms())
def test_order_does_not_matter(values: list[float], rng: random.Random) -> None:
    shuffled = list(values)
    rng.shuffle(shuffled)
    assert median_interval(shuffled) == median_interval(values)


def test_the_interval_covers_the_true_median_about_as_often_as_it_says() -> None:
    rng = random.Random(1)
    hits = sum(
        interval.low <= 0 <= interval.high
        for interval in (median_interval([rng.gauss(0, 1) for _ in range(30)]) for _ in range(2000))
    )
    assert 0.93 <= hits / 2000 <= 0.995


def test_no_samples_have_no_median() -> None:
    with pytest.raises(ValueError, match="no samples"):
        median_interval([])


def test_median_and_percentile() -> None:
    assert median([3, 1, 2]) == 2
    assert median([4, 1, 2, 3]) == 2.5
    assert percentile(list(range(1, 11)), 0.9) == 9
    assert percentile([5.0], 0.9) == 5.0


def test_a_window_that_changed_half_way_is_void() -> None:
    assert halves_agree([1.0, 1.01] * 5, 0.05)
    assert not halves_agree([1.0] * 5 + [1.2] * 5, 0.05)
    assert halves_agree([1.0, 9.0], 0.05)


@given(samples, st.floats(0.01, 0.99))
def test_a_percentile_lies_in_its_interval(values: list[float], share: float) -> None:
    interval = percentile_interval(values, share)
    assert min(values) <= interval.low <= interval.median <= interval.high <= max(values)


@given(samples)
def test_the_middle_percentile_has_the_interval_of_the_median(values: list[float]) -> None:
    middle, known = percentile_interval(values, 0.5), median_interval(values)
    assert (middle.low, middle.high) == (known.low, known.high)


@given(samples, samples)
def test_a_hull_holds_all_and_no_more(values: list[float], others: list[float]) -> None:
    interval = median_interval(values)
    wide = hull(interval, others)
    assert wide.low == min(interval.low, *others)
    assert wide.high == max(interval.high, *others)
    assert hull(interval, [interval.median]) == Interval(median=interval.median, low=interval.low, high=interval.high)


@pytest.mark.parametrize("count", [1, PAIRED.p99_calls - 1])
def test_too_few_calls_have_no_p99(count: int) -> None:
    tail = Tail.of([1.0] * (count - 1) + [3.0])
    assert (tail.calls, tail.p99, tail.p99_ms) == (count, None, 3.0)


def test_there_is_no_tail_of_no_calls() -> None:
    assert Tail.of([]) == Tail(calls=0, p99=None)


def test_the_p99_of_many_calls() -> None:
    tail = Tail.of([float(ms) for ms in range(1, 301)])
    assert (tail.calls, tail.p99) == (300, Interval(median=297.0, low=293.0, high=300.0))
    assert (tail.p50, tail.p99_ms) == (150.5, 297.0)


def test_ratios_are_of_the_rounds_that_both_ran() -> None:
    assert paired_ratios([2.0, 3.0, 4.0], [1.0, 2.0]) == [2.0, 1.5]


def test_each_set_has_a_median_of_its_own() -> None:
    assert set_medians([1.0, 2.0, 3.0, 10.0, 12.0], (3, 2)) == (2.0, 11.0)
    assert set_medians([1.0, 2.0, 3.0], (3, 2)) == (2.0,)
