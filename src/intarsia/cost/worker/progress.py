"""What a long stage tells whoever is watching."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from intarsia.cost.worker.deadline import Deadline

log = logging.getLogger(__name__)
WAIT: Final = "wait"
"""The stage in which another compile is waited for."""
TIME: Final = "time"
"""The stage that announces how long all of it will take, where that is longer than was stated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """One step forward.

    Attributes:
        stage: What is being done, e.g. ``measure``.
        done: How many of ``total`` are finished.
        total: How many there are, as far as is known; ``None`` if it is not.
        best_ms: The best latency of the whole model so far.
        note: What is being done or waited for, or was just finished.
        left_s: Seconds that are left for all of it; ``None`` where there is no end.
    """

    stage: str
    done: int = 0
    total: int | None = None
    best_ms: float | None = None
    note: str = ""
    left_s: float | None = None


Watcher = Callable[[Progress], None]


def unwatched(now: Progress) -> None:
    """The watcher when nobody watches: what a person has to know who waits is logged."""
    if now.stage in (WAIT, TIME) and now.note:
        log.warning("%s", now.note)


def noted(watch: Watcher, note: str) -> Watcher:
    """The same watcher, told what all of it is about."""
    return lambda now: watch(replace(now, note=f"{note} {now.note}".rstrip()))


class Counting:
    """A watcher that passes everything on so that it counts up once, and says how much time is left.

    A stage that is begun again goes on counting where it was; the best time so far never rises.
    """

    def __init__(self, watch: Watcher, deadline: Deadline) -> None:
        self._watch = watch
        self._deadline = deadline
        self._best_ms: float | None = None
        self._before: dict[str, int] = {}
        self._shown: dict[str, int] = {}
        self._has_waited = False

    def __call__(self, now: Progress) -> None:
        """Tell the watcher; of waiting why only once, as compiles that take turns wait again and again."""
        if now.stage == WAIT and self._has_waited:
            now = replace(now, note="")
        self._has_waited |= now.stage == WAIT
        before, shown = self._before.get(now.stage, 0), self._shown.get(now.stage, 0)
        if before + now.done < shown:
            before = self._before[now.stage] = shown
        done = self._shown[now.stage] = before + now.done
        total = None if now.total is None else max(done, before + now.total)
        if now.best_ms is not None:
            self._best_ms = now.best_ms if self._best_ms is None else min(self._best_ms, now.best_ms)
        best_ms = None if now.best_ms is None else self._best_ms
        left = self._deadline.left
        left_s = max(0.0, left) if left < float("inf") else None
        self._watch(replace(now, done=done, total=total, best_ms=best_ms, left_s=left_s))
