"""The final decision: finished artifacts of the finalists and of every single engine that is close, in a duel.

A mix ships only if the interval of its speed-up lies above 1. Inside the noise the single engine ships: it is simpler,
and nothing was shown to be faster.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from pydantic import TypeAdapter

from intarsia.backends import registry
from intarsia.cost.client import WorkerClient
from intarsia.cost.deadline import Deadline
from intarsia.cost.duel import CONTROL_NAME, Contender, Effort, Verdict, duel
from intarsia.cost.lock import machine_lock
from intarsia.cost.measure import Measurer, failure_of, run_facts
from intarsia.cost.progress import Progress, Watcher
from intarsia.cost.protocol import Open, Opened
from intarsia.cost.record import Failure, Key
from intarsia.cost.statistics import Interval
from intarsia.graph import Graph
from intarsia.runtime import plan_of
from intarsia.runtime.environment import load_environment
from intarsia.search.predict import failure_error
from intarsia.search.problem import Candidate, Problem

CLOSE = 1.10
"""Plans with one engine within this factor of the best take part in the duel."""
MAX_SINGLES = 4
MAX_MIXES = 2
DUEL_SHARE = 0.05
"""Share of the budget that one set of rounds may take."""
FULL_DUEL_S = 20.0
"""Budgets below this get two sets of processes and no repeats: starting processes costs most of a duel's time."""
_VERDICT = TypeAdapter(Verdict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What ships, and what it was measured against.

    Attributes:
        chosen: The plan that ships.
        artifact: Its file, still in the work folder.
        best_single: The fastest plan with one engine; ``None`` if no engine can run the model alone.
        verdict: The duel's figures.
        error: Largest max|a-b| / max|b| of the shipped artifact's outputs against the reference; ``None`` without one.
        reason: One sentence.
    """

    chosen: Candidate
    artifact: Path
    best_single: Candidate | None
    verdict: Verdict
    error: float | None
    reason: str

    @property
    def speedup(self) -> Interval | None:
        """How many times faster than the best single engine, with its 95 % interval."""
        if self.best_single is None:
            return None
        # The first of the duel ran twice: of its ratio to itself the noise can be read.
        is_control = self.chosen.name == self.best_single.name == next(iter(self.verdict.rounds_ms), None)
        return self.verdict.speedup(CONTROL_NAME if is_control else self.chosen.name, self.best_single.name)


def finalists(singles: Sequence[Candidate], mixes: Sequence[Candidate]) -> list[Candidate]:
    """The single engines that are close to the best of them, fastest first, then the best mixes.

    Of the best one several settings take part, of each other only its best.
    """
    ranked = sorted(singles, key=lambda single: single.total_ms or 0.0)
    close = [s for s in ranked if (s.total_ms or 0.0) <= CLOSE * (ranked[0].total_ms or 0.0)]
    first = {single.label: single for single in reversed(close)}
    several = [single for single in close if single.label == ranked[0].label or first[single.label] is single]
    return [*several[:MAX_SINGLES], *mixes[:MAX_MIXES]]


def decide(
    problem: Problem,
    measurer: Measurer,
    singles: Sequence[Candidate],
    mixes: Sequence[Candidate],
    wanted: Candidate | None,
    deadline: Deadline,
    watch: Watcher,
) -> Decision:
    """Build the finalists, let them race, and choose.

    Args:
        problem: What is being planned.
        measurer: Whose store keeps the duel, and whose folder holds the saved graph.
        singles: Plans with one engine.
        mixes: Mixed plans, fastest first.
        wanted: The plan that ships whatever the duel says, because the user asked for it or there is no other.
        deadline: When it should have been made; one that is close takes longer.
        watch: Told of each step.

    Raises:
        CompileError, LoadError, ExecutionError, MismatchError: The plan that has to ship failed.
    """
    builder = _Builder(measurer, watch)
    field = finalists(singles, [wanted] if wanted else mixes)
    verdict = _verdict(problem, measurer, builder, field, wanted.name if wanted else None, deadline, watch)
    standing = [single for single in singles if single.name in verdict.rounds_ms]
    best_single = _fastest(standing, verdict)
    if wanted is not None:
        chosen, reason = wanted, "the only plan that covers the model" if not singles else "the plan that was asked for"
    else:
        chosen, reason = _choose(mixes, best_single, verdict)
    artifact, error = builder.checked(chosen)
    return Decision(
        chosen=chosen, artifact=artifact, best_single=best_single, verdict=verdict, error=error, reason=reason
    )


def _choose(mixes: Sequence[Candidate], best_single: Candidate | None, verdict: Verdict) -> tuple[Candidate, str]:
    standing = [mix for mix in mixes if mix.name in verdict.rounds_ms]
    if best_single is None:
        fastest = _fastest(standing, verdict)
        if fastest is None:
            stage, why = next(iter(verdict.failed.values()), ("run", "nothing ran"))
            raise failure_error(mixes[0].partitions[0], Failure(stage=stage, reason=why))
        return fastest, "no engine alone can run the whole model"
    if not standing:
        reason = "no mix of engines promised to be faster" if not mixes else "every mix was clearly slower, or failed"
        return best_single, reason
    speedups = {mix.name: verdict.speedup(mix.name, best_single.name) for mix in standing}
    best = max(standing, key=lambda mix: speedups[mix.name].median)
    gain = speedups[best.name]
    told = f"{gain.median:.2f} times as fast ({gain.low:.2f} to {gain.high:.2f})"
    if verdict.is_faster(best.name, best_single.name):
        return best, f"the mix is {told}"
    if verdict.is_void:
        return best_single, "the machine was too noisy to show that a mix is faster"
    return best_single, f"the best mix is {told}: no gain beyond the noise"


def _fastest(candidates: Sequence[Candidate], verdict: Verdict) -> Candidate | None:
    standing = [candidate for candidate in candidates if candidate.name in verdict.rounds_ms]
    return min(standing, key=lambda candidate: verdict.expected_ms(candidate.name), default=None)


def _verdict(
    problem: Problem,
    measurer: Measurer,
    builder: _Builder,
    field: Sequence[Candidate],
    keep: str | None,
    deadline: Deadline,
    watch: Watcher,
) -> Verdict:
    """The duel of the field, from the store if it was fought before. The first of the field is the one to beat."""
    effort = _effort(problem.settings.budget_s)
    key = _duel_key(problem.graph, field, keep, effort)
    with machine_lock(watch):
        stored = measurer.store.get(key)
        if stored is not None:
            measurer.cached += 1
            return _VERDICT.validate_python(stored)
        contenders = []
        failed = {}
        for candidate in field:
            built = builder.build(candidate)
            if isinstance(built, Failure):
                failed[candidate.name] = (built.stage, built.reason)
            else:
                plan = plan_of(problem.graph, candidate.partitions, candidate.settings)
                contenders.append(Contender(name=candidate.name, path=built, plan=plan))
        measurer.measured += 1
        verdict = duel(measurer.folder, contenders, effort, problem.settings.seed, watch, keep, deadline)
    verdict = replace(verdict, failed={**failed, **verdict.failed})
    # A void duel is kept too, and told to be void: the same store gives the same plan, and nothing is measured twice.
    measurer.store.put("duel", key, asdict(verdict), {})
    return verdict


def _effort(budget_s: float) -> Effort:
    seconds = DUEL_SHARE * budget_s
    return Effort(seconds=seconds) if budget_s >= FULL_DUEL_S else Effort(seconds=seconds, processes=2, repeats=0)


class _Builder:
    """Writes candidates' artifacts, each once, in the processes that measured: their engines are loaded."""

    def __init__(self, measurer: Measurer, watch: Watcher) -> None:
        self._measurer = measurer
        self._watch = watch
        self._built: dict[str, Path | Failure] = {}

    def build(self, candidate: Candidate) -> Path | Failure:
        if candidate.name not in self._built:
            self._watch(Progress(stage="build", done=len(self._built), note=candidate.name))
            with machine_lock(self._watch):
                self._built[candidate.name] = self._write(candidate)
        return self._built[candidate.name]

    def checked(self, candidate: Candidate) -> tuple[Path, float | None]:
        """The artifact, and the error of its outputs against the reference, as a fresh process finds them.

        Raises:
            CompileError, LoadError, ExecutionError, MismatchError: It cannot be built, loaded, run, or answers wrongly.
        """
        engines = {registry.engine_of(partition.target) for partition in candidate.partitions}
        environment = load_environment(engines, candidate.settings)
        with machine_lock(self._watch), WorkerClient(self._measurer.folder, environment) as worker:
            worker.start()  # while it starts, the artifact is built
            built = self.build(candidate)
            if isinstance(built, Failure):
                raise failure_error(candidate.partitions[0], built)
            answer = worker.ask(Open(path=str(built)), 2 * self._measurer.timeout_s)
        if not isinstance(answer, Opened):
            raise failure_error(candidate.partitions[0], failure_of(answer, "open"))
        return built, answer.error

    def _write(self, candidate: Candidate) -> Path | Failure:
        path = self._measurer.folder / f"finalist-{len(self._built)}.intarsia"
        return self._measurer.write(candidate.partitions, candidate.settings, path) or path


def _duel_key(graph: Graph, field: Sequence[Candidate], keep: str | None, effort: Effort) -> Key:
    place = {node.id: node.index for node in graph.nodes}
    return Key(
        facts={
            "duel": [effort.processes, effort.rounds, effort.seconds],
            "keep": keep,
            "graph": graph.fingerprint,
            "plans": [
                {
                    "name": c.name,
                    "pieces": [[p.target.key, sorted(place[node] for node in p.nodes)] for p in c.partitions],
                    "settings": c.settings.facts(),
                }
                for c in field
            ],
            **run_facts((partition.target for c in field for partition in c.partitions), field[0].settings),
        }
    )
