"""How two servers are compared: by the rounds that both ran in, with a control."""

from __future__ import annotations

from benchmarks.loopback_load import Turn
from benchmarks.other_server import NAME
from benchmarks.paired_benchmark import CONTROL
from benchmarks.serving_beside import figures, rounds
from benchmarks.serving_tables import OWN


def turn(per_second: float) -> Turn:
    return Turn(per_second=per_second, p50_ms=1e3 / per_second, p99_ms=2e3 / per_second, cores_at_work=0.1)


def test_the_order_of_the_turns_changes_from_round_to_round() -> None:
    order: list[str] = []

    def ask(name: str) -> Turn:
        order.append(name)
        return turn(1.0)

    found = rounds({OWN: lambda: ask(OWN), NAME: lambda: ask(NAME)}, 2)
    assert order == [OWN, NAME, NAME, OWN]
    assert [len(each) for each in found.values()] == [2, 2]


def test_what_a_slow_round_takes_from_both_is_no_difference() -> None:
    own = [turn(each) for each in (1000, 500, 1000)]
    found = figures({OWN: own, NAME: [turn(each) for each in (250, 125, 250)], CONTROL: own})
    assert found["times_as_many"] == {"median": 4.0, "low": 4.0, "high": 4.0}
    assert found["per_second"][OWN] == {"median": 1000.0, "low": 500.0, "high": 1000.0}
    assert found["p99_ms"] == {OWN: 2.0, NAME: 8.0}
    assert (found["control"], found["void"]) == (1.0, False)


def test_a_control_that_is_out_makes_it_void() -> None:
    own = [turn(1000)] * 3
    assert figures({OWN: own, NAME: own, CONTROL: [turn(1050)] * 3})["void"]
