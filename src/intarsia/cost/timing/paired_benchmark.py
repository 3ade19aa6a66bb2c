"""The last word: finished artifacts against each other, interleaved, in several sets of fresh processes.

Each contender has a process of its own, with the environment its engines want; only one of them runs at a time. The
contender that is to be beaten runs twice: its ratio to itself is the control. While the control does not hold
(`intarsia.cost.timing.verdict`), or something seems faster that was not shown to be, sets are added; a paired benchmark
that ends with a control that does not hold is void.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import chain, count
from pathlib import Path

from intarsia.backends.contract.failures import Cause
from intarsia.config.settings import Spin
from intarsia.cost.thresholds import PAIRED, PATIENCE
from intarsia.cost.timing.clock_calibration import ClockProbe, Slowdown
from intarsia.cost.timing.footprint import Footprint, Tail, megabytes
from intarsia.cost.timing.statistics import median
from intarsia.cost.timing.turns import ContenderFailedError, profiled, turn, turn_of
from intarsia.cost.timing.verdict import CONTROL_NAME, MEMORY_STAGE, Verdict
from intarsia.cost.worker.client import WorkerClient
from intarsia.cost.worker.deadline import NO_END, Deadline
from intarsia.cost.worker.process import fork_server
from intarsia.cost.worker.progress import Progress, Watcher, unwatched
from intarsia.cost.worker.protocol import Answer, Open, Opened, Wait, Waited
from intarsia.runtime.artifact.trust import UNSTATED, Trust
from intarsia.runtime.environment import worker_environment
from intarsia.runtime.plan import Plan, Step


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """An artifact in the paired benchmark.

    Attributes:
        instances: How many instances of it are at work at one time in its turns, each called again and again; ``None``
            times single calls.
        requests: How many requests each of these calls answers.
        folder: Where the values are that it is fed; where those of all contenders are, if left out.
    """

    name: str
    path: Path
    plan: Plan
    trust: Trust = UNSTATED
    instances: int | None = None
    requests: int = 1
    folder: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkEffort:
    """How much a paired benchmark may take.

    Attributes:
        processes: Sets of fresh processes.
        settled: Sets that do while no plan seems faster than the first.
        rounds: Rounds in each set.
        seconds: Rounds end early after this time in each set, but not before ``min_rounds``; later where loading the
            contenders took long.
        min_rounds: Rounds of each set in any case.
        repeats: Sets that may be added while the A/A control does not hold, or it is in doubt who is faster.
        is_claimed: Whether it will be claimed that one is faster: then the control has to hold. Where the fastest is
            only to be found, sets end once nobody seems faster than the first.
        max_memory: Bytes that a contender may need at most; it fails if it needs more.
    """

    processes: int = 3
    settled: int = PAIRED.settled_sets
    rounds: int = 10
    seconds: float = 6.0
    min_rounds: int = 4
    repeats: int = 2
    is_claimed: bool = True
    max_memory: int | None = None


@fork_server()
def paired_benchmark(
    folder: Path,
    contenders: Sequence[Contender],
    effort: BenchmarkEffort,
    seed: int = 0,
    watch: Watcher = unwatched,
    keep: str | None = None,
    deadline: Deadline = NO_END,
    also_shown: Collection[str] = (),
) -> Verdict:
    """Time the contenders, the first of them being the one to beat. The caller holds the machine lock.

    A first contender that fails makes way for the next; a failure that may pass, such as a process that was killed, is
    only one once it happens again. One that the first beats beyond doubt leaves after that set, unless it is the one to
    ``keep``. No set is begun that would end behind the deadline; of a single one, only large gains are claimed. Those
    that are ``also_shown`` take part in one set alone, however fast they are: they have a figure, and decide nothing.
    """
    failed: dict[str, tuple[str, str]] = {}
    causes: dict[str, Cause] = {}
    warned: dict[str, Cause] = {}
    weighed: dict[str, Footprint] = {}
    sets: list[_Set] = []
    running = _with_control(contenders)
    slowdown = ClockProbe()
    set_s = 0.0
    watch(Progress(stage="decide", done=0, total=effort.processes))
    for number in count():
        if number >= effort.processes + effort.repeats + len(warned):
            break
        verdict = _verdict(sets, running, failed, effort)
        if not running or _is_told(verdict, len(sets), running, effort):
            break
        if number and deadline.left < set_s:
            # Sets enough for a claim are enough; with fewer the verdict stays void, as it did not come to its end.
            if len(sets) >= PAIRED.settled_sets:
                effort = replace(effort, processes=PAIRED.settled_sets)
            break
        start = deadline.spent
        rng = random.Random(seed + number)
        done = _one_set(folder, running, effort, rng, slowdown, deadline, is_first=not sets)
        set_s = deadline.spent - start
        for name, found in done.footprints.items():
            own = next(iter(running)) if name == CONTROL_NAME else name
            weighed[own] = weighed[own] + found if own in weighed else found
        if (passing := _may_pass(done, running, warned)) is not None:
            warned |= passing
            continue
        own_failed = {name: why for name, why in done.failed.items() if name != CONTROL_NAME}
        failed |= own_failed
        for name in own_failed:  # who ends its process twice is to blame for it
            is_twice = done.causes[name] is warned.get(name) is Cause.CRASH
            causes[name] = Cause.ENGINE if is_twice else done.causes[name]
        if done.failed:
            sets = []
            running = _with_control([c for c in contenders if c.name not in failed])
            continue
        sets.append(done)
        running = _still_standing(running, _verdict(sets, running, failed, effort), keep, also_shown)
        best = min(median(times) for times in done.rounds.values())
        watch(Progress(stage="decide", done=len(sets), total=effort.processes, best_ms=best))
    last = replace(_verdict(sets, running, failed, effort), footprints=weighed, causes=causes)
    loads = {each.name: each.instances for each in contenders if each.instances and each.name in last.benchmarked}
    return replace(last, instances=loads)


def _is_told(found: Verdict, sets: int, running: Mapping[str, Contender], effort: BenchmarkEffort) -> bool:
    """Whether these sets tell what is to be known."""
    if sets >= effort.settled and not (effort.is_claimed or found.leaders):
        return True
    return not (found.is_void or _is_in_doubt(found, running))


def _may_pass(done: _Set, running: Mapping[str, Contender], warned: Mapping[str, Cause]) -> dict[str, Cause] | None:
    """Who failed in a set that is to be repeated for that, with the cause; ``None`` if it is not."""
    causes = {running[name].name: cause for name, cause in done.causes.items()}
    is_new = causes and all(cause.may_pass and name not in warned for name, cause in causes.items())
    return causes if is_new else None


def _verdict(
    sets: Sequence[_Set],
    running: Mapping[str, Contender],
    failed: Mapping[str, tuple[str, str]],
    effort: BenchmarkEffort,
) -> Verdict:
    names = running if sets else {}
    benchmarked = [name for name in sets[0].rounds if name != CONTROL_NAME] if sets else []
    rounds = {name: _joined(done.rounds.get(name, ()) for done in sets) for name in (*benchmarked, CONTROL_NAME)}
    found = Verdict(
        rounds_ms={name: rounds[name] for name in names},
        left_ms={name: rounds[name] for name in benchmarked if name not in names},
        set_sizes=tuple(len(next(iter(done.rounds.values()))) for done in sets),
        tails={name: Tail.of(_joined(done.calls.get(name, ()) for done in sets)) for name in benchmarked},
        profile_ms={name: sets[-1].profile[name][0] for name in names},
        transfers_ms={name: sets[-1].profile[name][1] for name in names},
        errors={name: opened.error for done in sets for name, opened in done.opened.items()},
        allowed={name: opened.allowed for done in sets for name, opened in done.opened.items()},
        failed=failed,
        is_void=not sets,
    )
    if found.is_void or len(sets) < _sets_wanted(running, effort, found):
        return replace(found, is_void=True)
    return replace(found, is_void=not found.control_holds)


def _joined(several: Iterable[Sequence[float]]) -> tuple[float, ...]:
    return tuple(chain.from_iterable(several))


def _sets_wanted(running: Mapping[str, Contender], effort: BenchmarkEffort, found: Verdict) -> int:
    """One if it shows all: the first beat all others, or who is faster is so by more than luck with memory makes, or
    those left differ in settings or options alone. Few while none is faster.
    """
    if found.has_far_leaders or _differ_in_settings(running):
        return 1
    return effort.processes if found.leaders else min(effort.processes, effort.settled)


def _differ_in_settings(running: Mapping[str, Contender]) -> bool:
    """Whether settings and options are all that is left to decide, which nothing is claimed of."""
    return len({tuple(map(_without_options, each.plan.steps)) for each in running.values()}) == 1


def _is_in_doubt(found: Verdict, running: Mapping[str, Contender]) -> bool:
    """Whether more is to be timed to see who is faster."""
    return found.is_in_doubt and not _differ_in_settings(running)


def _without_options(step: Step) -> tuple[object, ...]:
    return step.target.kind.name, step.nodes, step.precision, step.is_reduced


def _with_control(contenders: Sequence[Contender]) -> dict[str, Contender]:
    if not contenders:
        return {}
    return {**{contender.name: contender for contender in contenders}, CONTROL_NAME: contenders[0]}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Set:
    rounds: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    calls: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    profile: Mapping[str, tuple[tuple[float, ...], tuple[float, ...]]] = field(default_factory=dict)
    opened: Mapping[str, Opened] = field(default_factory=dict)
    footprints: Mapping[str, Footprint] = field(default_factory=dict)
    failed: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    causes: Mapping[str, Cause] = field(default_factory=dict)


def _one_set(
    folder: Path,
    running: Mapping[str, Contender],
    effort: BenchmarkEffort,
    rng: random.Random,
    slowdown: Slowdown,
    deadline: Deadline = NO_END,
    *,
    is_first: bool,
) -> _Set:
    """One set of fresh processes; it ends at once when a contender fails, or needs more memory than it may."""
    start = deadline.spent
    with ExitStack() as stack:
        workers = {name: stack.enter_context(_worker(folder, contender)) for name, contender in running.items()}
        try:
            opened = dict(_open_in_turn(workers, running, slowdown) if is_first else _open_at_once(workers, running))
            footprints = {
                name: Footprint(cold_s=(answer.cold_s,) if is_first else (), memory=(answer.memory,))
                for name, answer in opened.items()
            }
            failed = _too_big(footprints, running, effort.max_memory)
            if failed:
                return _Set(failed=failed, causes=dict.fromkeys(failed, Cause.NOT_ASKED), footprints=footprints)
            loading_s = deadline.spent - start
            rounds, calls = _rounds(workers, running, effort, rng, slowdown, deadline, loading_s)
            profile = {
                name: profiled(name, worker, slowdown, running[name].plan, rounds[name])
                for name, worker in workers.items()
            }
        except ContenderFailedError as error:
            return _Set(failed={error.name: error.why}, causes={error.name: error.cause})
    return _Set(rounds=rounds, calls=calls, profile=profile, opened=opened, footprints=footprints)


def _too_big(
    footprints: Mapping[str, Footprint], running: Mapping[str, Contender], max_memory: int | None
) -> dict[str, tuple[str, str]]:
    """Those whose peak is over the limit, with the reason; the control is another process of its contender."""
    if max_memory is None:
        return {}
    limit = megabytes(max_memory)
    return {
        running[name].name: (MEMORY_STAGE, f"its peak of {megabytes(found.peak_bytes)} is over the limit of {limit}")
        for name, found in footprints.items()
        if found.peak_bytes > max_memory
    }


def _worker(folder: Path, contender: Contender) -> WorkerClient:
    worker = WorkerClient(
        contender.folder or folder, worker_environment(contender.plan.engines, contender.plan.settings)
    )
    worker.start()  # all of them at one time
    return worker


def _open_in_turn(
    workers: Mapping[str, WorkerClient], running: Mapping[str, Contender], slowdown: Slowdown
) -> Iterator[tuple[str, Opened]]:
    """Load one after the other, once all processes have started: what each takes is its cold start, at full speed."""
    for name, worker in workers.items():
        ready = worker.ask(Wait(), PATIENCE.contender_s)
        if not isinstance(ready, Waited):
            raise ContenderFailedError(name, ready)
    for name, worker in workers.items():
        before = slowdown()
        opened = _opened(name, worker.ask(_open(running[name]), PATIENCE.contender_s))
        factor = (before + slowdown()) / 2
        told = {"load_s": opened.load_s / factor, "first_run_s": opened.first_run_s / factor}
        yield name, opened.model_copy(update=told)


def _open_at_once(
    workers: Mapping[str, WorkerClient], running: Mapping[str, Contender]
) -> Iterator[tuple[str, Opened]]:
    """Load all at one time, which is sooner done."""
    for name, worker in workers.items():
        worker.send(_open(running[name]))
    for name, worker in workers.items():
        yield name, _opened(name, worker.answer(PATIENCE.contender_s * len(running)))


def _open(contender: Contender) -> Open:
    return Open(path=str(contender.path), trust=contender.trust, instances=contender.instances)


def _opened(name: str, answer: Answer) -> Opened:
    if not isinstance(answer, Opened):
        raise ContenderFailedError(name, answer)
    return answer


def _rounds(
    workers: Mapping[str, WorkerClient],
    running: Mapping[str, Contender],
    effort: BenchmarkEffort,
    rng: random.Random,
    slowdown: Slowdown,
    deadline: Deadline,
    loading_s: float,
) -> tuple[dict[str, tuple[float, ...]], dict[str, tuple[float, ...]]]:
    """For each contender one time a round, in turns whose order is drawn anew each time; and all its calls.

    They may take longer where loading the contenders took long: it would take as long again.
    """
    requests = {name: turn_of(name, worker, running[name].instances) for name, worker in workers.items()}
    rounds: dict[str, list[float]] = {name: [] for name in workers}
    calls: dict[str, list[float]] = {name: [] for name in workers}
    start = deadline.spent
    end = start + max(effort.seconds, PAIRED.rounds_by_loading * loading_s)
    latest = start + PAIRED.late_by_loading * loading_s
    for number in range(effort.rounds):
        if number >= effort.min_rounds and deadline.spent >= end:
            break
        if number >= PAIRED.fewest_rounds and deadline.is_over() and deadline.spent >= latest:
            break
        if number >= PAIRED.telling_rounds and _tells_all(running, rounds):
            break
        for name in rng.sample(list(workers), len(workers)):
            settle_s = PAIRED.settle_s if running[name].plan.settings.spin is Spin.FREE else 0.0
            ms, calls_ms = turn(name, workers[name], requests[name], slowdown, settle_s)
            rounds[name].append(ms / running[name].requests)
            calls[name] += calls_ms
    return {name: tuple(ms) for name, ms in rounds.items()}, {name: tuple(ms) for name, ms in calls.items()}


def _tells_all(running: Mapping[str, Contender], rounds: Mapping[str, Sequence[float]]) -> bool:
    """Whether the control holds after these rounds of a set, and nobody is left who may be faster than the first."""
    found = Verdict(
        rounds_ms={name: tuple(ms) for name, ms in rounds.items()},
        set_sizes=(len(rounds[CONTROL_NAME]),),
        profile_ms={},
        errors={},
        failed={},
        is_void=False,
    )
    return found.control_holds and not _is_in_doubt(found, running)


def _still_standing(
    running: Mapping[str, Contender], found: Verdict, keep: str | None, also_shown: Collection[str] = ()
) -> dict[str, Contender]:
    """Without those that the first one beats beyond doubt, over all sets, and without those that are shown alone."""
    stay = (next(iter(running)), CONTROL_NAME, keep)
    left = {name for name in running if name not in stay and (name in also_shown or found.may_leave(name))}
    return {name: contender for name, contender in running.items() if name not in left}
