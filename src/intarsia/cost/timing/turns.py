"""How a contender of a paired benchmark is asked for its times: by turns of some calls, and for those of its steps."""

from __future__ import annotations

import math
from collections.abc import Sequence

from intarsia.cost.reference.evaluate import failure_of
from intarsia.cost.thresholds import PAIRED, PATIENCE
from intarsia.cost.timing.clock_calibration import Slowdown, at_full_speed
from intarsia.cost.timing.statistics import median
from intarsia.cost.worker.client import WorkerClient
from intarsia.cost.worker.protocol import Answer, Load, Profile, Round, Times
from intarsia.runtime.executors.transfers import HOST
from intarsia.runtime.plan import Plan


class ContenderFailedError(Exception):
    """A contender did not do what it was asked."""

    def __init__(self, name: str, answer: Answer) -> None:
        super().__init__(name)
        self.name = name
        failure = failure_of(answer, "the paired benchmark")
        self.why, self.cause = (failure.stage, failure.reason), failure.cause


def turn(
    name: str, worker: WorkerClient, request: Round | Load, slowdown: Slowdown, settle_s: float
) -> tuple[float, list[float]]:
    """What a turn took at full speed, and its calls at the same pace; under load by answers."""
    last = Times(ms=())

    def turn_ms() -> float:
        nonlocal last
        last = _times(name, worker, request)
        return _figure(last)

    ms = at_full_speed(turn_ms, slowdown, settle_s)
    own = _figure(last)
    return ms, [each * ms / own for each in last.ms] if own else list(last.ms)


def _figure(told: Times) -> float:
    """The median of a turn's calls; under load the milliseconds from one answer to the next."""
    return median(told.ms) if told.between_ms is None else told.between_ms


def _times(name: str, worker: WorkerClient, request: Round | Load | Profile) -> Times:
    answer = worker.ask(request, PATIENCE.contender_s)
    if not isinstance(answer, Times):
        raise ContenderFailedError(name, answer)
    return answer


def turn_of(name: str, worker: WorkerClient, instances: int | None) -> Round | Load:
    """What is asked for in each turn: calls that take about `PAIRED.turn_ms` together; see `Contender.instances`."""
    make = Round if instances is None else Load
    ms = min(_times(name, worker, make(warm=1, runs=2)).ms)
    if ms > PAIRED.turn_ms:
        return make(warm=1, runs=1)
    return make(warm=PAIRED.warm_runs, runs=min(50, math.ceil(PAIRED.turn_ms / ms)))


def profiled(
    name: str, worker: WorkerClient, slowdown: Slowdown, plan: Plan, rounds_ms: Sequence[float]
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Milliseconds of the steps, and of the transfers. A step on the host's memory that is alone has been timed."""
    if len(plan.steps) == 1 and plan.steps[0].target.device_type == HOST:
        return (median(rounds_ms),), ()
    before = slowdown()
    found = _times(name, worker, Profile(runs=PAIRED.profile_runs))
    factor = (before + slowdown()) / 2
    return tuple(ms / factor for ms in found.ms), tuple(ms / factor for ms in found.transfers_ms)
