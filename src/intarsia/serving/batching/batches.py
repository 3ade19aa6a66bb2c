"""Dynamic batches: the requests that wait when an instance is free are answered together.

One call answers them where the model was shown to take several requests at once. Elsewhere each has a call of its own,
and only Python's work around the calls is done for all of them together: right behind an engine's work Python's code is
out of the caches, so that doing it once more costs little.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final, Protocol

from intarsia.errors import FeedError
from intarsia.serving.batching.asked import Asked
from intarsia.serving.batching.joined import divided, form_of, grouped, joined
from intarsia.serving.batching.line import Line
from intarsia.serving.limits import QUICK_S
from intarsia.serving.loaded import Loaded
from intarsia.serving.logs import tell_error
from intarsia.serving.statuses import RequestError
from intarsia.serving.steady import Model
from intarsia.serving.tickets import TicketOf
from intarsia.target.cores import thread_budget

if TYPE_CHECKING:
    import numpy as np


_CALM: Final = 16
"""Requests in a row that came alone, after which another one may. Behind many that were answered together the first of
them comes alone too, and to answer that one at once would keep the others waiting."""
_ROUND_S: Final = 0.016
"""How long the answer of a quick call may wait for those that are sent together with it."""
_MOST_CALLS: Final = 64
_LARGE_BYTES: Final = 2**18
"""A request of more is decoded, and outputs of more are encoded, by other threads, so that the instance goes on."""


class Books(Protocol):
    """What keeps account of requests."""

    def error_of(self, error: Exception) -> RequestError:
        """What a request is told that ended with this."""

    def too_late(self, ticket: TicketOf[Any]) -> RequestError:
        """What a request is told that waited too long; the refusal is counted."""

    def called(self, requests: int, seconds: float, *, joins: bool) -> None:
        """Count a call that answered so many, and how long it took; ``joins`` where one call may answer several."""

    def settle(self, asked: Sequence[Asked]) -> None:
        """Count these, which are answered or refused, and send that."""


class Batches:
    """Has the requests of one loaded version answered. It has a thread for each instance."""

    def __init__(self, loaded: Loaded, books: Books) -> None:
        """Begin; `close` ends it."""
        self._metadata = loaded.metadata
        self._joins = loaded.batch > 1
        self._most_rows = loaded.batch
        self._instances = len(loaded.instances)
        self._books = books
        self._spare = ThreadPoolExecutor(thread_budget(), f"intarsia-large-{loaded.metadata.name}")
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
        """Have these answered, each of which is sent what becomes of it; large ones take their place once decoded."""
        large = [each for each in asked if each.ticket.size > _LARGE_BYTES]
        for each in large:
            self._spare.submit(self._put_decoded, each)
        if len(large) < len(asked):
            self._line.put([each for each in asked if each not in large])

    def _put_decoded(self, asked: Asked) -> None:
        if self._decode(asked):
            self._line.put((asked,))
        else:
            self._books.settle((asked,))

    def lend(self) -> Model | None:
        """An instance for a request that comes alone, to be given back; ``None`` if there is none, or others wait."""
        return self._line.lend()

    def give_back(self, instance: Model) -> None:
        """Take back what was lent."""
        self._line.give_back(instance)

    def close(self) -> None:
        """End. Every request was answered, and nothing may be put any more."""
        self._line.close()
        self._spare.shutdown()

    def _answer(self, instance: Model) -> None:
        taken = self._taken()
        self._line.wake_next()
        if not self._joins:
            self._call_each(instance, taken)
            return
        for group in grouped(taken):
            self._call(instance, group)

    def _taken(self) -> list[Asked]:
        """What waits, decoded, up to the rows of a batch; more only if the first request has more.

        Where each has a call of its own, as many as should be answered in one round, and no more than an equal share.
        """
        taken: list[Asked] = []
        rows, most = 0, self._most_rows
        if not self._joins:
            most = max(1, min(most, -(-self._line.waiting // self._instances)))
        while rows < most and (asked := self._line.take(len(taken))) is not None:
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
            if self._joins:
                asked.form, asked.rows = form_of(asked.feeds)
        except Exception as error:
            asked.error = self._books.error_of(error)
            return False
        asked.decode_s = time.monotonic() - began
        return True

    def _call_each(self, instance: Model, round_: list[Asked]) -> None:
        """Answer each by a call of its own, and send what is answered together; it may wait for so long."""
        self._alone = self._alone + 1 if len(round_) == 1 else 0
        ended: list[tuple[Asked, Mapping[str, np.ndarray]]] = []
        refused: list[Asked] = []
        began = called = time.monotonic()
        for place, each in enumerate(round_):
            if called - began > _ROUND_S:
                for later in reversed(round_[place:]):
                    self._line.put_back(later)
                break
            if each.ticket.deadline <= called:
                each.error = self._books.too_late(each.ticket)
                refused.append(each)
                continue
            try:
                ended.append((each, instance(_feeds(each))))
            except Exception as error:
                each.error = self._books.error_of(error)
                refused.append(each)
            now = time.monotonic()
            each.stages = (called - each.ticket.began - each.decode_s, each.decode_s, now - called, 0.0)
            called = now
        if ended:
            self._fit_round((called - began) / len(ended))
        self._end_each(ended, refused)

    def _end_each(self, ended: list[tuple[Asked, Mapping[str, np.ndarray]]], refused: list[Asked]) -> None:
        """Encode these and settle all; those with large outputs are another thread's."""
        settled = refused
        for each, results in ended:
            each.feeds = None
            if sum(array.nbytes for array in results.values()) > _LARGE_BYTES:
                self._spare.submit(self._end_large, each, results)
            else:
                self._encode(each, results)
                settled.append(each)
        if settled:
            self._books.settle(settled)

    def _end_large(self, asked: Asked, results: Mapping[str, np.ndarray]) -> None:
        self._encode(asked, results)
        self._books.settle((asked,))

    def _encode(self, asked: Asked, results: Mapping[str, np.ndarray]) -> None:
        before = time.monotonic()
        try:
            asked.found = asked.encode(self._metadata, results)
        except Exception as error:
            asked.error = self._books.error_of(error)
        asked.stages = (*asked.stages[:3], time.monotonic() - before)

    def _fit_round(self, call_s: float) -> None:
        """Take as many at one time as calls of so many seconds fit in a round; one if they are not quick."""
        fits = int(_ROUND_S / max(call_s, _ROUND_S / _MOST_CALLS))
        self._most_rows = fits if call_s <= QUICK_S else 1
        self._books.called(1, call_s, joins=False)

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
        compute_s = time.monotonic() - called
        self._alone = self._alone + 1 if len(group) == 1 else 0
        self._books.called(len(group), compute_s, joins=True)
        for each in group:
            each.stages = (called - each.ticket.began - each.decode_s, each.decode_s, compute_s, 0.0)
        self._end_each(list(zip(group, results, strict=True)), [])

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
