"""What a plan is like beside its speed: its slowest calls, its start, its memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from intarsia.cost.records.record import Ms, Spent
from intarsia.cost.thresholds import PAIRED
from intarsia.cost.timing.memory import Memory
from intarsia.cost.timing.statistics import Interval, median, percentile_interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Tail:
    """The slowest of many calls.

    Attributes:
        p99: 99th percentile in milliseconds, at full speed; ``None`` for too few calls.
        p50: The median of the calls; ``None`` in older records, as is the next.
        slowest: Milliseconds of the slowest.
    """

    calls: Annotated[int, Field(ge=0)]
    p99: Interval | None
    p50: Ms | None = None
    slowest: Ms | None = None

    @staticmethod
    def of(calls_ms: Sequence[float]) -> Tail:
        """Of these calls."""
        p99 = percentile_interval(calls_ms, 0.99) if len(calls_ms) >= PAIRED.p99_calls else None
        if not calls_ms:
            return Tail(calls=0, p99=None)
        return Tail(calls=len(calls_ms), p99=p99, p50=median(calls_ms), slowest=max(calls_ms))

    @property
    def p99_ms(self) -> float | None:
        """The 99th percentile, or the slowest call where they are too few to tell."""
        return self.slowest if self.p99 is None else self.p99.median


@dataclass(frozen=True, slots=True, kw_only=True)
class Footprint:
    """What fresh processes found that loaded a plan, one entry a process.

    Attributes:
        cold_s: Seconds to load and run it once with the machine to itself; not of all processes.
        memory: What it added to the process.
    """

    cold_s: tuple[Spent, ...]
    memory: Annotated[tuple[Memory, ...], Field(min_length=1)]

    @property
    def peak_bytes(self) -> int:
        """The most that any of them needed."""
        return max(each.peak for each in self.memory)

    @property
    def steady_bytes(self) -> int:
        """The most that any of them held between runs."""
        return max(each.steady for each in self.memory)

    def __add__(self, other: Footprint) -> Footprint:
        return Footprint(cold_s=self.cold_s + other.cold_s, memory=self.memory + other.memory)


def megabytes(count: int) -> str:
    """Bytes as people read them: millions, as ``--max-memory`` takes them."""
    return f"{count / 1e6:.0f} MB"
