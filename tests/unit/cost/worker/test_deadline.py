"""One clock for the whole command, on which waiting does not count."""

from __future__ import annotations

import math
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intarsia.cost.worker.deadline import NO_END, Deadline, process_age


class Clock:
    """Moved by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_what_was_spent_before_counts() -> None:
    clock = Clock()
    deadline = Deadline(10.0, start=97.0, clock=clock)
    assert (deadline.spent, deadline.left) == (3.0, 7.0)
    clock.now += 8.0
    assert deadline.left == -1.0
    assert deadline.is_over()
    assert deadline.is_over(0.5)


@given(st.lists(st.tuples(st.booleans(), st.floats(0.0, 100.0)), max_size=20))
def test_waiting_does_not_count(steps: list[tuple[bool, float]]) -> None:
    clock = Clock()
    deadline = Deadline(50.0, clock=clock)
    part = deadline.part(20.0)
    for is_waiting, seconds in steps:
        if is_waiting:
            with deadline.waiting(), deadline.waiting():
                before = deadline.spent
                clock.now += seconds
                assert deadline.spent == before
        else:
            clock.now += seconds
    worked = sum(seconds for is_waiting, seconds in steps if not is_waiting)
    assert deadline.spent == pytest.approx(worked)
    assert part.left == pytest.approx(20.0 - worked)


def test_a_part_ends_no_later_than_the_whole() -> None:
    assert Deadline(5.0, clock=Clock()).part(20.0).seconds == 5.0
    assert math.isinf(NO_END.part(math.inf).seconds)


def test_it_can_be_shortened_and_never_lengthened_so() -> None:
    clock = Clock()
    whole = Deadline(10.0, clock=clock)
    part = whole.part(9.0)
    clock.now += 2.0
    part.shorten(8.0)
    assert (part.left, whole.left) == (7.0, 8.0)
    part.shorten(3.0)
    assert (part.left, whole.left) == (3.0, 8.0)


def test_more_time_is_taken_only_with_a_reason() -> None:
    deadline = Deadline(5.0, clock=Clock())
    deadline.announce(4.0, "nothing")
    assert (deadline.seconds, deadline.because) == (5.0, "")
    deadline.announce(12.0, "the model is large")
    assert (deadline.stated, deadline.seconds, deadline.because) == (5.0, 12.0, "the model is large")


def test_a_share_is_what_was_stated_for_it_and_has_the_time_that_there_is() -> None:
    clock = Clock()
    share = Deadline(60.0, clock=clock).share(12.0, 17.0)
    clock.now += 2.0
    assert (share.stated, share.seconds, share.left) == (17.0, 12.0, 10.0)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says when a process began")
def test_a_process_knows_its_age() -> None:
    script = "import time; time.sleep(0.2); from intarsia.cost.worker.deadline import process_age; print(process_age())"
    told = float(subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout)
    assert told >= 0.2
    assert process_age() >= 0.0
