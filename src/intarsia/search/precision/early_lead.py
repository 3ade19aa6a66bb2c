"""Whether an engine alone is so much faster in less than fp32 that nothing in fp32 needs to be looked for any more."""

from __future__ import annotations

import math
from collections.abc import Sequence

from intarsia.cost.measure import Measurer
from intarsia.planning.problem import Candidate, Problem
from intarsia.search.precision.candidates import in_reduced_types, speed_settings
from intarsia.search.precision.reduced_precision import starting_points
from intarsia.search.thresholds import PRECISION


def leads_in_less(problem: Problem, measurer: Measurer, plans: Sequence[Candidate]) -> bool:
    """Whether a smaller float type of one engine leaves all plans in fp32 far behind, where an error is allowed.

    Args:
        plans: Engines alone, in fp32.
    """
    allowed = problem.settings.max_error
    if allowed is None or not problem.settings.prune:
        return False
    best_ms = min((plan.total_ms or math.inf for plan in plans), default=math.inf)
    for plan in starting_points(plans, []):
        settings = speed_settings(plan, allowed)
        for partitions in in_reduced_types(problem.graph, plan.partitions):
            outcome = measurer.cost_of_plan(partitions, settings, PRECISION.effort)
            if outcome.cost_ms * PRECISION.leads_by < best_ms:
                return True
    return False
