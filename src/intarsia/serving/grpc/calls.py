"""Calls over gRPC, as one thread takes them from the queue of gRPC's core, with the message that each sends.

`grpc.server` hands each call to a thread before its message is there. That thread waits for it, and is woken by another
one, as it is when the answer was sent. Here nothing is handed over: the thread that takes events from the queue brings
the message, and whoever has the answer sends it. The core is used as grpcio's own server uses it.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final

from intarsia.addresses import Address
from intarsia.errors import ConfigError
from intarsia.serving.access import Access
from intarsia.serving.logs import tell_error
from intarsia.serving.statuses import RequestError, Status

os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "false")  # nothing of ours calls gRPC in a child that was forked
os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # it writes lines to stderr that are no JSON
os.environ.setdefault("GRPC_EXPERIMENTS", "-event_engine_listener")  # else other threads read, and wake this one

import grpc
from grpc._cython import cygrpc

_NO_FLAGS: Final = 0
_AT_ONCE: Final = 0.0
"""A time that is past: gRPC rounds one that is now up to the next millisecond, and waits for that."""
_POLLS: Final = 3
"""Looks in a row that bring nothing, until nothing is there: each reads from one socket, which may have half a call."""
_CALL: Final = "a call came"
_SHUT: Final = "the server is shut"
Take = Callable[["Call", bytes], None]
"""Is called with a call and its message, on the thread that reads. It has the call answered or refused once."""


class Call:
    """One call, which is answered or refused once, on any thread."""

    __slots__ = ("_call", "_ended", "_metadata", "method")

    def __init__(self, event: Any, ended: Callable[[], None]) -> None:
        self._call = event.call
        self._ended = ended
        self._metadata = event.invocation_metadata
        self.method: bytes = event.call_details.method
        """The path that it names."""

    @property
    def authorization(self) -> bytes:
        """What says who calls; empty where nothing does."""
        for name, value in self._metadata:
            if name == "authorization":
                return value if isinstance(value, bytes) else str(value).encode()
        return b""

    def receive(self, take: Take) -> None:
        """Have something called with the message, once it is there."""

        def got(event: Any) -> None:
            content = event.batch_operations[0].message()
            if content is None:  # none was sent, it was too large, or who called hung up
                self.refuse(RequestError(Status.BAD_REQUEST, "a call takes exactly one message"))
            else:
                self.guard(take, content)

        self._call.start_server_batch((cygrpc.ReceiveMessageOperation(_NO_FLAGS),), got)

    def guard(self, take: Callable[..., None], *more: Any) -> None:
        """Call something with this call, and refuse it where that raises."""
        try:
            take(self, *more)
        except RequestError as error:
            self.refuse(error)
        except Exception as error:
            tell_error("failed", error, call=self.method.decode(errors="replace"))
            self.refuse(RequestError(Status.FAILED, f"unexpected {type(error).__name__}"))

    def answer(self, content: bytes) -> None:
        """Send the one message that answers."""
        self._end(grpc.StatusCode.OK, "", (), (cygrpc.SendMessageOperation(content, _NO_FLAGS),))

    def refuse(self, error: RequestError) -> None:
        """Say why there is no answer."""
        again = (("retry-after", str(error.retry_s)),) if error.status.may_retry else ()
        self._end(getattr(grpc.StatusCode, error.status.grpc), str(error), again, ())

    def _end(self, code: grpc.StatusCode, details: str, metadata: tuple[tuple[str, str], ...], message: Any) -> None:
        operations = (
            cygrpc.SendInitialMetadataOperation(None, _NO_FLAGS),
            *message,
            cygrpc.SendStatusFromServerOperation(metadata, code.value[0], details.encode(), _NO_FLAGS),
            cygrpc.ReceiveCloseOnServerOperation(_NO_FLAGS),
        )
        self._call.start_server_batch(operations, lambda _: self._ended())


class CallServer:
    """Listens, and takes calls on a thread of its own."""

    def __init__(self, begin: Callable[[Call], None], most_bytes: int) -> None:
        """Have ``begin`` called with each call, on the thread that reads; a message has so many bytes at most."""
        self._begin = begin
        self._queue = cygrpc.CompletionQueue()
        self._server = cygrpc.Server(
            (
                ("grpc.max_receive_message_length", most_bytes),
                ("grpc.max_send_message_length", -1),
                ("grpc.so_reuseport", 0),  # a second server on one port is an error, and does not share it
            ),
            False,
        )
        self._server.register_completion_queue(self._queue)
        self._once_read: deque[Callable[[], object]] = deque()
        self._ends: deque[Callable[[], None]] = deque()
        self._lock = threading.Lock()
        self._is_ending = False
        self._open = 0
        self._thread: threading.Thread | None = None

    @property
    def open_calls(self) -> int:
        """How many calls are there that were not answered."""
        return self._open

    def listen(self, address: Address, access: Access) -> Address:
        """Begin to take calls; the address with the port that was taken.

        Raises:
            ConfigError: Nothing can listen there.
        """
        port, place = 0, str(address).encode()
        try:
            if access.certificate is None or access.key is None:
                port = self._server.add_http2_port(place)
            else:
                pair = (access.key.read_bytes(), access.certificate.read_bytes())
                port = self._server.add_http2_port(place, grpc.ssl_server_credentials([pair])._credentials)
        except RuntimeError:
            pass
        if not port:
            raise ConfigError(
                f"nothing can listen on {address}: another program does, or the machine has no such address"
            )
        self._server.start()
        self._await_call()
        self._thread = threading.Thread(target=self._serve, name="intarsia-grpc")
        self._thread.start()
        return Address(address.host, port)

    def once_read(self, act: Callable[[], object]) -> None:
        """Have the thread that reads do this once it has read all that came; to be called on that thread."""
        self._once_read.append(act)

    def end_together(self, ends: Sequence[Callable[[], None]]) -> None:
        """Have these end a call each: the first on this thread, the others on the one that reads, which that wakes.

        If this thread ended all, each would wake the one that reads, and the two would take turns for every one.
        """
        first, *others = ends
        self._ends.extend(others)
        first()

    def stop(self, grace_s: float) -> None:
        """Take no call any more, and wait for those that are there; after these seconds they are cut."""
        if self._thread is None:
            return
        with self._lock:
            self._is_ending = True
            self._server.shutdown(self._queue, _SHUT)
        self._thread.join(grace_s)
        self._server.cancel_all_calls()
        self._thread.join()
        self._thread = None
        self._server.destroy()

    def _await_call(self) -> None:
        with self._lock:
            if not self._is_ending:
                self._server.request_call(self._queue, self._queue, _CALL)

    def _serve(self) -> None:
        is_shut, polls = False, 0
        while not is_shut or self._open:
            event = self._queue.poll(_AT_ONCE if self._once_read else None)
            polls = polls + 1 if event.tag is None else 0
            if event.tag is None:
                if polls >= _POLLS:
                    self._once_read.popleft()()
            elif event.tag is _CALL:
                if event.success:
                    self._open += 1
                    Call(event, self._ended).guard(self._begin)
                    self._await_call()
            elif event.tag is _SHUT:
                is_shut = True
            else:
                event.tag(event)
            while self._ends:
                self._ends.popleft()()
            del event  # what it holds of a call would else live until the next one comes

    def _ended(self) -> None:
        self._open -= 1
