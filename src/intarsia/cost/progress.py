"""What a long stage tells whoever is watching."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """One step forward.

    Attributes:
        stage: What is being done, e.g. ``measure``.
        done: How many of ``total`` are finished.
        total: How many there are, as far as is known; ``None`` if it is not.
        best_ms: The best latency of the whole model so far.
        note: What is being done or waited for, or was just finished.
    """

    stage: str
    done: int = 0
    total: int | None = None
    best_ms: float | None = None
    note: str = ""


Watcher = Callable[[Progress], None]


def unwatched(_: Progress) -> None:
    """The watcher when nobody watches."""


def noted(watch: Watcher, note: str) -> Watcher:
    """The same watcher, told what all of it is about."""
    return lambda now: watch(replace(now, note=f"{note} {now.note}".rstrip()))
