"""The way to a worker: one call at a time over gRPC, and what it means when one fails.

A call that the network interrupts is made again, until the link was away for as long as the caller waits. What then
ends it says which of five things happened: no way leads there, the process is gone, it does not answer, it was told to
end, or it refuses.
"""

from __future__ import annotations

import queue
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Final, TypeVar

from intarsia.errors import (
    BackendUnavailableError,
    ClosedError,
    IntarsiaError,
    RemoteError,
    WorkerDiedError,
    WorkerShutdownError,
    WorkerTimeoutError,
    WorkerTokenError,
    WorkerUnreachableError,
    WorkerVersionError,
)
from intarsia.forks import Forkable, left_behind
from intarsia.remote import failures
from intarsia.remote.place import WorkerPlace
from intarsia.version import __version__

T = TypeVar("T")
_FIRST_S: Final = 10.0
"""Seconds in which a worker greets, at most: it does nothing for that."""
_PAUSE_S: Final = 0.2
_OPTIONS: Final = (
    ("grpc.enable_http_proxy", 0),
    ("grpc.enable_retries", 0),
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 0),
    ("grpc.http2.max_pings_without_data", 0),
)


class LinkDownError(Exception):
    """A call did not come to its end, and nobody refused it: the link, the worker or an answer is not there."""

    def __init__(self, said: str, *, is_silent: bool = False) -> None:
        super().__init__(said)
        self.is_silent = is_silent


class GoneError(Exception):
    """The worker does not know the job, the model or the content that it was asked for."""


