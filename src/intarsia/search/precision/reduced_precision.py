"""Plans in reduced precision that keep the whole within a stated error, made from the best plans in fp32.

What decides (ranges, which layers, which plans) is measured on calibration inputs; what ships is checked on others.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from intarsia.backends import registry
from intarsia.config import RunSettings
from intarsia.config.precision import Precision
from intarsia.cost.measure import Measurer
from intarsia.cost.records.record import Failure
from intarsia.cost.reference.evaluate import Answers
from intarsia.cost.worker.progress import Watcher
from intarsia.errors import PlanError
from intarsia.graph import extract
from intarsia.graph.quantise import quantised
from intarsia.partitioning import Partition, Partitioning, with_precision
from intarsia.planning.problem import Candidate, Problem
from intarsia.search.collage.cost_attribution import shared_out, total_work
from intarsia.search.precision.candidates import Cut, in_reduced_types, most_that_fits, speed_settings
from intarsia.search.precision.choosers import OUT_OF_TIME, Choosers
from intarsia.search.precision.families import PRODUCTS, WEIGHTS, Family
from intarsia.search.precision.layer_choice import worst
from intarsia.search.precision.validation_set import Samples
from intarsia.search.thresholds import DECISION, PRECISION, SHARES
from intarsia.target import Target
from intarsia.target.reduced_precision import rounded_type

_IN_TYPES = "its engines in less than fp32"
_IN_WEIGHTS = "its weights in few bits"
_KINDS = {False: "ranges from calibration", True: "ranges found while it runs"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReducedPrecision:
    """A plan in reduced precision, and its error on the calibration inputs."""

    candidate: Candidate
    error: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ReducedPrecisionPlans:
    """What came of looking for plans in reduced precision.

    Attributes:
        found: The fastest first.
        dropped: What was tried and will not be benchmarked, and why.
        reason: Why there is none.
    """

    found: tuple[ReducedPrecision, ...] = ()
    dropped: tuple[tuple[str, str], ...] = ()
    reason: str = ""

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """The plans."""
        return tuple(reduced.candidate for reduced in self.found)


NO_REDUCED_PRECISION = ReducedPrecisionPlans()
"""Where nobody allowed an error."""


class ReducedPrecisionSearch:
    """Makes plans in reduced precision of plans in fp32."""

    def __init__(self, problem: Problem, measurer: Measurer, samples: Samples, watch: Watcher) -> None:
        self._problem = problem
        self._measurer = measurer
        self._samples = samples
        self._watch = watch
        self._allowed = problem.settings.max_error or 0.0
        self._exact: Sequence[Answers] = ()
        self._found: list[ReducedPrecision] = []
        self._dropped: list[tuple[str, str]] = []
        self._tried: set[tuple[Partition, ...]] = set()
        self._errors: dict[tuple[tuple[Partition, ...], RunSettings], float | Failure] = {}

    def run(self, exact: Sequence[Candidate]) -> ReducedPrecisionPlans:
        """The fastest that stay within the error on calibration inputs, made of each engine's best plan and mixes."""
        has_layers = any(family.layers(self._problem.graph) for family in (PRODUCTS, WEIGHTS))
        if not has_layers and not any(True for plan in exact for _ in in_reduced_types(plan.partitions)):
            return ReducedPrecisionPlans(reason="nothing in the model computes faster in less than fp32")
        with self._measurer.machine():
            reason = self._told(exact)
            if reason is not None:
                return ReducedPrecisionPlans(reason=reason)
            with Choosers(self._problem, self._measurer, self._samples, self._watch, exact) as choosers:
                return self._searched(exact, choosers)

    def _told(self, exact: Sequence[Candidate]) -> str | None:
        """Learn what the first plan that answers the calibration inputs in fp32 answers, or why none does."""
        reason = OUT_OF_TIME
        for plan in exact:
            if not self._fits_time(self._whole_s(part.target for part in plan.partitions)):
                return reason
            answers = self._measurer.answers(plan.partitions, plan.settings, self._samples.calibration)
            if not isinstance(answers, Failure):
                self._exact = answers
                return None
            reason = f"failed at {answers.stage}: {answers.reason}"
        return reason

    def _fits_time(self, seconds: float, until: float = SHARES.precision_end) -> bool:
        """Whether something that takes so long may begin; asked of the time alone, since all of this is kept as one."""
        return self._measurer.time.fits(seconds, until)

    def _whole_s(self, targets: Iterable[Target]) -> float:
        return self._measurer.time.whole_s({registry.engine_of(target) for target in targets})

    def _searched(self, exact: Sequence[Candidate], choosers: Choosers) -> ReducedPrecisionPlans:
        tried = [plan for plan in exact if self._has_time(plan)]
        # Whole plans first: what layers cost takes long to learn. Weights in few bits need nothing to be learnt.
        packed = [(plan, whole) for plan in tried if (whole := self._try_weights(plan)) is not None]
        typed = [(plan, self._try_types(plan, choosers)) for plan in tried]
        # An engine that is fast in one type of less than fp32 mostly is in another.
        typed.sort(key=lambda pair: not pair[1])
        for plan, types in typed:
            for partitions, error in types:
                self._try_layers(plan, partitions, choosers, base=error)
        for is_dynamic in (False, True):
            for plan, _ in typed:
                self._try_layers(plan, plan.partitions, choosers, is_dynamic=is_dynamic)
        for plan, whole in packed:
            self._try_fewer_bits(plan, whole, choosers)
        found = sorted(self._found, key=lambda reduced: reduced.candidate.total_ms or math.inf)
        faster = f"{PRECISION.plans} others were faster when they were tried"
        # What tells most of a model first.
        before = sorted(self._dropped, key=lambda pair: pair[0].endswith(_IN_WEIGHTS))
        dropped = (*before, *((reduced.candidate.label, faster) for reduced in found[PRECISION.plans :]))
        reason = "" if found else f"no plan in reduced precision is benchmarked: {_first(dropped)}"
        return ReducedPrecisionPlans(found=tuple(found[: PRECISION.plans]), dropped=dropped, reason=reason)

    def _has_time(self, plan: Candidate) -> bool:
        """Whether there is time to try a plan; that there is none is taken down."""
        fits = self._fits_time(self._plan_s(plan))
        if not fits:
            self._dropped.append((plan.label, OUT_OF_TIME))
        return fits

    def _try_types(self, plan: Candidate, choosers: Choosers) -> list[tuple[tuple[Partition, ...], float]]:
        """With its engines in reduced precision, or only one end of the model: what fits as a whole, with its error."""
        fitting = []
        for nearest in in_reduced_types(plan.partitions):
            slow_ms = self._slow_ms(plan, nearest)
            if slow_ms is not None:
                self._kept(f"it takes {slow_ms:.3g} ms, and others less", plan, _IN_TYPES)
                continue
            partitions = self._rounded(choosers, nearest)
            error = self._error(partitions, self._settings(plan))
            if isinstance(error, Failure):
                self._kept(f"failed at {error.stage}: {error.reason}", plan, _IN_TYPES)
            elif not self._fits(error):
                if error <= self._allowed:  # other inputs may do worse, and then the part below ships
                    self._kept(self._reduced(plan, partitions), plan, _IN_TYPES)
                self._kept(self._cut(plan, partitions, error, choosers), plan, _IN_TYPES)
            elif self._kept(self._reduced(plan, partitions), plan, _IN_TYPES):
                fitting.append((partitions, error))
        return fitting

    @property
    def _best_ms(self) -> float:
        """What the fastest plan found so far takes; infinite if there is none."""
        return min((reduced.candidate.total_ms or math.inf for reduced in self._found), default=math.inf)

    def _slow_ms(self, plan: Candidate, partitions: tuple[Partition, ...]) -> float | None:
        """What it takes with weights rounded to the nearest, where it is known that other plans take less."""
        settings = speed_settings(plan, self._allowed)
        if plan.total_ms is None or not self._measurer.knows(partitions, settings, "all"):
            return None
        most_ms = min(PRECISION.types_behind * plan.total_ms, DECISION.reduced_behind * self._best_ms)
        ms = self._measurer.cost_of_plan(partitions, settings, PRECISION.effort).cost_ms
        return ms if most_ms < ms < math.inf else None

    def _rounded(self, choosers: Choosers, partitions: tuple[Partition, ...]) -> tuple[Partition, ...]:
        """With weights rounded by what they are multiplied with, where an engine rounds them as they are."""
        if all(rounded_type(partition.target) is None for partition in partitions):
            return partitions
        rounding_s = PRECISION.rounding_s_per_gigabyte * self._problem.graph.weight_bytes / 1e9
        if not self._fits_time(rounding_s + self._whole_s(partition.target for partition in partitions)):
            return partitions
        means = choosers.means()
        if isinstance(means, str):  # rounded to the nearest
            return partitions
        precision = Precision.of({}, {}, means)
        return with_precision(self._problem.graph, Partitioning(partitions=partitions), precision).partitions

    def _try_weights(self, plan: Candidate) -> ReducedPrecision | None:
        """With all weights in 8 bits, whatever its error is; ``None`` where that is not faster."""
        layers = WEIGHTS.layers(self._problem.graph)
        if not layers:
            return None
        every = Precision.of(dict.fromkeys((layer.node.id for layer in layers), WEIGHTS.ways[0]), {})
        whole = with_precision(self._problem.graph, Partitioning(partitions=plan.partitions), every).partitions
        self._tried.add(whole)
        in_time = self._fits_time(self._plan_s(plan))
        # So much error tells how fast it is: some of the weights may fit.
        reduced = self._reduced(plan, whole, slower=1.0, checked_by=PRECISION.weights_error) if in_time else OUT_OF_TIME
        if isinstance(reduced, str) or self._fits(reduced.error):
            self._kept(reduced, plan, _IN_WEIGHTS)
        return None if isinstance(reduced, str) else reduced

    def _try_fewer_bits(self, plan: Candidate, whole: ReducedPrecision, choosers: Choosers) -> None:
        """With weights in 4 bits as far as the error allows it, or some in fp32 where 8 are too few."""
        rounded = choosers.error_of_all(WEIGHTS)
        if isinstance(rounded, str):
            self._kept(rounded, plan, _IN_WEIGHTS)
            return
        # What is left of the error beside that of the weights comes of the engine, which rounds the other factors.
        engine = math.sqrt(max(whole.error**2 - rounded**2, 0.0))
        self._try_layers(plan, plan.partitions, choosers, family=WEIGHTS, base=engine)

    def _try_layers(
        self,
        plan: Candidate,
        partitions: tuple[Partition, ...],
        choosers: Choosers,
        *,
        is_dynamic: bool = False,
        family: Family = PRODUCTS,
        base: float = 0.0,
    ) -> None:
        """With layers in few bits, whose error comes on top of ``base``, which the engines make."""
        if not family.layers(self._problem.graph):
            return
        kind = _IN_WEIGHTS if family is WEIGHTS else f"{_KINDS[is_dynamic]}{f', beside {_IN_TYPES}' if base else ''}"
        allowed = _rest(PRECISION.margin * self._allowed, base)
        choice = choosers.choose(family, allowed)
        for _ in range(PRECISION.layer_tries):
            if isinstance(choice, str) or not self._fits_time(self._plan_s(plan), SHARES.layers_end):
                self._kept(choice if isinstance(choice, str) else OUT_OF_TIME, plan, kind)
                return
            if not choice.layers:
                is_in_time = self._fits_time(0.0, SHARES.layers_end)
                self._kept("no layer fits the error" if is_in_time else OUT_OF_TIME, plan, kind)
                return
            precision = choice.precision(dynamic=is_dynamic)
            cover = with_precision(self._problem.graph, Partitioning(partitions=partitions), precision)
            if cover.partitions in self._tried:  # where no layer can find its ranges while the model runs
                return
            self._tried.add(cover.partitions)
            reduced = self._reduced(plan, cover.partitions)
            if isinstance(reduced, str) or self._fits(reduced.error):
                self._kept(reduced, plan, kind)
                return
            # This engine rounds in other places than the one whose answers are compared.
            allowed = allowed * allowed / _rest(reduced.error, base)
            choice = choosers.choose(family, allowed)
        self._kept("its error stayed too large with fewer layers", plan, kind)

    def _plan_s(self, plan: Candidate) -> float:
        """Seconds that a plan in reduced precision takes until it is known."""
        return 2 * self._whole_s(part.target for part in plan.partitions)

    def _fits(self, error: float) -> bool:
        return error <= self._allowed * (1 + PRECISION.margin) / 2

    def _kept(self, reduced: ReducedPrecision | str, plan: Candidate, kind: str) -> bool:
        """Take it down among those found, or why it is not."""
        if isinstance(reduced, str):
            self._dropped.append((f"{plan.label}, {kind}", reduced))
            return False
        self._found.append(reduced)
        return True

    def _cut(
        self, plan: Candidate, partitions: tuple[Partition, ...], error: float, choosers: Choosers
    ) -> ReducedPrecision | str:
        """As much of one end of the model in that type as fits the error."""
        if len(partitions) > 1:
            return f"its error is {error:.2g}"
        exact, reduced = plan.partitions[0].target, partitions[0].target
        cut = Cut(
            graph=self._problem.graph,
            segments=self._problem.segments,
            exact=exact,
            reduced=reduced,
            rounded=partial(self._rounded, choosers),
        )
        error_of = partial(self._error, settings=self._settings(plan))
        found = most_that_fits(cut, error, PRECISION.margin * self._allowed, error_of)
        if isinstance(found, Failure):
            return f"failed at {found.stage}: {found.reason}"
        return f"its error is {error:.2g}, so is each end's" if found is None else self._reduced(plan, found)

    def _settings(self, plan: Candidate) -> RunSettings:
        return replace(plan.settings, embed=False, max_error=self._allowed)

    def _error(self, partitions: tuple[Partition, ...], settings: RunSettings) -> float | Failure:
        """Of a plan on the calibration inputs; asked once, since its engines compile it for that."""
        key = (partitions, settings)
        if key not in self._errors:
            if not self._fits_time(self._whole_s(part.target for part in partitions)):
                return self._measurer.time.refusal()
            answers = self._measurer.answers(partitions, settings, self._samples.calibration)
            self._errors[key] = answers if isinstance(answers, Failure) else worst(answers, self._exact)
        return self._errors[key]

    def _reduced(
        self,
        plan: Candidate,
        partitions: tuple[Partition, ...],
        slower: float = PRECISION.slower,
        checked_by: float = 1.0,
    ) -> ReducedPrecision | str:
        """A plan in reduced precision with its error, or why it is none.

        Args:
            slower: One that is slower so many times than in fp32 is none.
            checked_by: So many times the allowed error, one is none that makes more.
        """
        refusal = next(filter(None, (self._refusal(part) for part in partitions)), None)
        if refusal is not None:
            return refusal
        settings = self._settings(plan)
        checked = replace(settings, max_error=checked_by * self._allowed)
        hopeless = 2 * self._best_ms if self._best_ms < math.inf else None
        outcome = self._measurer.cost_of_plan(partitions, checked, replace(PRECISION.effort, hopeless_ms=hopeless))
        if isinstance(outcome, Failure):
            return f"failed at {outcome.stage}: {outcome.reason}"
        if outcome.cost_ms >= slower * (plan.total_ms or math.inf):
            return f"it takes {outcome.cost_ms:.3g} ms, in fp32 {plan.total_ms:.3g}"
        if hopeless and outcome.cost_ms > hopeless:
            return "another plan in reduced precision takes less than half as long"
        error = self._error(partitions, settings)
        if isinstance(error, Failure):
            return f"failed at {error.stage}: {error.reason}"
        works = [total_work(self._problem.graph, part.nodes) for part in partitions]
        costs = shared_out(outcome.cost_ms, works)
        candidate = replace(plan, partitions=partitions, settings=settings, predicted_ms=costs)
        kind = " + ".join(candidate.precisions) + ("" if len(partitions) == len(plan.partitions) else " in part")
        candidate = replace(candidate, name=f"{plan.name}, {kind}", label=f"{plan.label} in {kind}")
        return ReducedPrecision(candidate=candidate, error=error)

    def _refusal(self, partition: Partition) -> str | None:
        """Why an engine does not take what becomes of its partition."""
        if partition.precision is None or not partition.precision.schemes:
            return None
        graph = self._problem.graph
        if partition.target.kind.name == registry.NESTED:
            return "a nested configuration computes in fp32"
        try:
            model = quantised(extract(graph, partition.nodes), partition.precision)
        except PlanError as error:
            return str(error)
        backend = registry.of(partition.target)
        refusals = (backend.refusal(node, model.graph, partition.target) for node in model.nodes)
        return next(filter(None, refusals), None)


def _first(dropped: Sequence[tuple[str, str]]) -> str:
    if not dropped:
        return "nothing was tried"
    plan, why = dropped[0]
    return f"{plan.partition(',')[0]}: {why}"


def _rest(error: float, part: float) -> float:
    """What is left of an error beside an independent part of it; a little at least."""
    return math.sqrt(max(error**2 - part**2, (PRECISION.least_rest * error) ** 2))


def starting_points(singles: Sequence[Candidate], mixes: Sequence[Candidate]) -> list[Candidate]:
    """Of each engine within reach its best settings, the fastest first, and the best mix that is called in turn."""
    best: dict[str, Candidate] = {}
    ranked = sorted(singles, key=lambda plan: plan.total_ms or math.inf)
    for single in ranked:
        if (single.total_ms or math.inf) <= PRECISION.engines_behind * (ranked[0].total_ms or math.inf):
            best.setdefault(single.label, single)
    return [*best.values(), *[mix for mix in mixes if not mix.settings.embed][:1]]
