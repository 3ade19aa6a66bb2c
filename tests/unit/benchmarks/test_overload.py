"""What is asked in an open loop, and what is said to hold of what came of it."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from benchmarks.open_loop import ANSWERED, REFUSED, REFUSED_BARELY, WRONG, asking, judged, moments, refusal
from benchmarks.overload import growth, holds

RIGHT = [np.arange(4, dtype=np.float32)]
GOOD: dict[str, Any] = {
    "overload": {
        "ends": {"a": {ANSWERED: 5, REFUSED: 1}, "b": {ANSWERED: 5, REFUSED: 1}},
        "failed": 0,
        "answered_ms": {"p99": 200.0},
        "limit_ms": 1000.0,
        "growth": 0.01,
    },
    "sigterm": {
        "exit_code": 0,
        "unanswered": [0],
        "admitted_and_answered": 7,
        "answers_that_came": 7,
        "ends": {"a": {ANSWERED: 7, "cut off": 2}},
    },
    "reloads": {"failed": 0, "ends": {"a": {ANSWERED: 9}}},
}


def test_moments_come_at_the_rate() -> None:
    rate = 100.0
    due = moments(lambda: rate, seed=3)
    times = [next(due) for _ in range(10_000)]
    assert times == sorted(times)
    assert times[-1] == pytest.approx(100.0, rel=0.05)
    rate = 1000.0
    later = [next(due) for _ in range(10_000)]
    assert later[-1] - times[-1] == pytest.approx(10.0, rel=0.05)


def test_each_door_is_asked_until_the_block_ends() -> None:
    with asking({"a": lambda: lambda: ANSWERED, "b": lambda: lambda: REFUSED}, 400.0) as found:
        while {each.door for each in found.outcomes} != {"a", "b"}:
            pass
    assert found.of(ANSWERED) == sum(each.door == "a" for each in found.outcomes)
    assert all(each.ms >= each.late_ms >= 0 for each in found.outcomes)


def test_an_answer_is_right_or_wrong() -> None:
    assert judged(RIGHT[0].tobytes(), RIGHT) == ANSWERED
    assert judged((RIGHT[0] + 1).tobytes(), RIGHT) == WRONG
    assert judged(b"", RIGHT) == WRONG


def test_a_refusal_names_a_time_to_come_again() -> None:
    assert refusal(True, "503", "2") == REFUSED
    assert refusal(True, "503", None) == refusal(True, "503", b"0") == REFUSED_BARELY
    assert refusal(False, "500", "2") == "500"


def test_growth_is_of_what_settled() -> None:
    assert growth([*range(50, 100, 5), *[100.0] * 80, *[104.0] * 10], settled=10) == pytest.approx(0.04)


BREACHES: list[Callable[[Any], Any]] = [
    lambda found: found["overload"]["ends"]["a"].update({WRONG: 1}),
    lambda found: found["overload"]["ends"]["b"].pop(REFUSED),
    lambda found: found["overload"].update(failed=1),
    lambda found: found["overload"]["answered_ms"].update(p99=1001.0),
    lambda found: found["overload"].update(growth=0.06),
    lambda found: found["sigterm"].update(answers_that_came=6),
    lambda found: found["reloads"]["ends"]["a"].update({REFUSED: 1}),
]


def test_all_holds_where_nothing_is_lost() -> None:
    assert all(holds(GOOD).values())
    assert len(holds(GOOD)) == len(BREACHES)


@pytest.mark.parametrize("place", range(len(BREACHES)))
def test_each_breach_is_said(place: int) -> None:
    found = copy.deepcopy(GOOD)
    BREACHES[place](found)
    assert [*holds(found).values()].count(False) == 1
    assert not [*holds(found).values()][place]
