"""Requests a second of a race, and how many times as many what ships answers."""

from __future__ import annotations

from benchmarks.paired_benchmark import CONTROL, Result
from benchmarks.throughput import figures, told


def test_requests_are_one_over_what_lies_between_answers() -> None:
    rounds = {"intarsia": (4.0,) * 20, "openvino": (5.0,) * 20, "openvino-queue": (8.0,) * 20, CONTROL: (4.0,) * 20}
    found = figures(Result(rounds_ms=rounds, set_sizes=(10, 10)))
    assert found["requests_per_second"] == {"intarsia": 250.0, "openvino": 200.0, "openvino-queue": 125.0}
    assert found["times_as_many"]["openvino"] == {"median": 1.25, "low": 1.25, "high": 1.25}
    assert found["times_as_many"]["openvino-queue"]["median"] == 2.0
    assert (found["void"], found["rounds"]) == (False, 20)
    assert told(found) == "requests/s: intarsia 250.0, openvino 200.0, openvino-queue 125.0"


def test_a_control_that_is_out_is_said() -> None:
    rounds = {"intarsia": (4.0,) * 20, CONTROL: (5.0,) * 20}
    assert told(figures(Result(rounds_ms=rounds, set_sizes=(20,)))).endswith("(void)")
