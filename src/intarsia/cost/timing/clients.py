"""Threads that call loaded plans at one time, each its own one, as requests do that a server answers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar


class Instance(Protocol):
    """A loaded plan."""

    def call(self) -> object:
        """Answer what it was fed."""


Loaded = TypeVar("Loaded", bound=Instance)
Found = TypeVar("Found")


@dataclass(frozen=True, slots=True, kw_only=True)
class Burst:
    """What came of calling all instances again and again for a while.

    Attributes:
        calls_ms: Milliseconds of each call.
        between_ms: Milliseconds from one answer to the next, of all instances together.
    """

    calls_ms: tuple[float, ...]
    between_ms: float


class Clients(AbstractContextManager["Clients[Loaded]"], Generic[Loaded]):
    """One thread for each instance, which calls it as soon as it has answered."""

    def __init__(self, instances: Sequence[Loaded]) -> None:
        self._instances = tuple(instances)
        self._threads = ThreadPoolExecutor(len(self._instances), "intarsia-client")

    def each(self, act: Callable[[Loaded], Found]) -> list[Found]:
        """What this gives for each instance, all at one time."""
        return list(self._threads.map(act, self._instances))

    def burst(self, calls: int) -> Burst:
        """Call each instance so many times; who is done goes on until all are, so that nobody has the machine alone."""
        several = len(self._instances)
        begin = threading.Barrier(several)
        done: list[bool] = []

        def client(instance: Loaded) -> tuple[list[int], int]:
            spent: list[int] = []
            try:
                begin.wait()
                start = end = time.perf_counter_ns()
                while len(done) < several:
                    before = end
                    instance.call()
                    end = time.perf_counter_ns()
                    spent.append(end - before)
                    if len(spent) == calls:
                        done.append(True)
                return spent, end - start
            except BaseException:
                done.extend([False] * several)  # the others must not wait for it
                raise

        told = self.each(client)
        rate = sum(len(spent) / elapsed for spent, elapsed in told)
        return Burst(calls_ms=tuple(ns / 1e6 for spent, _ in told for ns in spent), between_ms=1e-6 / rate)

    def __exit__(self, *_: object) -> None:
        self._threads.shutdown()
