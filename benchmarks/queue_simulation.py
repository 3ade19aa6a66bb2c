"""What requests wait for at a service of several replicas: a simulation of queues, by events.

Each replica answers one request at a time, in the order in which they came. Replicas that are bound to the same core
share it equally while they work. A front door may stand before them, which takes some time for each request, one after
the other. `benchmarks.scale` compares what it predicts with what is measured.
"""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
import numpy.typing as npt

Seconds = npt.NDArray[np.float64]
_EXACT = 1e-12
"""Work in seconds below which a request is done, since shares are divided in floating point."""


class Policy(StrEnum):
    """Which replica a request goes to."""

    RANDOM = "random"
    IN_TURN = "in turn"
    TWO_CHOICES = "two choices"
    """The shorter queue of two that are drawn: Mitzenmacher, IEEE Trans. Parallel Distrib. Syst. 12 (2001)."""
    SHORTEST = "shortest"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """What answers.

    Attributes:
        replicas: How many there are.
        cores: How many cores they have: replica number ``r`` is bound to core ``r % cores``.
        policy: Which of them a request goes to.
        doors: How many front doors share the requests, in turn.
        door_s: Seconds that a door takes for one.
    """

    replicas: int
    cores: int
    policy: Policy = Policy.RANDOM
    doors: int = 1
    door_s: float = 0.0


@dataclass(slots=True)
class _Core:
    """The requests that replicas on one core work on, each with the work that is left of it."""

    at: float = 0.0
    left: dict[int, float] = field(default_factory=dict)
    asked: int = 0
    """Grows with each change, so that an end that was foreseen before it is known to be none."""

    def advance(self, now: float) -> None:
        share = (now - self.at) / len(self.left) if self.left else 0.0
        for replica in self.left:
            self.left[replica] -= share
        self.at = now

    def next_end(self) -> float:
        return self.at + min(self.left.values()) * len(self.left)


def poisson(per_second: float, count: int, rng: np.random.Generator) -> Seconds:
    """The times of so many requests that come independently of each other, at this rate in the mean."""
    return rng.exponential(1.0 / per_second, count).cumsum()


def through_doors(arrivals_s: Seconds, doors: int, door_s: float) -> Seconds:
    """When each request leaves the front door; requests go to the doors in turn (Lindley, 1952)."""
    left = arrivals_s.copy()
    for door in range(doors):
        mine = arrivals_s[door::doors]
        steps = np.arange(1, len(mine) + 1) * door_s
        left[door::doors] = np.maximum.accumulate(mine - steps + door_s) + steps
    return left


def simulate(arrivals_s: Seconds, demands_s: Seconds, fleet: Fleet, rng: np.random.Generator) -> Seconds:
    """Seconds from the arrival of each request to its answer.

    Args:
        arrivals_s: When each comes; ascending.
        demands_s: What each takes of a core that nothing else uses.
        fleet: What answers.
        rng: Draws replicas.
    """
    at_replicas = through_doors(arrivals_s, fleet.doors, fleet.door_s)
    order = np.argsort(at_replicas, kind="stable")
    run = _Run(fleet, rng)
    ends = np.empty_like(arrivals_s)
    for request in order:
        for done, when in run.until(at_replicas[request]):
            ends[done] = when
        run.begin(int(request), float(demands_s[request]))
    for done, when in run.until(np.inf):
        ends[done] = when
    answers: Seconds = ends - arrivals_s
    return answers


class _Run:
    """The state of all replicas at one time."""

    def __init__(self, fleet: Fleet, rng: np.random.Generator) -> None:
        self._fleet, self._rng = fleet, rng
        self._cores = [_Core() for _ in range(min(fleet.cores, fleet.replicas))]
        self._queues: list[deque[tuple[int, float]]] = [deque() for _ in range(fleet.replicas)]
        self._ends: list[tuple[float, int, int]] = []
        self._now, self._came = 0.0, 0

    def until(self, time: float) -> list[tuple[int, float]]:
        """The requests that end before a time, each with when it does; the state is that of the time then."""
        done = []
        while self._ends and self._ends[0][0] <= time:
            when, place, asked = heapq.heappop(self._ends)
            core = self._cores[place]
            if asked != core.asked:
                continue
            core.advance(when)
            for replica in [each for each, left in core.left.items() if left <= _EXACT]:
                request, _ = self._queues[replica].popleft()
                done.append((request, when))
                del core.left[replica]
                if self._queues[replica]:
                    core.left[replica] = self._queues[replica][0][1]
            self._foresee(place)
        self._now = time
        return done

    def begin(self, request: int, demand_s: float) -> None:
        """A request comes now, and takes so much work."""
        replica = self._chosen()
        self._queues[replica].append((request, demand_s))
        if len(self._queues[replica]) == 1:
            place = replica % len(self._cores)
            self._cores[place].advance(self._now)
            self._cores[place].left[replica] = demand_s
            self._foresee(place)

    def _foresee(self, place: int) -> None:
        core = self._cores[place]
        core.asked += 1
        if core.left:
            heapq.heappush(self._ends, (core.next_end(), place, core.asked))

    def _chosen(self) -> int:
        self._came += 1
        number = len(self._queues)
        match self._fleet.policy:
            case Policy.RANDOM:
                return int(self._rng.integers(number))
            case Policy.IN_TURN:
                return self._came % number
            case Policy.TWO_CHOICES:
                drawn = self._rng.integers(number, size=2)
                return int(min(drawn, key=lambda replica: len(self._queues[replica])))
            case Policy.SHORTEST:
                return min(range(number), key=lambda replica: len(self._queues[replica]))
