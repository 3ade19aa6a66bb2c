"""Which engines take part in the search for a mix: not those that the measured whole model speaks against."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from intarsia.backends import registry
from intarsia.cost.records.record import Failure
from intarsia.cost.timing.timetable import NO_TIME
from intarsia.planning.problem import Problem
from intarsia.search.single.prefilter import STAGE
from intarsia.search.single.single_engine import Single
from intarsia.search.thresholds import SINGLE
from intarsia.target import Target


def left_out(problem: Problem, singles: Sequence[Single]) -> Mapping[Target, str]:
    """The targets that take no part, each with the reason; none if the search is not to prune, but for wrong ones.

    An engine that does not take the whole model stays: nothing is known of its parts. One that rounds wrongly at some
    stage of the model would do so in a mix too, where less can be seen of it.
    """
    found = {
        single.target: f"left out of the search: {single.stages.fault}"
        for single in singles
        if single.stages is not None and single.stages.fault is not None
    }
    if not problem.settings.prune:
        return found
    best_ms = min((single.outcome.cost_ms for single in singles), default=math.inf)
    for single in singles:
        if isinstance(single.outcome, Failure):
            if single.outcome.stage in (STAGE, NO_TIME):
                found[single.target] = f"left out of the search: {single.outcome.reason}"
            continue
        ms = single.outcome.cost_ms
        engine = registry.engine_of(single.target)
        heirs = (other for other in singles if registry.of(other.target).extends == engine)
        heir = next((other for other in heirs if other.outcome.cost_ms <= ms), None)
        if heir is not None:
            found[single.target] = f"left out of the search, since {heir.target} is the same engine, and faster"
        elif ms > SINGLE.pruning_behind * best_ms and not registry.of(single.target).tells_kernel_times:
            found[single.target] = f"left out of the search: the whole model takes {ms / best_ms:.1f} times as long"
    return found
