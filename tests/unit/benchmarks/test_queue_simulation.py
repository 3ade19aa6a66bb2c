"""The simulation of queues agrees with what is known of them in closed form."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.queue_simulation import Fleet, Policy, poisson, simulate, through_doors

COUNT = 60_000
DEMAND_S = 0.01


def answered(fleet: Fleet, load: float, *, is_drawn: bool = True) -> np.ndarray:
    rng = np.random.default_rng(7)
    demands = rng.exponential(DEMAND_S, COUNT) if is_drawn else np.full(COUNT, DEMAND_S)
    cores = min(fleet.cores, fleet.replicas)
    return simulate(poisson(load * cores / DEMAND_S, COUNT, rng), demands, fleet, rng)


@pytest.mark.parametrize("load", [0.3, 0.7])
def test_one_replica_is_a_queue_of_one_server(load: float) -> None:
    """M/M/1: the time in the system is exponential, with the mean ``demand / (1 - load)``."""
    times = answered(Fleet(replicas=1, cores=1), load)
    mean = DEMAND_S / (1 - load)
    assert times.mean() == pytest.approx(mean, rel=0.05)
    assert np.percentile(times, 99) == pytest.approx(-np.log(0.01) * mean, rel=0.1)


def test_equal_requests_wait_half_as_long() -> None:
    """M/D/1, by Pollaczek and Khinchine: the mean wait is ``demand * load / (2 (1 - load))``."""
    times = answered(Fleet(replicas=1, cores=1), 0.6, is_drawn=False)
    assert times.mean() - DEMAND_S == pytest.approx(DEMAND_S * 0.6 / 0.8, rel=0.05)


def test_replicas_that_share_a_core_get_no_more_than_it_has() -> None:
    """With exponential demands the order of work changes no mean: four replicas on one core are M/M/1 in the mean."""
    times = answered(Fleet(replicas=4, cores=1), 0.6)
    assert times.mean() == pytest.approx(DEMAND_S / 0.4, rel=0.06)


def test_replicas_with_a_core_each_are_queues_of_their_own() -> None:
    times = answered(Fleet(replicas=8, cores=8), 0.6)
    assert times.mean() == pytest.approx(DEMAND_S / 0.4, rel=0.06)


def test_a_shorter_queue_is_a_shorter_wait() -> None:
    means = {policy: float(answered(Fleet(replicas=10, cores=10, policy=policy), 0.7).mean()) for policy in Policy}
    assert means[Policy.SHORTEST] < means[Policy.TWO_CHOICES] < means[Policy.IN_TURN] < means[Policy.RANDOM]


def test_a_door_lets_one_after_the_other_through() -> None:
    came = np.array([0.0, 0.1, 0.2, 5.0])
    assert through_doors(came, 1, 1.0).tolist() == [1.0, 2.0, 3.0, 6.0]
    assert through_doors(came, 2, 1.0).tolist() == [1.0, 1.1, 2.0, 6.0]
    assert through_doors(came, 1, 0.0).tolist() == came.tolist()


def test_no_request_is_answered_before_its_work_is_done() -> None:
    rng = np.random.default_rng(3)
    demands = rng.exponential(DEMAND_S, 2_000)
    fleet = Fleet(replicas=3, cores=2, policy=Policy.TWO_CHOICES, door_s=1e-4)
    times = simulate(poisson(150.0, 2_000, rng), demands, fleet, rng)
    assert (times >= demands - 1e-9).all()
    assert np.isfinite(times).all()
