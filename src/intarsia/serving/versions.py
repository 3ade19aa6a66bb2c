"""A loaded version of a model, with the requests that it has admitted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from intarsia.serving.batching.asked import Asked
from intarsia.serving.batching.batches import Batches, Books
from intarsia.serving.instances import Instances
from intarsia.serving.loaded import Loaded
from intarsia.serving.steady import Model
from intarsia.serving.tickets import TicketOf

QUICK_S: Final = 0.002
"""How long others may wait while the thread that reads answers one request: it costs a tenth to hand it on and back."""
_SLOW_S: Final = 16 * QUICK_S
"""How long such requests may take, if none between them is quick: each may have had to wait for a core."""


class Version:
    """A loaded version with the requests that it has admitted."""

    __slots__ = ("batches", "instances", "loaded", "pending", "quick_bytes", "retired", "slow_s")

    def __init__(self, loaded: Loaded, books: Books) -> None:
        self.loaded = loaded
        self.batches = Batches(loaded, books) if loaded.batch > 1 else None
        """What answers its requests, where those that wait are answered together."""
        self.instances: Instances[Model] = Instances(loaded.instances)
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

    @property
    def waiting(self) -> int:
        """How many requests wait for an instance."""
        return self.instances.waiting if self.batches is None else self.batches.waiting

    def take_idle(self) -> Model | None:
        """An instance that nobody uses, to be given back; ``None`` if there is none now."""
        return self.instances.take_idle() if self.batches is None else self.batches.lend()

    def give_back(self, instance: Model) -> None:
        """Let the request that has waited longest have it."""
        if self.batches is None:
            self.instances.give_back(instance)
        else:
            self.batches.give_back(instance)

    def close(self) -> None:
        """Free what is loaded; every request has ended."""
        if self.batches is not None:
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
    """Have these, which came together, answered in batches by the versions that admitted them."""
    by_version: dict[Version, list[Asked]] = {}
    for each in asked:
        by_version.setdefault(each.ticket.version, []).append(each)
    for version, some in by_version.items():
        assert version.batches is not None, "it is asked one by one"
        version.batches.put(some)
