"""Windows end when they are stable, are repeated when they are void, and hopeless pieces are given up."""

from __future__ import annotations

import itertools
from dataclasses import replace
from unittest.mock import patch

import pytest

from intarsia.cost.thresholds import SAMPLING
from intarsia.cost.timing import sampling
from intarsia.cost.timing.sampling import Effort, sample, sample_stream


def test_a_stable_partition_needs_few_runs() -> None:
    samples, complete = sample(lambda: 5.0, Effort(seconds=60, min_runs=7, max_runs=1000))
    assert complete
    assert 7 <= len(samples) <= 7 + SAMPLING.block_ms / 5.0
    assert set(samples) == {5.0}


def test_an_unstable_partition_is_run_to_the_limit() -> None:
    values = itertools.cycle([1.0, 2.0])
    samples, _ = sample(lambda: next(values), Effort(seconds=60, min_runs=4, max_runs=20))
    assert len(samples) == 20


def test_a_hopeless_partition_is_given_up_after_the_warm_up() -> None:
    samples, complete = sample(lambda: 50.0, Effort(hopeless_ms=10.0))
    assert not complete
    assert len(samples) == 1


def test_a_disturbed_window_is_taken_again() -> None:
    disturbed = [1.0] * 6 + [3.0] * 6
    quiet = [1.0] * 12
    warm_up = itertools.repeat(1.0, SAMPLING.warm_up_calls)
    values = itertools.chain(warm_up, disturbed, quiet)
    with patch.object(sampling, "SAMPLING", replace(SAMPLING, warm_up_s=0.0)):
        samples, complete = sample(lambda: next(values), Effort(seconds=60, min_runs=12, max_runs=12))
    assert complete
    assert samples == (1.0,) * 12


def test_times_are_put_down_to_full_speed() -> None:
    samples, _ = sample(lambda: 50.0, Effort(seconds=60, min_runs=4), lambda: 1.6)
    assert samples == pytest.approx((50.0 / 1.6,) * 4)


def test_runs_during_which_the_pace_changed_do_not_count() -> None:
    """At each look but the first few the machine is twice as slow, and so is the run between two such looks."""
    paces = itertools.chain([1.0, 1.0, 1.0, 1.0, 2.0, 2.0], itertools.repeat(2.0))
    taken: list[float] = []

    def slowdown() -> float:
        taken.append(next(paces))
        return taken[-1]

    samples, _ = sample(lambda: 40.0 * taken[-1] if taken else 40.0, Effort(seconds=60, min_runs=5), slowdown)
    assert samples == (40.0,) * 5


def test_a_restless_machine_gets_what_there_is() -> None:
    paces = itertools.cycle([1.0, 2.0])
    samples, complete = sample(lambda: 30.0, Effort(seconds=0, min_runs=5), lambda: next(paces))
    assert complete
    assert samples == (30.0 / 1.5,) * 5


def test_a_stream_is_timed_by_the_request_once_it_is_in_full_flow() -> None:
    taken = itertools.count()
    samples, complete = sample_stream(taken, Effort(seconds=0.05, min_runs=4, max_runs=5))
    assert complete
    assert 4 <= len(samples) <= 5
    assert all(ms > 0 for ms in samples)
    assert next(taken) >= SAMPLING.warm_up_requests * (2 + len(samples))


def test_a_hopeless_stream_is_given_up() -> None:
    samples, complete = sample_stream(itertools.count(), Effort(seconds=60, hopeless_ms=0.0))
    assert not complete
    assert len(samples) == 1
