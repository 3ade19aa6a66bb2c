"""Clients that ask as fast as they can, over both endpoints, and note how each request ended."""

from __future__ import annotations

import http.client
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial

import grpc
import numpy as np

from intarsia.serving.grpc.messages import messages
from tests.serving.process import PATIENCE_S, Calls, Running, Web, binary_request

CUT = "cut off"
"""The end of a request whose connection was ended before an answer came."""
WRONG = "wrong"
OK = "200"


class Load:
    """What became of the requests so far."""

    def __init__(self) -> None:
        self.ends: Counter[str] = Counter()
        self.changed = threading.Condition()
        self.stop = threading.Event()

    def note(self, end: str) -> None:
        with self.changed:
            self.ends[end] += 1
            self.changed.notify_all()

    def await_ends(self, end: str, number: int) -> None:
        """Wait until so many requests more have ended so."""
        with self.changed:
            wanted = self.ends[end] + number
            assert self.changed.wait_for(lambda: self.ends[end] >= wanted, PATIENCE_S), self.ends


@contextmanager
def asking(
    running: Running, feed: np.ndarray, right: Sequence[np.ndarray], *, web: int = 4, calls: int = 4
) -> Iterator[Load]:
    """So many clients of each endpoint that ask model ``net`` until the block ends; right answers are one of these."""
    load = Load()
    sorts = [*([_over_http] * web), *([_over_grpc] * calls)]
    clients = [threading.Thread(target=_repeat, args=(load, partial(ask, running, feed, right, load))) for ask in sorts]
    for client in clients:
        client.start()
    try:
        yield load
    finally:
        load.stop.set()
        for client in clients:
            client.join(PATIENCE_S)
    assert not any(client.is_alive() for client in clients)


def _repeat(load: Load, connect: Callable[[], None]) -> None:
    """Ask on one connection after the other, until told to stop or there is no server."""
    while not load.stop.is_set():
        try:
            connect()
        except ConnectionRefusedError:
            return
        except (OSError, http.client.HTTPException):
            load.note(CUT)


def _over_http(running: Running, feed: np.ndarray, right: Sequence[np.ndarray], load: Load) -> None:
    body, headers = binary_request({"x": ("FP32", feed)}, parameters={"binary_data_output": True})
    with Web(running.http) as web:
        while not load.stop.is_set():
            reply = web.infer("net", body, headers)
            if reply.status == 200:
                length = int(reply.headers["inference-header-content-length"])
                load.note(_judged(reply.body[length:], right))
            else:
                load.note(_refusal(str(reply.status), reply.headers))


def _over_grpc(running: Running, feed: np.ndarray, right: Sequence[np.ndarray], load: Load) -> None:
    request = messages().ModelInferRequest(model_name="net")
    request.inputs.add(name="x", datatype="FP32", shape=feed.shape)
    request.raw_input_contents.append(feed.tobytes())
    with Calls(running.grpc) as calls:
        while not load.stop.is_set():
            try:
                answer = calls.ask("ModelInfer", request, wait_for_ready=False)
            except grpc.RpcError as error:
                if "failed to connect" in str(error.details()).lower():
                    raise ConnectionRefusedError from error
                is_cut = error.code() is grpc.StatusCode.CANCELLED  # it came as the server closed
                load.note(CUT if is_cut else error.code().name)
            else:
                load.note(_judged(answer.raw_output_contents[0], right))


def _judged(content: bytes, right: Sequence[np.ndarray]) -> str:
    found = np.frombuffer(content, "<f4")
    return OK if any(np.allclose(found, each.ravel(), rtol=1e-4, atol=1e-4) for each in right) else WRONG


def _refusal(status: str, headers: Mapping[str, str]) -> str:
    return status if status != "503" or int(headers.get("retry-after", "0")) >= 1 else "503 without Retry-After"
