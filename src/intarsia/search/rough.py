"""Plans in less than fp32 that keep the whole within a stated error, made from the best plans in fp32.

What decides (ranges, which layers, which plans) is measured on calibration inputs; what ships is checked on others.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from intarsia.backends import registry
from intarsia.config.precision import precision_names
from intarsia.cost.lock import machine_lock
from intarsia.cost.measure import Measurer
from intarsia.cost.progress import Progress, Watcher
from intarsia.cost.record import Failure
from intarsia.cost.sampling import Effort
from intarsia.errors import ExecutionError, PlanError
from intarsia.graph.quantise import layers_of, quantised
from intarsia.partition import Partition, Partitioning, with_precision
from intarsia.search.layer_choice import Choice, Chooser, worst
from intarsia.search.problem import Candidate, Problem
from intarsia.search.sharing import shared_out, total_work
from intarsia.search.unseen import Samples
from intarsia.target import Target

MARGIN = 0.93
"""Share of the error that is given away on the calibration inputs: others may do worse."""
MOST = 3
"""Plans in less than fp32 that race, at most."""
REACH = 3.0
"""An engine that is this many times slower than the best in fp32 will not be the fastest in 8 bits."""
ROUGH_EFFORT = Effort(seconds=0.4, min_runs=5, max_runs=60)
SLOWER = 1.25
"""A plan that takes so many times as long as the one in fp32 it was made of is dropped; less may be noise."""
_TRIES = 3
_KINDS = {False: "ranges from calibration", True: "ranges found while it runs"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rough:
    """A plan in less than fp32, and its error on the calibration inputs."""

    candidate: Candidate
    error: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RoughPlans:
    """What came of looking for plans in less than fp32.

    Attributes:
        found: The fastest first.
        dropped: What was tried and will not race, and why.
        reason: Why there is none.
    """

    found: tuple[Rough, ...] = ()
    dropped: tuple[tuple[str, str], ...] = ()
    reason: str = ""

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """The plans."""
        return tuple(rough.candidate for rough in self.found)


NO_ROUGH = RoughPlans()
"""Where nobody allowed an error."""


class RoughSearch:
    """Makes plans in less than fp32 of plans in fp32."""

    def __init__(self, problem: Problem, measurer: Measurer, samples: Samples, watch: Watcher) -> None:
        self._problem = problem
        self._measurer = measurer
        self._samples = samples
        self._watch = watch
        self._allowed = problem.settings.max_error or 0.0

    def run(self, exact: Sequence[Candidate]) -> RoughPlans:
        """The fastest plans that stay within the error on the calibration inputs.

        Args:
            exact: Plans in fp32, of each engine the best settings, and mixes.
        """
        if not layers_of(self._problem.graph, self._problem.graph.nodes):
            return RoughPlans(reason="no layer of the model can compute in 8 bits")
        with machine_lock(self._watch):
            for target in self._tellers(exact):
                try:
                    with self._chooser(target) as chooser:
                        return self._searched(exact, chooser)
                except ExecutionError as error:
                    reason = str(error)
        return RoughPlans(reason=reason)

    def _chooser(self, target: Target) -> Chooser:
        graph, folder = self._problem.graph, self._measurer.folder
        return Chooser(graph, target, folder, self._samples.calibration, self._measurer.timeout_s, self._watch)

    def _tellers(self, exact: Sequence[Candidate]) -> list[Target]:
        """Engines that run the whole model, the fastest first; of those with two levels one."""
        singles = [plan.partitions[0].target for plan in exact if len(plan.partitions) == 1]
        found = {target.kind.name: target for target in reversed(singles)}
        return list(reversed(found.values())) or [Target("reference")]

    def _searched(self, exact: Sequence[Candidate], chooser: Chooser) -> RoughPlans:
        self._watch(Progress(stage="accuracy", note="what layers cost"))
        allowed = MARGIN * self._allowed
        found: list[Rough] = []
        dropped: list[tuple[str, str]] = []
        best_ms = math.inf
        for plan, dynamic in _ways(exact):
            choice = chooser.choose(allowed)
            for _ in range(_TRIES):
                rough = self._rough(plan, dynamic, choice, chooser, best_ms)
                if isinstance(rough, str):
                    dropped.append((f"{plan.label}, {_KINDS[dynamic]}", rough))
                    break
                if rough.error <= self._allowed * (1 + MARGIN) / 2:
                    found.append(rough)
                    best_ms = min(best_ms, rough.candidate.total_ms or math.inf)
                    break
                # This engine rounds in other places than the one that told.
                choice = chooser.choose(allowed * allowed / rough.error)
            else:
                dropped.append((f"{plan.label}, {_KINDS[dynamic]}", "its error stayed too large with fewer layers"))
        found.sort(key=lambda rough: rough.candidate.total_ms or math.inf)
        reason = (
            "" if found else f"nothing in less than fp32 races: {dropped[0][1] if dropped else 'nothing was tried'}"
        )
        return RoughPlans(found=tuple(found[:MOST]), dropped=tuple(dropped), reason=reason)

    def _rough(self, plan: Candidate, dynamic: bool, choice: Choice, chooser: Chooser, best_ms: float) -> Rough | str:
        """The plan with these layers in 8 bits, or why there is none."""
        if not choice.layers:
            return "no layer fits the error"
        precision = choice.precision(dynamic=dynamic)
        partitions = with_precision(self._problem.graph, Partitioning(partitions=plan.partitions), precision).partitions
        refusal = next(filter(None, (self._refusal(part) for part in partitions)), None)
        if refusal is not None:
            return refusal
        settings = replace(plan.settings, embed=False, max_error=self._allowed)
        hopeless = 2 * best_ms if best_ms < math.inf else None
        outcome = self._measurer.cost_of_plan(partitions, settings, replace(ROUGH_EFFORT, hopeless_ms=hopeless))
        if isinstance(outcome, Failure):
            return f"failed at {outcome.stage}: {outcome.reason}"
        if outcome.cost_ms >= SLOWER * (plan.total_ms or math.inf) or (hopeless and outcome.cost_ms > hopeless):
            return "computing in 8 bits is not faster here"
        told = self._measurer.answers(partitions, settings, self._samples.calibration)
        if isinstance(told, Failure):
            return f"failed at {told.stage}: {told.reason}"
        names = " + ".join(precision_names(part.precision for part in partitions))
        candidate = Candidate(
            name=f"{plan.name}, {names}",
            label=f"{plan.label} in {names}",
            partitions=partitions,
            settings=settings,
            predicted_ms=shared_out(
                outcome.cost_ms, [total_work(self._problem.graph, part.nodes) for part in partitions]
            ),
        )
        return Rough(candidate=candidate, error=worst(told, chooser.exact))

    def _refusal(self, partition: Partition) -> str | None:
        """Why an engine does not take what becomes of its partition."""
        if partition.precision is None:
            return None
        graph = self._problem.graph
        try:
            model = quantised(graph.extract(partition.nodes), partition.precision)
        except PlanError as error:
            return str(error)
        backend = registry.of(partition.target)
        refusals = (backend.refusal(node, model.graph, partition.target) for node in model.nodes)
        return next(filter(None, refusals), None)


def _ways(exact: Sequence[Candidate]) -> Iterator[tuple[Candidate, bool]]:
    """Each plan with ranges from calibration, and with those found while the model runs."""
    for plan in exact:
        for dynamic in (False, True):
            yield plan, dynamic


def starting_points(singles: Sequence[Candidate], mixes: Sequence[Candidate]) -> list[Candidate]:
    """Of each engine within reach its best settings, the fastest first, and the best mix that is called in turn."""
    best: dict[str, Candidate] = {}
    ranked = sorted(singles, key=lambda plan: plan.total_ms or math.inf)
    for single in ranked:
        if (single.total_ms or math.inf) <= REACH * (ranked[0].total_ms or math.inf):
            best.setdefault(single.label, single)
    return [*best.values(), *[mix for mix in mixes if not mix.settings.embed][:1]]
