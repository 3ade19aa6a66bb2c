"""How a plan is run, and how a plan is searched: never part of a machine's description."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Literal

from intarsia.config.emulated import Emulated
from intarsia.wording import counted


class Spin(StrEnum):
    """What an engine's idle threads may do. A setting of the plan, since they take cores from the *next* engine."""

    FREE = "free"
    """Each engine does as it likes. Only for a plan with one engine."""
    CALL = "call"
    """Threads may spin inside a call, and stop when the call returns."""
    NEVER = "never"
    """Threads sleep whenever they have nothing to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """How a stream of requests is driven: stages at work at one time on different requests, each on its own threads.

    Attributes:
        stages: How many consecutive steps of the plan each stage runs.
        lanes: Copies of the row of stages, with engines of their own; a request goes through one of them.
        depth: Requests in flight at one time.
        processors: For each stage the index of the processor that it is bound to (`intarsia.target.processors`); none
            where stages run on any core. There are as many processors as the highest index asks for.
    """

    stages: tuple[int, ...]
    threads: tuple[int, ...]
    lanes: int = 1
    depth: int
    processors: tuple[int, ...] = ()

    @property
    def busy(self) -> int:
        """Threads that compute at one time."""
        return self.lanes * sum(self.threads)

    def facts(self) -> dict[str, Any]:
        """All of it as JSON-able values; processors only where there are some, as in older records."""
        facts = asdict(self)
        if not self.processors:
            del facts["processors"]
        return facts

    def fault(self, steps: int, budget: int | None = None) -> str | None:
        """Why a plan of so many steps cannot be driven like this, on so many threads if that is told."""
        if len(self.stages) != len(self.threads):
            there = f"{counted(len(self.stages), 'stage')} and {counted(len(self.threads), 'number')} of threads"
            return f"it has {there}; give one number for each stage"
        if self.processors and (self.lanes > 1 or len(self.processors) != len(self.stages)):
            return "its processors are not one for each stage of one lane"
        if sum(self.stages) != steps:
            return f"its stages have {counted(sum(self.stages), 'partition')} together, but the plan has {steps}"
        if budget is not None and self.busy > budget:
            return f"its stages have {counted(self.busy, 'thread')} together, but the plan has {budget}"
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """The part of a plan that every engine in it must obey.

    Attributes:
        threads: Threads that compute at one time, over all engines together.
        embed: Whether the engine that can do so holds the other engines' partitions inside its own session, instead of
            each partition being called in turn.
        parallel: Whether partitions that do not depend on each other run at one time, each on its share of the threads.
        pipeline: How a stream of requests is driven; ``None`` for one request after the other, each on all threads.
            A single call is not concerned.
        max_error: The error that outputs may have, as ‖y-r‖₂ / ‖r‖₂ of each; ``None`` for what rounding explains.
        ahead_of_time: Whether all partitions are one program of C, which the artifact of the first one holds.
        emulated: What the described machine has less of than this one, where figures of this one are to stand for it.
            Processes that measure obey it; a plan that runs elsewhere takes what is there.
        verified: Whether answers further off than that are refused. A plan of which nothing could be shown to be right
            ships without.
        instances: How often a server loads the plan, each time with so many threads: so many requests are answered at
            one time. A single call is not concerned.
    """

    threads: int
    spin: Spin = Spin.CALL
    embed: bool = False
    parallel: bool = False
    pipeline: Pipeline | None = None
    max_error: float | None = None
    verified: bool = True
    ahead_of_time: bool = False
    emulated: Emulated | None = None
    instances: int = 1

    def facts(self) -> dict[str, Any]:
        """All of it as JSON-able values: what two plans or measurements differ by if their settings do."""
        facts = asdict(self)
        if self.pipeline is not None:
            facts["pipeline"] = self.pipeline.facts()
        if self.max_error is None:  # what was measured before there was a choice was fp32
            del facts["max_error"]
        if self.verified:  # what is not verified never answers for what is
            del facts["verified"]
        if not self.ahead_of_time:
            del facts["ahead_of_time"]
        if self.emulated is None:
            del facts["emulated"]
        if self.instances == 1:
            del facts["instances"]
        return facts


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
