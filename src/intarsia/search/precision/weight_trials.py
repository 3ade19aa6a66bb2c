"""Plans whose weights alone are in few bits, for models that wait for their weights."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from intarsia.config.precision import Precision, Scheme
from intarsia.partitioning import Partition, Partitioning, with_precision
from intarsia.planning.problem import Candidate
from intarsia.search.precision.candidates import in_reduced_types, on_extensions, packs_12_bits, spread, with_rest
from intarsia.search.precision.choosers import OUT_OF_TIME, Choosers
from intarsia.search.precision.families import PRODUCTS, WEIGHTS, rows
from intarsia.search.precision.layer_trials import IN_WEIGHTS, try_layers
from intarsia.search.precision.trials import ReducedPrecision, Trials
from intarsia.search.thresholds import PRECISION


class WeightTrials:
    """First all weights alike, for which nothing need be learnt of single layers; then each as its error allows."""

    def __init__(self, trials: Trials) -> None:
        self._trials = trials
        self._graph = trials.problem.graph
        self._layers = WEIGHTS.layers(self._graph)
        self._whole: list[tuple[Candidate, ReducedPrecision]] = []
        """Plans that are faster with all weights in 8 bits, and what those came to."""

    @property
    def are_first(self) -> bool:
        """Whether the model's products read each weight so seldom that nothing gains as much as fewer bits of it."""
        return rows(PRODUCTS.layers(self._graph), self._graph) <= PRECISION.few_rows

    def try_all(self, tried: Sequence[Candidate]) -> None:
        """All weights in 8 bits, or some in 10 or 12, or in 6.

        Engines that have these too leave the other factor exact, and come first: where 8 bits are too few for all
        weights on such a one, they are on the others. What such an engine computes beside is in a type that adds next
        to nothing to the error, if it has one and the error allowed is large beside that.
        """
        if not self._layers:
            return
        several = [own for plan in tried for own in (plan, *on_extensions(plan, self._trials.problem.targets))]
        if self._trials.allowed >= PRECISION.fine_type_error:
            several = [next(self._in_fine_types(plan), plan) for plan in several]
        for plan in sorted(several, key=lambda plan: not packs_12_bits(plan.partitions)):
            whole = self._in_8_bits(plan)
            if whole is None:
                continue
            self._whole.append((plan, whole))
            if packs_12_bits(plan.partitions):
                self._some_in_other_bits(plan, whole.error)
                if not self._trials.fits(whole.error):
                    return

    def try_layers(self, choosers: Choosers) -> None:
        """Weights in 4 bits as far as the error allows it, or some in more where 8 are too few."""
        for plan, whole in self._whole:
            rounded = choosers.error_of_all(WEIGHTS)
            if isinstance(rounded, str):
                self._trials.keep(rounded, plan, IN_WEIGHTS)
                continue
            # What is left of the error beside that of the weights comes of the engine, which rounds the other factors.
            engine = math.sqrt(max(whole.error**2 - rounded**2, 0.0))
            try_layers(self._trials, choosers, plan, plan.partitions, family=WEIGHTS, base=engine)

    def _in_fine_types(self, plan: Candidate) -> Iterator[Candidate]:
        return (
            replace(plan, partitions=partitions)
            for partitions in in_reduced_types(self._graph, plan.partitions, fine=True)
        )

    def _in_8_bits(self, plan: Candidate) -> ReducedPrecision | None:
        """All of them, whatever the error is; ``None`` where that is not faster."""
        trials = self._trials
        every = Precision.of(dict.fromkeys((layer.node.id for layer in self._layers), WEIGHTS.ways[0]), {})
        whole = self._cover(plan, every)
        if whole in trials.tried:
            return None
        trials.tried.add(whole)
        in_time = trials.fits_time(trials.plan_s(plan))
        # So much error tells how fast it is: some of the weights may fit.
        most = PRECISION.packed_error if packs_12_bits(whole) else PRECISION.weights_error
        reduced = trials.reduced(plan, whole, slower=1.0, checked_by=most) if in_time else OUT_OF_TIME
        if isinstance(reduced, str):
            trials.keep(reduced, plan, IN_WEIGHTS)
            return None
        if trials.fits(reduced.error):
            trials.keep(reduced, plan, IN_WEIGHTS, partial(self._in_more_bits, plan, reduced.error))
        return reduced

    def _in_more_bits(self, plan: Candidate, error: float) -> None:
        """Some of them, where all in 8 bits make this error and that is too much."""
        if packs_12_bits(plan.partitions):
            self._some_in_other_bits(plan, error)

    def _some_in_other_bits(self, plan: Candidate, error: float) -> None:
        """Squares of errors add up, which tells how many may have 8. They are spread over the model.

        Args:
            plan: In fp32.
            error: Of the plan with all weights in 8 bits.
        """
        trials = self._trials
        aim = trials.aim * (PRECISION.fewer_aim if trials.fits(error) else PRECISION.spread_aim)
        for _ in range(PRECISION.layer_tries):
            if not trials.fits_time(trials.plan_s(plan)):
                trials.keep(OUT_OF_TIME, plan, IN_WEIGHTS)
                return
            way, share = _beside_8_bits(aim / error)
            few = dict.fromkeys((layer.node.id for layer in spread(self._layers, share)), WEIGHTS.ways[0])
            if trials.fits(error) and (way is not Scheme.WEIGHTS_6 or len(few) == len(self._layers)):
                return
            cover = self._cover(plan, with_rest(Precision.of(few, {}), self._layers, way))
            reduced = trials.reduced(plan, cover, checked_by=PRECISION.weights_error)
            if isinstance(reduced, str) or trials.fits(reduced.error):
                trials.keep(reduced, plan, IN_WEIGHTS, partial(self._some_in_other_bits, plan, error))
                return
            aim *= min(trials.aim / reduced.error, PRECISION.spread_aim)
        trials.keep("its error stayed too large with other bits than 8", plan, IN_WEIGHTS)

    def _cover(self, plan: Candidate, precision: Precision) -> tuple[Partition, ...]:
        return with_precision(self._graph, Partitioning(partitions=plan.partitions), precision).partitions


def _beside_8_bits(aim: float) -> tuple[Scheme, float]:
    """How weights are read that are not in 8 bits, and the share that is.

    Args:
        aim: The error that the plan is to have, by that of all weights in 8 bits.
    """
    way = Scheme.WEIGHTS_6 if aim > 1.0 else Scheme.WEIGHTS_10 if aim > 0.25 else Scheme.WEIGHTS_12
    other = 4.0 ** (8 - (way.weight_bits or 0))  # the square of the error by that of 8 bits
    return way, max((aim**2 - other) / (1.0 - other), 0.0)
