"""Dynamic batches: the requests that wait when an instance is free are answered by one call of the model."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from intarsia.errors import FeedError
from intarsia.serving.batching.asked import Asked
from intarsia.serving.batching.joined import divided, form_of, grouped, joined
from intarsia.serving.batching.line import Line
from intarsia.serving.loaded import Loaded
from intarsia.serving.logs import tell_error
from intarsia.serving.statuses import RequestError
from intarsia.serving.steady import Model
from intarsia.serving.tickets import TicketOf

if TYPE_CHECKING:
    import numpy as np


_CALM: Final = 16
"""Requests in a row that came alone, after which another one may. Behind many that were answered together the first of
them comes alone too, and to answer that one at once would keep the others waiting."""


class Books(Protocol):
    """What keeps account of requests."""

    def error_of(self, error: Exception) -> RequestError:
        """What a request is told that ended with this."""

    def too_late(self, ticket: TicketOf[Any]) -> RequestError:
        """What a request is told that waited too long; the refusal is counted."""

    def called(self, requests: int, seconds: float) -> None:
        """Count a call that answered so many, and how long it took."""

    def settle(self, asked: Sequence[Asked]) -> None:
        """Count these, which are answered or refused, and send that."""


class Batches:
    """Has the requests of one loaded version answered in batches. It has a thread for each instance."""

    def __init__(self, loaded: Loaded, books: Books) -> None:
        """Begin; `close` ends it."""
        self._metadata = loaded.metadata
        self._most_rows = loaded.batch
        self._books = books
        self._alone = 0
        """Calls in a row that answered one request."""
        self._line: Line[Model, Asked] = Line(
            f"intarsia-batch-{loaded.metadata.name}", loaded.instances, _deadline, self._answer, self._refuse
        )

    @property
    def come_alone(self) -> bool:
        """Whether requests have come one by one for a while, so that the next one may be answered where it was read."""
        return self._alone >= _CALM

    @property
    def waiting(self) -> int:
        """How many requests wait for an instance."""
        return self._line.waiting

    def put(self, asked: Sequence[Asked]) -> None:
        """Have these answered, each of which is sent what becomes of it."""
        self._line.put(asked)

    def lend(self) -> Model | None:
        """An instance for a request that comes alone, to be given back; ``None`` if there is none, or others wait."""
        return self._line.lend()

    def give_back(self, instance: Model) -> None:
        """Take back what was lent."""
        self._line.give_back(instance)

    def close(self) -> None:
        """Answer what still waits, and end. Nothing may be put any more."""
        self._line.close()

    def _answer(self, instance: Model) -> None:
        taken = self._taken()
        self._line.wake_next()
        for group in grouped(taken):
            self._call(instance, group)

    def _taken(self) -> list[Asked]:
        """What waits, decoded, up to the rows of a batch; more only if the first request has more."""
        taken: list[Asked] = []
        rows = 0
        while rows < self._most_rows and (asked := self._line.take(len(taken))) is not None:
            if asked.feeds is None and not self._decode(asked):
                self._books.settle((asked,))
            elif taken and rows + asked.rows > self._most_rows:
                self._line.put_back(asked)
                break
            else:
                taken.append(asked)
                rows += asked.rows
        return taken

    def _decode(self, asked: Asked) -> bool:
        """Whether it is well formed; its error is noted otherwise."""
        began = time.monotonic()
        try:
            asked.feeds, asked.wanted = asked.decode(self._metadata)
            asked.form, asked.rows = form_of(asked.feeds)
        except Exception as error:
            asked.error = self._books.error_of(error)
            return False
        asked.decode_s = time.monotonic() - began
        return True

    def _call(self, instance: Model, group: list[Asked]) -> None:
        """Answer what can be joined, by one call; each by its own if that fails, so that one fails nobody else."""
        called = time.monotonic()
        group = self._in_time(group, called)
        if not group:
            return
        try:
            results = divided(instance(joined([_feeds(each) for each in group])), [each.rows for each in group])
        except Exception as error:
            self._answer_alone(instance, group, error)
            return
        compute_s = (before := time.monotonic()) - called
        self._alone = self._alone + 1 if len(group) == 1 else 0
        self._books.called(len(group), compute_s)
        for each, result in zip(group, results, strict=True):
            each.feeds = None
            try:
                each.found = each.encode(self._metadata, result)
            except Exception as error:
                each.error = self._books.error_of(error)
            after = time.monotonic()
            each.stages = (called - each.ticket.began - each.decode_s, each.decode_s, compute_s, after - before)
            before = after
        self._books.settle(group)

    def _answer_alone(self, instance: Model, group: list[Asked], error: Exception) -> None:
        """Answer each by a call of its own after one that answered them together ended so."""
        if len(group) == 1:
            group[0].error = self._books.error_of(error)
            self._books.settle(group)
            return
        if not isinstance(error, FeedError):  # else a request is to blame
            tell_error("not joined", error, model=self._metadata.name, requests=len(group))
        for each in group:
            self._call(instance, [each])

    def _in_time(self, group: list[Asked], now: float) -> list[Asked]:
        """Those that have not waited too long; the others are refused."""
        late = [each for each in group if each.ticket.deadline <= now]
        if not late:
            return group
        self._refuse(late)
        return [each for each in group if each.error is None]

    def _refuse(self, late: list[Asked]) -> None:
        for each in late:
            each.error = self._books.too_late(each.ticket)
        self._books.settle(late)


def _deadline(asked: Asked) -> float:
    return asked.ticket.deadline


def _feeds(asked: Asked) -> Mapping[str, np.ndarray]:
    assert asked.feeds is not None, "it was decoded as it was taken"
    return asked.feeds
