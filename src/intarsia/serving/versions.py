"""A loaded version of a model, with the requests that it has admitted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from intarsia.serving.batching.asked import Asked
from intarsia.serving.batching.batches import Batches, Books
from intarsia.serving.limits import QUICK_S
from intarsia.serving.loaded import Loaded
from intarsia.serving.tickets import TicketOf

_SLOW_S: Final = 16 * QUICK_S
"""How long such requests may take, if none between them is quick: each may have had to wait for a core."""


class Version:
    """A loaded version with the requests that it has admitted."""

    __slots__ = ("batches", "loaded", "pending", "quick_bytes", "retired", "slow_s")

    def __init__(self, loaded: Loaded, books: Books) -> None:
        self.loaded = loaded
        self.batches = Batches(loaded, books)
        """What answers its requests."""
        self.pending = 0
        self.quick_bytes = -1
        """The size of the largest request that is quick."""
        self.slow_s = 0.0
        """What those that were to be quick took and were not, since the last that was."""
        self.retired = False

    @property
    def at_work(self) -> int:
        """How many requests may be answered at one time."""
        return self.loaded.batch * len(self.loaded.instances)

    def close(self) -> None:
        """Free what is loaded; every request has ended."""
        self.batches.close()
        self.loaded.close()

    def learn(self, size: int, seconds: float) -> None:
        """Take note of how long a request of so many bytes took, without its waiting."""
        if seconds <= QUICK_S:
            self.slow_s = 0.0
            self.quick_bytes = max(self.quick_bytes, size)
        elif size <= self.quick_bytes:
            self.slow_s += seconds
            if self.slow_s > _SLOW_S:
                self.slow_s = 0.0
                self.quick_bytes = size - 1


Ticket = TicketOf[Version]
"""A ticket of a request to a model that is served."""


def put(asked: Sequence[Asked]) -> None:
    """Have these, which came together, answered by the versions that admitted them."""
    by_version: dict[Version, list[Asked]] = {}
    for each in asked:
        by_version.setdefault(each.ticket.version, []).append(each)
    for version, some in by_version.items():
        version.batches.put(some)
