"""What ships is what was shown to be faster, and the sentence says why."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from intarsia.cost.timing.verdict import CONTROL_NAME, Verdict
from intarsia.deploy.candidates import Plan, Stage
from intarsia.deploy.choice import choose
from intarsia.deploy.splits import Run, Split
from intarsia.errors import BackendError


def plan(name: str, *machines: str) -> Plan:
    stages = [Stage(machine=each, nodes=("n",), artifact=Path(each), report={"latency_ms": None}) for each in machines]
    return Plan(name=name, stages=tuple(stages))


A, B, DIVIDED = plan("a", "a"), plan("b", "b"), plan("divided", "a", "b")
SPLIT = Split(
    runs=(Run(machine="a", start=0, end=1), Run(machine="b", start=1, end=2)), predicted_ms=310.0, link_ms=270.0
)


def verdict(ms: dict[str, float], *, control: float = 1.0, failed: Sequence[str] = ()) -> Verdict:
    rounds = {name: tuple(each * (1 + 0.001 * (number % 3)) for number in range(18)) for name, each in ms.items()}
    first = next(iter(rounds), None)
    if first is not None:
        rounds = {first: rounds[first], CONTROL_NAME: tuple(each / control for each in rounds[first]), **rounds}
    found = Verdict(
        rounds_ms=rounds,
        set_sizes=(6, 6, 6) if rounds else (),
        profile_ms={},
        errors={},
        failed=dict.fromkeys(failed, ("run", "it broke")),
        is_void=abs(control - 1) > 0.02,
    )
    assert found.is_void or not rounds or found.control_holds
    return found


def test_a_division_that_is_shown_to_be_faster_ships() -> None:
    chosen, why = choose(A, [DIVIDED, B], [SPLIT], 40.0, verdict({"a": 40.0, "divided": 20.0, "b": 60.0}))
    assert chosen is DIVIDED
    assert why == "2 stages, on a and then b, are 2.00 times as fast as a alone (2.00 to 2.00)"


def test_another_machine_that_is_shown_to_be_faster_ships() -> None:
    chosen, why = choose(A, [B], [], 40.0, verdict({"a": 40.0, "b": 30.0}))
    assert chosen is B
    assert why.startswith("b alone is 1.33 times as fast as a alone")


@pytest.mark.parametrize("ms", [40.0, 40.1, 60.0])
def test_what_is_not_shown_to_be_faster_does_not_ship(ms: float) -> None:
    chosen, why = choose(A, [DIVIDED], [SPLIT], 40.0, verdict({"a": 40.0, "divided": ms}))
    assert chosen is A
    assert why.startswith("a alone: no division was shown to be faster; 2 stages, on a and then b, are ")


def test_a_void_benchmark_shows_nothing() -> None:
    chosen, why = choose(A, [DIVIDED], [SPLIT], 40.0, verdict({"a": 40.0, "divided": 20.0}, control=1.6))
    assert chosen is A
    assert "the benchmark is void" in why


def test_a_large_gain_ships_though_the_control_is_a_little_out() -> None:
    found = verdict({"a": 40.0, "divided": 30.0}, control=1.04)
    assert found.is_void
    assert choose(A, [DIVIDED], [SPLIT], 40.0, found)[0] is DIVIDED
    small = verdict({"a": 40.0, "divided": 37.0}, control=1.04)
    assert choose(A, [DIVIDED], [SPLIT], 40.0, small)[0] is A


def test_a_slow_link_is_the_reason() -> None:
    chosen, why = choose(A, [B], [SPLIT], 40.0, verdict({"a": 40.0, "b": 60.0}))
    assert chosen is A
    assert why == (
        "a alone: the best division would take about 310 ms a request, 270 ms of it on the links, and the whole model "
        "takes about 40 ms there"
    )


def test_without_places_or_other_machines() -> None:
    assert "no place" in choose(A, [B], [], 40.0, verdict({"a": 40.0, "b": 60.0}))[1]
    assert choose(A, [], [], 40.0, None) == (A, "a alone: no other machine runs the whole model")


def test_what_fails_makes_way() -> None:
    assert choose(A, [B], [], 40.0, verdict({"b": 60.0}, failed=["a"])) == (B, "b: a failed (it broke)")
    with pytest.raises(BackendError, match="it broke"):
        choose(A, [B], [], 40.0, verdict({}, failed=["a", "b"]))
