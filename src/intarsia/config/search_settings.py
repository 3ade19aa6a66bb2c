"""How a plan is searched: never part of a machine's description. A run needs none of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Objective = Literal["latency", "throughput"]
"""What the best plan is best at: the time of one call, or the requests a second of several instances."""

Limit = int | tuple[tuple[str, int], ...]
"""A number for every target, or the numbers of some kinds."""

MIX_MEMORY = 1.3
"""How many times the peak memory of the best single engine a mix may need, where nobody states a limit."""
MIX_MEMORY_SHARE = 1 / 16
"""Share of the memory that this process may use which a mix may need in any case, where nobody states a limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSettings:
    """How a plan is searched: which strategy, how long, and what is too small to bother.

    Attributes:
        partition: How the graph is divided among the targets.
        budget_s: Seconds that measuring may take.
        seed: Of every random choice, so that a search can be repeated.
        prune: Whether the search leaves out what cannot win by what is known so far; without, it is a check on that.
        min_nodes: Fewest nodes of a partition that division by priority makes, by the kind of its target. One number
            is for every target.
        min_flops: Least floating-point work of such a partition, in the same form.
        max_memory: Bytes that a plan may add to its process at its peak. Without, a mix may need `MIX_MEMORY` times
            what the best single engine does, or `MIX_MEMORY_SHARE` of the memory that this process may use, whichever
            is more.
        footprints: Whether engines that were not benchmarked are loaded once more, for their memory and cold start.
        max_error: The error that outputs may have, as ‖y-r‖₂ / ‖r‖₂ of each; ``None`` for nothing but fp32.
        strict: Whether a model is refused that no engine could be shown to answer rightly; else the best one ships,
            and that is said.
        objective: What the plan that ships is best at.
        max_latency_ms: The most that 99 of 100 calls may take while all instances are at work.
    """

    partition: Literal["single", "greedy", "collage", "manual"] = "collage"
    budget_s: float = 60.0
    seed: int = 0
    prune: bool = True
    min_nodes: Limit = 1
    min_flops: Limit = 0
    max_memory: int | None = None
    footprints: bool = False
    max_error: float | None = None
    strict: bool = False
    objective: Objective = "latency"
    max_latency_ms: float | None = None

    @property
    def is_for_throughput(self) -> bool:
        """Whether plans are measured under load, and the one ships that answers the most requests a second."""
        return self.objective == "throughput"

    @property
    def insists(self) -> bool:
        """Whether a plan that answers wrongly is an error: one that was asked for, or any if it is strict."""
        return self.strict or self.partition in ("greedy", "manual")