class Link(Forkable):
    """Calls of one worker. It may be used from several threads, and in the process that made it alone.

    Raises:
        BackendUnavailableError: What calls are made with is not installed.
    """

    def __init__(self, place: WorkerPlace) -> None:
        self.place = place
        self.instance = ""
        """Which process of a worker answered first: another one knows nothing of what was begun."""
        self._lock = threading.Lock()
        self._is_lost = False
        self._channel: Any = _channel(place)

    def greet(self, within_s: float | None = None) -> Any:
        """The greeting, which comes before anything else is asked; a lost link is a `LinkDownError`."""
        greeting = self.once("Hello", _messages().Nothing(), within_s or min(_FIRST_S, self.place.timeout))
        if self.instance and greeting.instance != self.instance:
            raise WorkerDiedError(
                f"the worker at {self.place} ended in the middle of the work, and another one listens there now; what "
                "was measured is in its record store, and the same call goes on from there"
            )
        self.instance = greeting.instance
        return greeting

    def open(self) -> Any:
        """The greeting, at the beginning: nothing is tried twice."""
        try:
            return self.greet()
        except LinkDownError as down:
            raise self._verdict(down, is_first=True) from None

    def ask(self, name: str, request: Any, within_s: float | None = None) -> Any:
        """The answer to a call that may be made twice; errors are those of `lasting`."""
        return self.lasting(lambda: self.once(name, request, within_s or self.place.timeout))

    def lasting(self, act: Callable[[], T]) -> T:
        """What ``act`` returns; it is done again where it loses the link.

        Raises:
            RemoteError: The link does not come back, or the worker is another one then.
            IntarsiaError: The worker told of one.
            GoneError: It does not know what it was asked for.
        """
        end: float | None = None
        while True:
            try:
                return act()
            except LinkDownError as down:
                end = end or time.monotonic() + self.place.timeout
                self.reconnect(down, end)

    def reconnect(self, down: LinkDownError, end: float) -> None:
        """Wait for the link to come back, until a time by ``time.monotonic``; errors are those of `lasting`."""
        while True:
            left = end - time.monotonic()
            if left <= 0:
                raise self._verdict(down) from None
            time.sleep(min(_PAUSE_S, left))
            self._renew()
            try:
                self.greet(max(_PAUSE_S, min(_FIRST_S, left)))
                return
            except LinkDownError as still:
                down = still

    def once(self, name: str, request: Any, within_s: float | None) -> Any:
        """The one answer to a call, else as `exchange`; a lost link is a `LinkDownError`."""
        import grpc

        call = self._call(name)
        try:
            return call(request, timeout=within_s, metadata=self._head(), wait_for_ready=False)
        except grpc.RpcError as error:
            raise self._meaning(error) from None

    def stream(self, name: str, request: Any, silence_s: float) -> Iterator[Any]:
        """The answers to one call as they come; a `LinkDownError` also where none comes for so many seconds."""
        import grpc

        call = self._call(name)(request, metadata=self._head())
        found: queue.SimpleQueue[Any] = queue.SimpleQueue()

        def read() -> None:
            try:
                for answer in call:
                    found.put(answer)
                found.put(None)
            except grpc.RpcError as error:
                found.put(error)

        threading.Thread(target=read, daemon=True).start()
        try:
            while True:
                try:
                    answer = found.get(timeout=silence_s)
                except queue.Empty:
                    raise LinkDownError(f"nothing came for {silence_s:.0f} s", is_silent=True) from None
                if answer is None:
                    return
                if isinstance(answer, grpc.RpcError):
                    raise self._meaning(answer)
                yield answer
        finally:
            call.cancel()

    def exchange(self, name: str, request: Any, within_s: float | None) -> Iterator[Any]:
        """The answers to a call; ``request`` is a message, or an iterator of messages where it takes several."""
        import grpc

        try:
            yield from self._call(name)(request, timeout=within_s, metadata=self._head())
        except grpc.RpcError as error:
            raise self._meaning(error) from None

    def close(self) -> None:
        """Close it. Calling it twice is fine."""
        with self._lock:
            channel, self._channel = self._channel, None
        if channel is not None and not self._is_lost:
            channel.close()

    def after_fork(self) -> None:
        """A connection and its threads are the parent's."""
        left_behind(self._channel)
        self._lock = threading.Lock()
        self._is_lost = True

    def _renew(self) -> None:
        """Connect anew: a channel waits longer after each try."""
        with self._lock:
            if self._channel is None or self._is_lost:
                return
            before, self._channel = self._channel, _channel(self.place)
        before.close()

    def _call(self, name: str) -> Any:
        from intarsia.remote.protocol import CALLS, SERVICE

        with self._lock:
            channel = self._channel
        if self._is_lost or channel is None:
            why = "belongs to the process that this one was forked from" if self._is_lost else "was closed"
            raise ClosedError(f"the link to the worker at {self.place} {why}; compile or load again")
        call = CALLS[name]
        kind = f"{'stream' if call.many_asked else 'unary'}_{'stream' if call.many_answered else 'unary'}"
        return getattr(channel, kind)(
            f"/{SERVICE}/{name}",
            request_serializer=call.asks.SerializeToString,
            response_deserializer=call.answers.FromString,
        )

    def _head(self) -> tuple[tuple[str, str], ...]:
        from intarsia.remote.protocol import PROTOCOL, PROTOCOL_KEY, TOKEN, VERSION_KEY

        return ((TOKEN, self.place.token), (PROTOCOL_KEY, str(PROTOCOL)), (VERSION_KEY, __version__))

    def _meaning(self, error: Any) -> Exception:
        """What an error of gRPC means."""
        from grpc import StatusCode

        from intarsia.remote.protocol import FAILURE

        told = next((value for key, value in error.trailing_metadata() or () if key == FAILURE), None)
        class_, message = failures.class_and_message(told) if told is not None else ("", "")
        match class_:
            case failures.SHUTDOWN:
                return WorkerShutdownError(
                    f"the worker at {self.place} was told to end ({message}); what was measured is in its record "
                    "store: start it again, and the same call goes on from there"
                )
            case failures.VERSION:
                return WorkerVersionError(f"the worker at {self.place} {message}")
            case failures.GONE:
                return GoneError(message)
            case failures.BROKEN:
                return LinkDownError(message)
            case str() if told is not None and class_:
                return failures.error_of(told, str(self.place))
        code, details = error.code(), error.details() or ""
        if code is StatusCode.UNAUTHENTICATED:
            return WorkerTokenError(
                f"the worker at {self.place} refuses the token; name the file with the one that it was started with"
            )
        if code is StatusCode.UNIMPLEMENTED:
            return WorkerVersionError(f"what listens at {self.place} is no worker of Intarsia's protocol: {details}")
        is_silent = code in (StatusCode.DEADLINE_EXCEEDED, StatusCode.RESOURCE_EXHAUSTED)
        return LinkDownError(details or code.name, is_silent=is_silent)

    def _verdict(self, down: LinkDownError, *, is_first: bool = False) -> RemoteError:
        """Why the worker is out of reach, by what a plain connection finds there."""
        waited = "" if is_first else f" within {self.place.timeout:.0f} s"
        try:
            with socket.create_connection((self.place.address.host, self.place.address.port), timeout=_FIRST_S / 2):
                pass
        except ConnectionRefusedError:
            if is_first:
                return WorkerUnreachableError(
                    f"nothing listens at {self.place}: start a worker there (intarsia worker --listen …), or name "
                    "another address"
                )
            return WorkerDiedError(
                f"nothing listens at {self.place} any more: the worker's process ended in the middle of the work; what "
                "was measured is in its record store: start it again, and the same call goes on from there"
            )
        except OSError as error:
            lost = "cannot be reached" if is_first else "was lost, and did not come back"
            return WorkerUnreachableError(
                f"the worker at {self.place} {lost}{waited} ({error.strerror or error}); see to the network, or state "
                "a longer timeout"
            )
        if down.is_silent:
            return WorkerTimeoutError(
                f"the worker at {self.place} can be reached and does not answer{waited or ' in time'} ({down}); see "
                "what it does, or state a longer timeout"
            )
        return WorkerUnreachableError(
            f"something at {self.place} takes connections and no calls{waited} ({down}); a worker with TLS wants its "
            "certificate named (-tls-ca, --tls-ca), and one without wants none"
        )


def _channel(place: WorkerPlace) -> Any:
    grpc = _grpc()
    if place.certificate is None:
        return grpc.insecure_channel(str(place), options=_OPTIONS)
    credentials = grpc.ssl_channel_credentials(root_certificates=place.certificate)
    return grpc.secure_channel(str(place), credentials, options=_OPTIONS)


def _grpc() -> Any:
    try:
        import grpc
    except ModuleNotFoundError:
        raise BackendUnavailableError(
            "workers on other machines are called by gRPC, which is not installed: pip install 'intarsia[remote]'"
        ) from None
    return grpc


def _messages() -> Any:
    from intarsia.remote import messages

    return messages


def quietly(act: Callable[[], object]) -> None:
    """Do something at the end that is only a courtesy: nothing that goes wrong is told."""
    with suppress(IntarsiaError, LinkDownError, GoneError):
        act()
