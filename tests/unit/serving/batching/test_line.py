from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from intarsia.serving.batching import line
from intarsia.serving.batching.line import Line

PATIENCE_S = 120.0
FAR = float("inf")


class Desk:
    """Takes up to so many at once, notes who took what, and holds each instance until it is let go on."""

    def __init__(self, *instances: str, most: int = 100, is_open: bool = True) -> None:
        self.most = most
        self.taken: list[tuple[str, list[float]]] = []
        self.late: list[float] = []
        self.changed = threading.Condition()
        self.gate = threading.Event()
        if is_open:
            self.gate.set()
        self.line: Line[str, float] = Line("t", instances, lambda item: item, self._work, self._refuse)

    def _work(self, instance: str) -> None:
        taken: list[float] = []
        while len(taken) < self.most and (item := self.line.take(len(taken))) is not None:
            taken.append(item)
        with self.changed:
            self.taken.append((instance, taken))
            self.changed.notify_all()
        self.line.wake_next()
        assert self.gate.wait(PATIENCE_S)

    def _refuse(self, late: list[float]) -> None:
        with self.changed:
            self.late += late
            self.changed.notify_all()

    def await_taken(self, number: int) -> None:
        """Wait until so many items were taken."""
        with self.changed:
            assert self.changed.wait_for(lambda: sum(len(each) for _, each in self.taken) == number, PATIENCE_S)


@contextmanager
def open_desk(*instances: str, most: int = 100, is_open: bool = True) -> Iterator[Desk]:
    desk = Desk(*instances, most=most, is_open=is_open)
    try:
        yield desk
    finally:
        desk.gate.set()
        desk.line.close()


def test_what_waits_when_an_instance_becomes_free_is_taken_in_its_order() -> None:
    far = [time.monotonic() + 1000 + each for each in range(8)]
    with open_desk("a", is_open=False, most=5) as desk:
        desk.line.put(far[:1])
        desk.await_taken(1)
        desk.line.put(far[1:4])
        desk.line.put(far[4:])
        assert desk.line.waiting == 7
        desk.gate.set()
        desk.await_taken(8)
    assert [items for _, items in desk.taken] == [far[:1], far[1:6], far[6:]]


def test_instances_that_are_idle_share_what_came_together() -> None:
    with open_desk("a", "b", is_open=False) as desk:
        await_idle(desk, 2)
        desk.line.put([FAR] * 6)
        desk.await_taken(6)
    assert sorted(name for name, _ in desk.taken) == ["a", "b"]
    assert [len(items) for _, items in desk.taken] == [3, 3]


def await_idle(desk: Desk, number: int) -> None:
    pause = threading.Event()
    for _ in range(int(PATIENCE_S / 0.001)):
        if len(desk.line._idle) == number:
            return
        pause.wait(0.001)
    raise AssertionError("no instance becomes idle")


def test_what_was_put_back_is_the_next_one() -> None:
    first, second, third = (time.monotonic() + 1000 + each for each in range(3))
    with open_desk("a", is_open=False, most=1) as desk:
        desk.line.put([first])
        desk.await_taken(1)
        desk.line.put([second, third])
        assert desk.line.take(0) == second
        desk.line.put_back(second)
        assert [desk.line.take(0), desk.line.take(0), desk.line.take(0)] == [second, third, None]


def test_an_instance_is_lent_while_nothing_waits_and_its_own_thread_goes_on_with_what_came() -> None:
    with open_desk("a") as desk:
        await_idle(desk, 1)
        assert desk.line.lend() == "a"
        assert desk.line.lend() is None
        desk.line.put([FAR])
        assert desk.line.waiting == 1
        desk.line.give_back("a")
        desk.await_taken(1)
        await_idle(desk, 1)
        assert desk.line.lend() == "a"
        desk.line.give_back("a")
        assert desk.line.lend() == "a"
        desk.line.give_back("a")


def test_what_waited_too_long_is_refused_while_all_instances_are_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line, "_SWEEP_S", 0.001)
    past = time.monotonic() - 1
    with open_desk("a", is_open=False) as desk:
        desk.line.put([FAR])
        desk.await_taken(1)
        desk.line.put([FAR, past, past + 0.5])
        with desk.changed:
            assert desk.changed.wait_for(lambda: len(desk.late) == 2, PATIENCE_S)
        assert desk.late == [past, past + 0.5]
        assert desk.line.waiting == 1
        desk.gate.set()
        desk.await_taken(2)


def test_what_waits_is_taken_before_the_end() -> None:
    desk = Desk("a", "b", most=2, is_open=False)
    desk.line.put([FAR] * 20)
    closing = threading.Thread(target=desk.line.close)
    closing.start()
    desk.gate.set()
    closing.join(PATIENCE_S)
    assert not closing.is_alive()
    desk.await_taken(20)
