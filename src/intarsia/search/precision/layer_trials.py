"""Plans with single layers in few bits, as many as the error allows."""

from __future__ import annotations

import math
from functools import partial

from intarsia.config.precision import Scheme
from intarsia.partitioning import Partition, Partitioning, with_precision
from intarsia.planning.problem import Candidate
from intarsia.search.precision.candidates import packs_12_bits, with_rest
from intarsia.search.precision.choosers import OUT_OF_TIME, Choosers
from intarsia.search.precision.families import PRODUCTS, WEIGHTS, Family
from intarsia.search.precision.trials import Trials
from intarsia.search.thresholds import PRECISION, SHARES

IN_TYPES = "its engines in less than fp32"
IN_WEIGHTS = "its weights in few bits"
_KINDS = {False: "ranges from calibration", True: "ranges found while it runs"}


def try_layers(
    trials: Trials,
    choosers: Choosers,
    plan: Candidate,
    partitions: tuple[Partition, ...],
    *,
    is_dynamic: bool = False,
    family: Family = PRODUCTS,
    base: float = 0.0,
) -> None:
    """Try a plan with layers in few bits, whose error comes on top of ``base``, which the engines make."""
    graph = trials.problem.graph
    if not family.layers(graph):
        return
    kind = IN_WEIGHTS if family is WEIGHTS else f"{_KINDS[is_dynamic]}{f', beside {IN_TYPES}' if base else ''}"
    allowed = _rest(PRECISION.margin * trials.aim, base)
    choice = choosers.choose(family, allowed)
    for _ in range(PRECISION.layer_tries):
        if isinstance(choice, str) or not trials.fits_time(trials.plan_s(plan), SHARES.layers_end):
            trials.keep(choice if isinstance(choice, str) else OUT_OF_TIME, plan, kind)
            return
        if not choice.layers:
            is_in_time = trials.fits_time(0.0, SHARES.layers_end)
            trials.keep("no layer fits the error" if is_in_time else OUT_OF_TIME, plan, kind)
            return
        precision = choice.precision(dynamic=is_dynamic)
        if family is WEIGHTS and packs_12_bits(partitions):
            precision = with_rest(precision, family.layers(graph), Scheme.WEIGHTS_12)
        cover = with_precision(graph, Partitioning(partitions=partitions), precision).partitions
        if cover in trials.tried:  # where no layer can find its ranges while the model runs
            return
        trials.tried.add(cover)
        reduced = trials.reduced(plan, cover)
        if isinstance(reduced, str) or trials.fits(reduced.error):
            again = partial(
                try_layers, trials, choosers, plan, partitions, is_dynamic=is_dynamic, family=family, base=base
            )
            trials.keep(reduced, plan, kind, again)
            return
        # This engine rounds in other places than the one whose answers are compared.
        allowed = allowed * allowed / _rest(reduced.error, base)
        choice = choosers.choose(family, allowed)
    trials.keep("its error stayed too large with fewer layers", plan, kind)


def _rest(error: float, part: float) -> float:
    """What is left of an error beside an independent part of it; a little at least."""
    return math.sqrt(max(error**2 - part**2, (PRECISION.least_rest * error) ** 2))
