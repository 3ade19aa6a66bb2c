"""A model under its name: it admits requests, has them answered, and changes its version without losing one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from intarsia.errors import FeedError, IntarsiaError
from intarsia.serving.batching.asked import Asked, Send
from intarsia.serving.figures import ModelFigures
from intarsia.serving.limits import Limits
from intarsia.serving.loaded import Loaded
from intarsia.serving.logs import tell, tell_error
from intarsia.serving.metadata import ModelMetadata
from intarsia.serving.statuses import RequestError, Status, bad
from intarsia.serving.tickets import TicketOf
from intarsia.serving.versions import Ticket, Version
from intarsia.wording import counted

if TYPE_CHECKING:
    import numpy as np

Feeds = Mapping[str, "np.ndarray"]
Request = TypeVar("Request")
Answer = TypeVar("Answer")
Decode = Callable[[ModelMetadata], tuple[Feeds, Request]]
Encode = Callable[[ModelMetadata, Request, Feeds], Answer]


class ServedModel:
    """A model that is served under a name."""

    def __init__(self, name: str, limits: Limits, figures: ModelFigures, *, log_requests: bool = False) -> None:
        self.name = name
        self._limits = limits
        self._figures = figures
        self._log_requests = log_requests
        self._current: Version | None = None
        self._is_draining = False
        self._changed = threading.Condition()
        self._admitted = 0
        self._compute_s = 0.0
        figures.waiting.set_function(self._waiting)

    @property
    def metadata(self) -> ModelMetadata | None:
        """What is told of the version that answers; ``None`` before one does."""
        current = self._current
        return None if current is None else current.loaded.metadata

    @property
    def is_ready(self) -> bool:
        """Whether a request that comes now is answered."""
        return self._current is not None and not self._is_draining

    @property
    def admitted(self) -> int:
        """How many requests were admitted that are not answered yet."""
        return self._admitted

    @property
    def beside_in_batches(self) -> int:
        """How many requests more may be at work than there are instances."""
        current = self._current
        return 0 if current is None else current.at_work - len(current.loaded.instances)

    def is_quick(self, ticket: Ticket) -> bool:
        """Whether this request will be answered within `QUICK_S`, once there is an instance for it, as others were."""
        version = ticket.version
        return ticket.size <= version.quick_bytes and version.batches.come_alone

    def reserve(self, ticket: Ticket) -> bool:
        """Whether there was an instance that nobody uses: it is then this request's, for `answer`."""
        ticket.instance = ticket.version.batches.lend()
        return ticket.instance is not None

    def check_version(self, version: str) -> ModelMetadata:
        """What is told of this version, or of the one that answers if none is named.

        Raises:
            RequestError: There is no such version, or none is loaded yet.
        """
        found = self.metadata
        if found is None:
            raise RequestError(Status.NOT_READY, f"model {self.name} is being loaded")
        if version not in ("", found.version):
            raise RequestError(
                Status.NOT_FOUND, f"model {self.name} has no version {version!r}; version {found.version} is served"
            )
        return found

    def admit(self, version: str = "") -> Ticket:
        """Let a request in.

        Raises:
            RequestError: No such version, not loaded yet, or too many requests are waiting already.
        """
        with self._changed:
            self.check_version(version)
            current = self._current
            assert current is not None, "there is a version to check"
            if self._is_draining:
                self._figures.refusals["draining"].inc()
                raise RequestError(Status.NOT_READY, "the server is about to end; ask another")
            if current.pending >= self._limits.waiting + current.at_work:
                self._figures.refusals["queue"].inc()
                raise RequestError(
                    Status.OVERLOADED,
                    f"the queue of model {self.name} is full ({counted(self._limits.waiting, 'request')}); ask later",
                    self._retry_s(current),
                )
            current.pending += 1
            self._admitted += 1
        return TicketOf(current, self._limits.timeout_s)

    def release(self, ticket: Ticket) -> None:
        """Take back the ticket of a request that ends."""
        version = ticket.version
        if ticket.instance is not None:
            version.batches.give_back(ticket.instance)
        self._count_ended(version, 1)

    def _count_ended(self, version: Version, requests: int) -> None:
        with self._changed:
            version.pending -= requests
            self._admitted -= requests
            if not version.pending and (version.retired or self._is_draining):
                self._changed.notify_all()

    def answer(self, ticket: Ticket, decode: Decode[Request], encode: Encode[Request, Answer]) -> Answer:
        """What a request gets, made on this thread by the instance that is reserved for it; its ticket is given back.

        Raises:
            RequestError: It is not well formed, waited too long, or the engine failed.
        """
        try:
            return self._answer(ticket, decode, encode)
        except RequestError as error:
            self.count(error.status)
            raise
        except Exception as error:
            found = self.error_of(error)
            self.count(found.status)
            raise found from error
        finally:
            self.release(ticket)

    def count(self, status: Status) -> None:
        """Count a request that was not answered."""
        self._figures.requests[status.name].inc()

    def _answer(self, ticket: Ticket, decode: Decode[Request], encode: Encode[Request, Answer]) -> Answer:
        version, instance = ticket.version, ticket.instance
        assert instance is not None, "one is reserved"
        metadata = version.loaded.metadata
        started = time.monotonic()
        feeds, request = decode(metadata)
        decoded = time.monotonic()
        if decoded >= ticket.deadline:
            raise self.too_late(ticket)
        try:
            results = instance(feeds)
        finally:
            version.batches.give_back(instance)
            ticket.instance = None
        computed = time.monotonic()
        answer = encode(metadata, request, results)
        encoded = time.monotonic()
        version.learn(ticket.size, encoded - started)
        self.called(1, computed - decoded, joins=version.loaded.batch > 1)
        self._count_answered((started - ticket.began, decoded - started, computed - decoded, encoded - computed))
        return answer

    def _count_answered(self, stages: tuple[float, float, float, float]) -> None:
        self._figures.took(*stages)
        if self._log_requests:
            spent = dict(zip(("queue_ms", "decode_ms", "compute_ms", "encode_ms"), stages, strict=True))
            tell("answered", model=self.name, **{name: round(1e3 * each, 3) for name, each in spent.items()})

    def error_of(self, error: Exception) -> RequestError:
        """What a request is told that ended with this."""
        if isinstance(error, RequestError):
            return error
        if isinstance(error, FeedError):
            return bad(str(error))
        tell_error("failed", error, model=self.name)
        text = str(error) if isinstance(error, IntarsiaError) else f"unexpected {type(error).__name__}: {error}"
        return RequestError(Status.FAILED, text)

    def too_late(self, ticket: Ticket) -> RequestError:
        """What a request is told that waited too long; the refusal is counted."""
        self._figures.refusals["timeout"].inc()
        return RequestError(
            Status.OVERLOADED,
            f"no instance of model {self.name} was free within {self._limits.timeout_s:g} s; ask again later",
            self._retry_s(ticket.version),
        )

    def called(self, requests: int, seconds: float, *, joins: bool) -> None:
        """Count a call that answered so many, and how long it took; ``joins`` where one call may answer several."""
        self._compute_s = seconds / requests
        if joins:
            self._figures.called(requests)

    def settle(self, asked: Sequence[Asked]) -> None:
        """Count these of one version, which are answered or refused, give their tickets back, and send that."""
        by_protocol: dict[Send, list[Asked]] = {}
        for each in asked:
            if each.error is None:
                self._count_answered(each.stages)
            else:
                self.count(each.error.status)
            by_protocol.setdefault(each.send, []).append(each)
        ticket = asked[0].ticket
        if len(asked) == 1 and asked[0].error is None:
            ticket.version.learn(ticket.size, sum(asked[0].stages[1:]))
        self._count_ended(ticket.version, len(asked))
        for send, some in by_protocol.items():
            try:
                send(some)
            except Exception as error:
                tell_error("failed", error, model=self.name)

    def _waiting(self) -> int:
        current = self._current
        return 0 if current is None else current.batches.waiting

    def _retry_s(self, version: Version) -> int:
        """Seconds until what is pending now should be done, at the speed of the last request."""
        left_s = version.pending * self._compute_s / len(version.loaded.instances)
        return max(1, min(round(left_s + 0.5), round(self._limits.timeout_s)))

    def swap(self, loaded: Loaded) -> None:
        """Have this version answer from now on, then wait for the last request of the one before, and close it."""
        new = Version(loaded, self)
        with self._changed:
            old, self._current = self._current, new
            if old is not None:
                old.retired = True
                self._changed.wait_for(lambda: not old.pending)
        if old is not None:
            old.close()

    def drain(self) -> None:
        """Admit nothing any more."""
        with self._changed:
            self._is_draining = True

    def wait_drained(self, timeout_s: float) -> int:
        """Wait until all that was admitted is answered; how many requests are not, after so many seconds."""
        with self._changed:
            self._changed.wait_for(lambda: not self._admitted, timeout_s)
            return self._admitted

    def close(self) -> None:
        """Free what is loaded; every request has ended."""
        with self._changed:
            old, self._current = self._current, None
        if old is not None:
            old.close()
