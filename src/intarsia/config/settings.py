"""How a plan is run: never part of a machine's description."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from typing import Any

from intarsia.config.emulated import Emulated
from intarsia.light_dataclass import dataclass
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
        batch: How many requests a server may answer by one call, if so many wait: it joins their inputs along the first
            dimension, and divides the outputs. A call of the model itself is not concerned.
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
    batch: int = 1

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
        for name in ("instances", "batch"):
            if facts[name] == 1:
                del facts[name]
        return facts
