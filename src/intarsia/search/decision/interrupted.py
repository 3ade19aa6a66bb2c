"""The decision of a compile that is interrupted: without a paired benchmark, the fastest right engine alone."""

from __future__ import annotations

from collections.abc import Sequence

from intarsia.cost.measure import Measurer
from intarsia.cost.worker.progress import Watcher
from intarsia.errors import BackendError, MismatchError
from intarsia.planning.problem import Candidate
from intarsia.search.decision.builder import Builder
from intarsia.search.decision.conclusion import Conclusion
from intarsia.search.decision.decision import NO_BENCHMARK, Decision


def decide_early(
    measurer: Measurer, singles: Sequence[Candidate], max_memory: int | None, watch: Watcher
) -> Decision | None:
    """Build the fastest of the plans with one engine that is right and small enough; nothing is timed.

    Returns:
        ``None`` if there is none.
    """
    builder = Builder(measurer, watch)
    for candidate in sorted(singles, key=lambda single: single.total_ms or 0.0):
        try:
            artifact, opened = builder.opened(candidate)
        except (BackendError, MismatchError):
            continue
        if max_memory is None or opened.memory.peak <= max_memory:
            return Decision(
                chosen=candidate,
                artifact=artifact,
                best_single=candidate,
                verdict=NO_BENCHMARK,
                error=opened.error,
                allowed=opened.allowed,
                reason="interrupted: the fastest engine alone of those measured until then",
                conclusion=Conclusion.INTERRUPTED,
                is_interrupted=True,
            )
    return None
