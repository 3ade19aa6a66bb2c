"""What layers cost, told by the first engine that can: a `Chooser` for each family of schemes, made when asked."""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Mapping, Sequence
from contextlib import ExitStack
from typing import TypeVar

from intarsia.backends import registry
from intarsia.backends.contract.failures import cause_of
from intarsia.config.precision import Means
from intarsia.cost.measure import Measurer
from intarsia.cost.records.record import Failure
from intarsia.cost.worker.progress import Progress, Watcher
from intarsia.errors import ExecutionError
from intarsia.graph import Graph
from intarsia.partitioning import Partition
from intarsia.planning.problem import Candidate, Problem
from intarsia.search.precision.calibration import Calibration, asked
from intarsia.search.precision.families import Family
from intarsia.search.precision.layer_choice import Choice, Chooser
from intarsia.search.precision.validation_set import Samples
from intarsia.search.thresholds import PRECISION, SHARES
from intarsia.target import Target

OUT_OF_TIME = "there was no time to look for plans in less than fp32"
_Answer = TypeVar("_Answer")


class Choosers(ExitStack):
    """Asks one chooser of each family; leaving it ends their processes.

    Args:
        exact: Plans in fp32, the fastest first: their engines are asked in this order.
    """

    def __init__(
        self, problem: Problem, measurer: Measurer, samples: Samples, watch: Watcher, exact: Sequence[Candidate]
    ) -> None:
        super().__init__()
        self._problem = problem
        self._measurer = measurer
        self._samples = samples
        self._watch = watch
        self._targets = _type_oracles(exact)
        self._made: dict[tuple[Family, Target], Chooser] = {}
        self._calibrations: dict[Target, Calibration] = {}
        self._failed: dict[Hashable, str] = {}

    def means(self) -> Mapping[str, Means] | str:
        """What is multiplied with weights, on average, or why that cannot be learnt."""
        return self._first(
            lambda target: target,
            PRECISION.means_time,
            lambda target: self._calibration(target).means,
            self._calibrations,
        )

    def choose(self, family: Family, allowed: float) -> Choice | str:
        """The most layers of a family that stay within an error, or why nothing can be learnt of them."""
        return self._answer(family, lambda chooser: chooser.choose(allowed))

    def error_of_all(self, family: Family) -> float | str:
        """The error with every layer of a family in its first way, or why nothing can be learnt of them."""
        return self._answer(family, Chooser.error_of_all)

    def _answer(self, family: Family, question: Callable[[Chooser], _Answer]) -> _Answer | str:
        """Of the first engine that gives one."""

        def asked_of(target: Target) -> _Answer:
            if (family, target) not in self._made:
                self._made[family, target] = self.enter_context(self._chooser(family, target))
            return question(self._made[family, target])

        return self._first(lambda target: (family, target), PRECISION.layers_time, asked_of, self._made)

    def _first(
        self,
        place_of: Callable[[Target], Hashable],
        wholes: float,
        question: Callable[[Target], _Answer],
        made: Container[Hashable] = (),
    ) -> _Answer | str:
        """Of the first engine that answers; what it needs takes as long as measuring so many whole models."""
        reason = OUT_OF_TIME
        for target in self._targets:
            place = place_of(target)
            if place in self._failed:
                reason = self._failed[place]
                continue
            whole_s = self._measurer.time.whole_s([registry.engine_of(target)])
            if place not in made and not self._fits_time(wholes * whole_s):
                return reason
            try:
                return question(target)
            except ExecutionError as error:
                reason = self._failed[place] = str(error) if self._fits_time(0.0) else OUT_OF_TIME
                if reason is not OUT_OF_TIME:
                    failure = Failure(stage="evaluate", reason=error.detail, cause=cause_of(error))
                    self._measurer.noted((Partition(target=target, nodes=()),), failure)
        return reason

    def _fits_time(self, seconds: float) -> bool:
        return self._measurer.time.fits(seconds, SHARES.layers_end)

    def _calibration(self, target: Target) -> Calibration:
        if target not in self._calibrations:
            self._watch(Progress(stage="accuracy", note="what layers read"))
            ask = asked(target, self._measurer.folder, self._samples.ranges, self._patience_s)
            self._calibrations[target] = Calibration.of(self._problem.graph, ask)
        return self._calibrations[target]

    def _chooser(self, family: Family, target: Target) -> Chooser:
        calibration = self._calibration(target)
        self._watch(Progress(stage="accuracy", note="what layers cost"))
        return Chooser(
            self._problem.graph,
            target,
            self._measurer.folder,
            self._samples.calibration[: PRECISION.chosen_inputs],
            self._samples.ranges,
            self._patience_s,
            calibration,
            self._watch,
            self._fits_time,
            family,
            rounding_s(self._problem.graph),
        )

    def _patience_s(self) -> float:
        """How long a run may take, so that all that is learnt is learnt in time."""
        time, longest_s = self._measurer.time, self._measurer.timeout_s
        if time.is_endless:
            return longest_s
        left = min(time.left, time.deadline.left_of(SHARES.layers_end))
        return max(0.0, min(longest_s, left / (1 + PRECISION.ranges)))


def rounding_s(graph: Graph) -> float:
    """Seconds that rounding all weights takes, and writing them."""
    return PRECISION.rounding_s_per_gigabyte * graph.weight_bytes / 1e9


def _type_oracles(exact: Sequence[Candidate]) -> list[Target]:
    """Engines that run the whole model, the fastest first; of those with two levels one."""
    singles = [plan.partitions[0].target for plan in exact if len(plan.partitions) == 1]
    found = {target.kind.name: target for target in reversed(singles)}
    return list(reversed(found.values())) or [Target("reference")]
