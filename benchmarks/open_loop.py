"""Clients that ask when it is time, whether or not those before were answered: an open loop over HTTP and gRPC.

Each request has a moment, drawn so that the gaps are exponential. It is asked then by a thread that is free, and how it
ended is noted with the milliseconds since that moment: what waits for a thread is counted as well.
"""

from __future__ import annotations

import http.client
import itertools
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import grpc
import numpy as np

from benchmarks.loopback_load import HEADER_LENGTH, Door
from intarsia.serving.grpc.messages import messages

ANSWERED, WRONG, CUT = "answered", "wrong answer", "cut off"
REFUSED, REFUSED_BARELY = "refused", "refused without a time to come again"
THREADS = 48
"""Of each door: more than a server holds, and a refusal ends at once."""
_PATIENCE_S = 60.0
Ask = Callable[[], str]
"""Asks once, and tells how it ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How one request ended: its door, its end, and milliseconds since it was due, of which some until it was sent."""

    door: str
    end: str
    ms: float
    late_ms: float


@dataclass(slots=True)
class Asked:
    """How many requests a second are asked, which may be changed meanwhile, and what became of those so far."""

    per_second: float
    outcomes: list[Outcome] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event)

    def of(self, end: str) -> int:
        """How many ended so."""
        return sum(each.end == end for each in self.outcomes)


class OverHttp:
    """Asks over HTTP, on one connection that is made anew where it was ended."""

    def __init__(self, address: str, door: Door, right: Sequence[np.ndarray]) -> None:
        self._connection = http.client.HTTPConnection(address, timeout=_PATIENCE_S)
        self._door, self._right = door, right

    def __call__(self) -> str:
        """Ask once; how it ended."""
        try:
            self._connection.request("POST", self._door.path, self._door.body, dict(self._door.headers))
            response = self._connection.getresponse()
            content = response.read()
        except (OSError, http.client.HTTPException):
            self._connection.close()
            return CUT
        if response.status == 200:
            return judged(content[int(response.headers[HEADER_LENGTH]) :], self._right)
        return refusal(response.status == 503, str(response.status), response.headers.get("retry-after"))


class OverGrpc:
    """Asks over gRPC, on a channel that others use too."""

    def __init__(self, channel: grpc.Channel, door: Door, right: Sequence[np.ndarray]) -> None:
        self._call = channel.unary_unary(door.path, response_deserializer=messages().ModelInferResponse.FromString)
        self._message, self._right = door.body[5:], right  # without the frame, which the channel makes itself

    def __call__(self) -> str:
        """Ask once; how it ended."""
        try:
            answer = self._call(self._message, timeout=_PATIENCE_S)
        except grpc.RpcError as error:
            code = error.code()
            if code is grpc.StatusCode.CANCELLED or "connect" in str(error.details()).lower():
                return CUT
            is_full = code in (grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.UNAVAILABLE)
            return refusal(is_full, code.name, dict(error.trailing_metadata() or ()).get("retry-after"))
        return judged(answer.raw_output_contents[0], self._right)


def moments(per_second: Callable[[], float], seed: int) -> Iterator[float]:
    """Seconds from the beginning at which to ask, with exponential gaps of the rate at that time."""
    dice = random.Random(seed)
    return itertools.accumulate(dice.expovariate(per_second()) for _ in itertools.count())


@contextmanager
def asking(make: Mapping[str, Callable[[], Ask]], per_second: float) -> Iterator[Asked]:
    """Ask at this rate, as much at each door, until the block ends; all that was begun then ends too."""
    asked, began, threads = Asked(per_second), time.monotonic() + 0.5, []
    for seed, (door, made) in enumerate(make.items()):
        due, lock = moments(lambda: asked.per_second / len(make), seed), threading.Lock()
        threads += [
            threading.Thread(target=_repeat, args=(asked, door, made(), due, lock, began)) for _ in range(THREADS)
        ]
    for thread in threads:
        thread.start()
    try:
        yield asked
    finally:
        asked.stop.set()
        for thread in threads:
            thread.join()


def _repeat(asked: Asked, door: str, ask: Ask, due: Iterator[float], lock: threading.Lock, began: float) -> None:
    while not asked.stop.is_set():
        with lock:
            moment = began + next(due)
        if asked.stop.wait(moment - time.monotonic()):
            return
        sent = time.monotonic()
        end = ask()
        done = time.monotonic()
        asked.outcomes.append(
            Outcome(door=door, end=end, ms=1e3 * (done - moment), late_ms=1e3 * max(0.0, sent - moment))
        )


def judged(content: bytes, right: Sequence[np.ndarray]) -> str:
    """What an answer is called, where one of these is right."""
    found = np.frombuffer(content, "<f4")
    fits = any(found.size == each.size and np.allclose(found, each.ravel(), rtol=1e-4, atol=1e-4) for each in right)
    return ANSWERED if fits else WRONG


def refusal(is_full: bool, code: str, retry_after: str | bytes | None) -> str:
    """What a refusal is called: one that is none for being too much keeps its code."""
    if not is_full:
        return code
    return REFUSED if retry_after is not None and int(retry_after) >= 1 else REFUSED_BARELY
