"""Machines that disturb what is timed on them, to try the rule of the final decision on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from types import MappingProxyType

import pytest

from intarsia.backends.contract.failures import Cause
from intarsia.config import RunSettings
from intarsia.cost.timing import paired_benchmark as module
from intarsia.cost.timing.paired_benchmark import BenchmarkEffort, Contender, _Set, paired_benchmark
from intarsia.cost.timing.verdict import Verdict
from intarsia.runtime import Plan, Step
from intarsia.target import Target

Disturbance = Callable[[Random], Callable[[], float]]
"""Makes a machine: by what factor one turn after the other is slowed down."""


def quiet(rng: Random) -> Callable[[], float]:
    return lambda: rng.lognormvariate(0.0, 0.01)


def drifting(rng: Random) -> Callable[[], float]:
    """Gets slower, or faster, by up to a third over some sixty turns."""
    level, slope = 1.0, rng.uniform(-0.005, 0.005)

    def turn() -> float:
        nonlocal level
        level = min(3.0, max(0.3, level * (1.0 + slope)))
        return level * rng.lognormvariate(0.0, 0.01)

    return turn


def two_speeds(rng: Random) -> Callable[[], float]:
    """Runs at half its speed now and then, for about eight turns: a processor shared with a stranger."""
    is_slow = False

    def turn() -> float:
        nonlocal is_slow
        if rng.random() < 0.125:
            is_slow = not is_slow
        return (1.85 if is_slow else 1.0) * rng.lognormvariate(0.0, 0.02)

    return turn


def bursts(rng: Random) -> Callable[[], float]:
    """One turn in ten takes up to four times as long."""
    return lambda: rng.lognormvariate(0.0, 0.02) * (rng.uniform(1.5, 4.0) if rng.random() < 0.1 else 1.0)


def heavy_tails(rng: Random) -> Callable[[], float]:
    return lambda: rng.lognormvariate(0.0, 0.02) + 0.02 * (rng.paretovariate(1.2) - 1.0)


def busy(rng: Random) -> Callable[[], float]:
    """As many endless loops beside it as there are processors: a turn gets between all and half of the time."""
    return lambda: rng.uniform(1.0, 2.2)


@dataclass(frozen=True, kw_only=True)
class Machine:
    """Where a duel is fought.

    Attributes:
        disturbance: What slows turns down.
        luck: Standard deviation of what each process is faster or slower by, for good: its luck with memory.
        rounds: Of each set.
    """

    disturbance: Disturbance
    luck: float = 0.005
    rounds: int = 10

    def race(
        self, monkeypatch: pytest.MonkeyPatch, times_ms: Mapping[str, float], effort: BenchmarkEffort, seed: int
    ) -> Verdict:
        """The product's own duel of plans that take so long in truth; the first is the one to beat."""
        rng = Random(seed)
        turn = self.disturbance(rng)

        def one_set(folder: Path, running: Mapping[str, Contender], *_: object, is_first: bool) -> _Set:
            lucks = {name: rng.lognormvariate(0.0, self.luck) for name in running}
            rounds: dict[str, list[float]] = {name: [] for name in running}
            for _round in range(self.rounds):
                for name in rng.sample(list(running), len(running)):
                    rounds[name].append(times_ms[running[name].name] * lucks[name] * turn())
            return done(rounds)

        with monkeypatch.context() as patched:
            patched.setattr(module, "_one_set", one_set)
            patched.setattr(module, "ClockProbe", lambda: lambda: 1.0)
            return paired_benchmark(Path(), [contender(name) for name in times_ms], effort)


def contender(name: str) -> Contender:
    step = Step(target=Target("reference"), nodes=(name,), inputs=(), outputs=())
    plan = Plan(steps=(step,), settings=RunSettings(threads=1), inputs=(), outputs=())
    return Contender(name=name, path=Path(name), plan=plan)


def done(
    rounds: Mapping[str, Sequence[float]],
    failed: Mapping[str, tuple[str, str]] = MappingProxyType({}),
    cause: Cause = Cause.ENGINE,
) -> _Set:
    named = {name: tuple(ms) for name, ms in rounds.items()}
    return _Set(
        rounds=named,
        calls=named,
        profile={name: ((ms[-1],), ()) for name, ms in named.items()},
        failed=failed,
        causes=dict.fromkeys(failed, cause),
    )


MACHINES = {
    "quiet": Machine(disturbance=quiet),
    "lucky processes": Machine(disturbance=quiet, luck=0.02),
    "drifting": Machine(disturbance=drifting, luck=0.01),
    "two speeds": Machine(disturbance=two_speeds, luck=0.01),
    "bursts": Machine(disturbance=bursts, luck=0.01),
    "heavy tails": Machine(disturbance=heavy_tails, luck=0.01),
    "busy": Machine(disturbance=busy, luck=0.01),
    "busy, few rounds": Machine(disturbance=busy, luck=0.01, rounds=4),
    "two speeds, few rounds": Machine(disturbance=two_speeds, luck=0.01, rounds=4),
    "lucky processes, few rounds": Machine(disturbance=quiet, luck=0.02, rounds=4),
}
