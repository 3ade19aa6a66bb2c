"""A line of requests, and a thread for each instance that takes what waits in it."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, Generic, TypeVar

_SWEEP_S: Final = 0.25
"""How often to look whether a request has waited too long while all instances are at work."""
Instance = TypeVar("Instance")
Item = TypeVar("Item")


class _Worker(Generic[Instance]):
    """A thread with its instance."""

    __slots__ = ("instance", "woken")

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.woken = threading.Lock()
        """Held while there is nothing to do, or somebody else has the instance."""
        self.woken.acquire()


class Line(Generic[Instance, Item]):
    """First come, first served; a thread takes as many as it wants.

    Nothing is waited for: whatever waits when an instance is free is taken.
    """

    def __init__(
        self,
        name: str,
        instances: Sequence[Instance],
        deadline: Callable[[Item], float],
        work: Callable[[Instance], None],
        refuse: Callable[[list[Item]], None],
    ) -> None:
        """Start the threads.

        Args:
            name: Of the threads.
            instances: One for each thread.
            deadline: Until when an item may wait, by ``time.monotonic``.
            work: Takes some of what waits, by `take`, and has the instance answer it. It raises nothing.
            refuse: Is called with what waited too long. It raises nothing.
        """
        self._items: deque[Item] = deque()
        self._idle: list[_Worker[Instance]] = []
        self._lock = threading.Lock()
        self._deadline = deadline
        self._work = work
        self._refuse = refuse
        self._is_closing = False
        self._closed = threading.Event()
        workers = [_Worker(each) for each in instances]
        self._lent: dict[int, _Worker[Instance]] = {}
        # Daemons: a replica that Ray ends does not always get to close what it has.
        self._threads = [
            threading.Thread(target=self._serve, args=(each,), name=f"{name}-{place}", daemon=True)
            for place, each in enumerate(workers)
        ]
        self._sweeper = threading.Thread(target=self._sweep, name=f"{name}-late", daemon=True)
        for thread in (*self._threads, self._sweeper):
            thread.start()

    @property
    def waiting(self) -> int:
        """How many wait."""
        return len(self._items)

    def put(self, items: Sequence[Item]) -> None:
        """Have these wait too, in their order."""
        with self._lock:
            self._items.extend(items)
            worker = self._idle.pop() if self._idle else None
        if worker is not None:
            worker.woken.release()

    def take(self, taken: int) -> Item | None:
        """The next one for who has so many; ``None`` if none waits, or the rest is for instances that are idle."""
        with self._lock:
            share = -(-(taken + len(self._items)) // (1 + len(self._idle)))
            return self._items.popleft() if taken < share else None

    def put_back(self, item: Item) -> None:
        """Have what was taken last be the next one again."""
        with self._lock:
            self._items.appendleft(item)

    def wake_next(self) -> None:
        """Have an instance that is idle take what still waits; to be called by who has taken what it wants."""
        if self._items and self._idle:
            self.put(())

    def lend(self) -> Instance | None:
        """An instance that is idle, to be given back; ``None`` if there is none, or others wait."""
        with self._lock:
            if self._items or not self._idle:
                return None
            worker = self._idle.pop()
            self._lent[id(worker.instance)] = worker
        return worker.instance

    def give_back(self, instance: Instance) -> None:
        """Have its own thread use what was lent."""
        with self._lock:
            worker = self._lent.pop(id(instance))
            is_idle = not self._items
            if is_idle:
                self._idle.append(worker)
        if not is_idle:
            worker.woken.release()

    def close(self) -> None:
        """End the threads once nothing waits any more. Nothing may be put, and nothing is lent."""
        with self._lock:
            self._is_closing = True
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.woken.release()
        for thread in self._threads:
            thread.join()
        self._closed.set()
        self._sweeper.join()

    def _serve(self, worker: _Worker[Instance]) -> None:
        while True:
            with self._lock:
                is_idle = not self._items
                if is_idle:
                    if self._is_closing:
                        return
                    self._idle.append(worker)
            if is_idle:
                worker.woken.acquire()
            else:
                self._work(worker.instance)

    def _sweep(self) -> None:
        while not self._closed.wait(_SWEEP_S):
            if not self._items:
                continue
            now = time.monotonic()
            with self._lock:
                late = [each for each in self._items if self._deadline(each) <= now]
                for each in late:
                    self._items.remove(each)
            if late:
                self._refuse(late)
