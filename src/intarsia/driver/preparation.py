"""What engines make once on a machine is made before anything is measured: it would take the time of a measurement."""

from __future__ import annotations

from intarsia.backends import registry
from intarsia.cost.worker.deadline import Deadline
from intarsia.cost.worker.progress import Progress, Watcher
from intarsia.planning.problem import Problem

_SHARE = 0.5
"""Of the time that is left, for each engine."""
_LONGEST_S = 600.0
"""For the only engine: nothing ships without it, and being measured, which waits for less, would not do either."""


def prepare_engines(problem: Problem, deadline: Deadline, watch: Watcher) -> None:
    """Let each engine that takes a part of the model make what it lacks; what is not done in time is left for later."""
    nodes = len(problem.graph.nodes)
    takers = {registry.engine_of(each) for each, able in problem.capabilities.items() if len(able.refusals) < nodes}
    for engine in sorted(takers):
        backend = registry.get(engine)
        if not backend.is_prepared():
            watch(Progress(stage="build", note=f"what {engine} needs on this machine, once"))
            backend.prepare(_LONGEST_S if len(takers) == 1 else max(0.0, _SHARE * deadline.left))
