"""Instances that are called at one time: each by a thread of its own, and all until the last has done its share."""

from __future__ import annotations

import threading

import pytest

from intarsia.cost.timing.clients import Clients


class Counted:
    """A loaded plan that counts its calls, and who makes them."""

    def __init__(self, meet: threading.Barrier | None = None) -> None:
        self.callers: list[int] = []
        self._meet = meet

    def call(self) -> None:
        if self._meet is not None and not self.callers:
            self._meet.wait()  # nobody comes here alone: a test that hangs for a minute would say so
        self.callers.append(threading.get_ident())


class Broken(Counted):
    """A loaded plan that fails at its third call."""

    def call(self) -> None:
        super().call()
        if len(self.callers) == 3:
            raise ValueError("on purpose")


@pytest.mark.parametrize("count", [1, 2, 4])
def test_every_instance_is_called_at_one_time(count: int) -> None:
    meet = threading.Barrier(count, timeout=60)
    instances = [Counted(meet) for _ in range(count)]
    with Clients(instances) as clients:
        burst = clients.burst(5)
    assert all(len(each.callers) >= 5 for each in instances)
    assert len(burst.calls_ms) == sum(len(each.callers) for each in instances)
    assert len({each.callers[0] for each in instances}) == count
    assert burst.between_ms > 0


def test_what_lies_between_answers_is_the_share_of_all_instances() -> None:
    with Clients([Counted() for _ in range(3)]) as clients:
        burst = clients.burst(50)
    # Three clients that are never idle: what one call takes is the time in which all three answer, about.
    assert burst.between_ms < max(burst.calls_ms) + sum(burst.calls_ms)


def test_one_that_fails_ends_all() -> None:
    with Clients([Counted(), Broken()]) as clients, pytest.raises(ValueError, match="on purpose"):
        clients.burst(1_000_000_000)
