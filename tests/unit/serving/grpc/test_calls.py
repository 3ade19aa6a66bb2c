"""Calls as they come from gRPC's core: who is called with them, how they end, and how the server does."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import grpc
import pytest

from intarsia.addresses import Address
from intarsia.serving.access import Access
from intarsia.serving.grpc.calls import Call, CallServer
from intarsia.serving.statuses import RequestError, Status

PATIENCE_S = 120.0
READER = "intarsia-grpc"


@contextmanager
def listening(begin: Callable[[Call], None]) -> Iterator[tuple[CallServer, Any]]:
    """A server on loopback, and a call of bytes to it."""
    server = CallServer(begin, 1000)
    address = server.listen(Address("127.0.0.1", 0), Access())
    try:
        with grpc.insecure_channel(str(address)) as channel:
            yield server, channel.unary_unary("/a.Service/Act")
    finally:
        server.stop(0)


def echo(call: Call, content: bytes) -> None:
    call.answer(call.method + b" " + content)


def test_a_call_brings_its_path_and_its_message_on_the_thread_that_reads() -> None:
    threads: list[str] = []

    def take(call: Call, content: bytes) -> None:
        threads.append(threading.current_thread().name)
        echo(call, content)

    with listening(lambda call: call.receive(take)) as (_, ask):
        assert ask(b"one", timeout=PATIENCE_S) == b"/a.Service/Act one"
        assert ask(b"", timeout=PATIENCE_S) == b"/a.Service/Act "
    assert threads == [READER] * 2


def test_another_thread_may_send_the_answer() -> None:
    def take(call: Call, content: bytes) -> None:
        threading.Thread(target=echo, args=(call, content)).start()

    with listening(lambda call: call.receive(take)) as (server, ask):
        assert ask(b"one", timeout=PATIENCE_S) == b"/a.Service/Act one"
        pause = threading.Event()
        while server.open_calls:  # its end comes a little later
            pause.wait(0.005)


def test_metadata_say_who_calls() -> None:
    with listening(lambda call: call.receive(lambda call, _: call.answer(call.authorization))) as (_, ask):
        assert ask(b"", timeout=PATIENCE_S, metadata=(("authorization", "Bearer x"),)) == b"Bearer x"
        assert ask(b"", timeout=PATIENCE_S) == b""


def refuse(*_: object) -> None:
    raise RequestError(Status.OVERLOADED, "not now", 7)


def fail(*_: object) -> None:
    raise ZeroDivisionError("by zero")


@pytest.mark.parametrize(
    ("begin", "code", "words"),
    [
        (refuse, grpc.StatusCode.RESOURCE_EXHAUSTED, "not now"),
        (fail, grpc.StatusCode.INTERNAL, "unexpected ZeroDivisionError"),
        (lambda call: call.receive(refuse), grpc.StatusCode.RESOURCE_EXHAUSTED, "not now"),
        (lambda call: call.receive(fail), grpc.StatusCode.INTERNAL, "unexpected ZeroDivisionError"),
    ],
)
def test_what_is_raised_refuses_the_call_and_the_server_goes_on(
    begin: Callable[[Call], None], code: grpc.StatusCode, words: str
) -> None:
    with listening(begin) as (_, ask):
        for _ in range(2):
            with pytest.raises(grpc.RpcError, match=words) as caught:
                ask(b"", timeout=PATIENCE_S)
            assert caught.value.code() is code
            again = [tuple(each) for each in caught.value.trailing_metadata()]
            assert again == ([("retry-after", "7")] if words == "not now" else [])


def test_a_message_that_is_too_large_is_refused() -> None:
    with listening(lambda call: call.receive(echo)) as (_, ask):
        with pytest.raises(grpc.RpcError) as caught:
            ask(b"x" * 2000, timeout=PATIENCE_S)
        assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert ask(b"one", timeout=PATIENCE_S) == b"/a.Service/Act one"


def test_what_is_to_be_done_once_all_is_read_is_done_by_the_thread_that_reads() -> None:
    came: list[Call] = []
    done: list[tuple[str, int]] = []

    def take(call: Call, content: bytes) -> None:
        if not came:
            server.once_read(act)
        came.append(call)

    def act() -> None:
        done.append((threading.current_thread().name, len(came)))
        for call in came:
            call.answer(b"done")
        came.clear()

    with listening(lambda call: call.receive(take)) as (server, ask):
        asked = [ask.future(b"wait", timeout=PATIENCE_S) for _ in range(8)]
        assert [each.result() for each in asked] == [b"done"] * 8
    assert {name for name, _ in done} == {READER}
    assert sum(number for _, number in done) == 8


def test_at_the_end_calls_that_are_there_are_awaited_and_then_cut() -> None:
    held: list[Call] = []
    came = threading.Semaphore(0)

    def take(call: Call, _: bytes) -> None:
        held.append(call)
        came.release()

    with listening(lambda call: call.receive(take)) as (server, ask):
        answered, cut = (ask.future(b"", timeout=PATIENCE_S) for _ in range(2))
        for _ in range(2):
            assert came.acquire(timeout=PATIENCE_S)
        ending = threading.Thread(target=server.stop, args=(0.2,))
        ending.start()
        held[0].answer(b"in time")
        ended = {each.code() for each in (answered, cut) if each.exception() is not None}
        assert len(ended) == 1
        assert grpc.StatusCode.OK not in ended
        held[1].answer(b"too late")
        ending.join(PATIENCE_S)
        assert not ending.is_alive()
