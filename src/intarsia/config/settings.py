"""How a plan is run, and how a plan is searched: never part of a machine's description."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal


class Spin(StrEnum):
    """What an engine's idle threads may do. A setting of the plan, since they take cores from the *next* engine."""

    FREE = "free"
    """Each engine does as it likes. Only for a plan with one engine."""
    CALL = "call"
    """Threads may spin inside a call, and stop when the call returns."""
    NEVER = "never"
    """Threads sleep whenever they have nothing to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """The part of a plan that every engine in it must obey.

    Attributes:
        threads: Threads that compute at one time, over all engines together.
        spin: What idle threads may do.
        embed: Whether the engine that can do so holds the other engines' partitions inside its own session, instead of
            each partition being called in turn.
    """

    threads: int
    spin: Spin = Spin.CALL
    embed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSettings:
    """How a plan is searched: which strategy, how long, and what is too small to bother.

    Attributes:
        partition: How the graph is divided among the targets.
        budget_s: Seconds that measuring may take.
        seed: Of every random choice, so that a search can be repeated.
        min_nodes: Fewest nodes of a partition that greedy division makes.
        min_flops: Least floating-point work of such a partition.
    """

    partition: Literal["single", "greedy", "collage", "manual"] = "collage"
    budget_s: float = 60.0
    seed: int = 0
    min_nodes: int = 1
    min_flops: int = 0
