"""What is claimed on machines that disturb what is timed on them: almost never a difference that is not there."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from intarsia.cost.timing.paired_benchmark import BenchmarkEffort
from intarsia.cost.timing.verdict import CONTROL_NAME, Shown, Verdict
from tests.unit.cost.noise import MACHINES, Machine

TRIALS = 100
EFFORTS = {"full": BenchmarkEffort(), "short": BenchmarkEffort(processes=2, repeats=0)}
CLAIMS = (Shown.FASTER, Shown.SLOWER)


def races(
    monkeypatch: pytest.MonkeyPatch, machine: Machine, effort: BenchmarkEffort, mix_ms: float
) -> Iterator[Verdict]:
    """Races of an engine, a mix, and a third plan that takes as long as the engine."""
    for seed in range(TRIALS):
        yield machine.race(monkeypatch, {"engine": 10.0, "mix": mix_ms, "other": 10.0}, effort, seed)


@pytest.mark.parametrize("effort", EFFORTS)
@pytest.mark.parametrize("name", MACHINES)
def test_of_equal_plans_no_difference_is_claimed_in_ninety_five_of_a_hundred(
    monkeypatch: pytest.MonkeyPatch, name: str, effort: str
) -> None:
    found = list(races(monkeypatch, MACHINES[name], EFFORTS[effort], mix_ms=10.0))
    for plan in ("mix", "other"):
        assert sum(each.compared(plan, "engine") in CLAIMS for each in found) <= 0.05 * TRIALS


@pytest.mark.parametrize("effort", EFFORTS)
@pytest.mark.parametrize("name", MACHINES)
def test_of_equal_plans_hardly_any_is_said_to_be_far_faster(
    monkeypatch: pytest.MonkeyPatch, name: str, effort: str
) -> None:
    void = [each for each in races(monkeypatch, MACHINES[name], EFFORTS[effort], mix_ms=10.0) if each.is_void]
    claims = [each.compared(plan, "engine", far_counts=True) for each in void for plan in ("mix", "other")]
    assert sum(each in CLAIMS for each in claims) <= 0.02 * TRIALS


def test_a_gain_of_more_than_ten_percent_counts_where_it_lies_beyond_the_control() -> None:
    def found(control: float, mix: float, spread: float = 0.0) -> Shown:
        ms = {"engine": 10.0, CONTROL_NAME: control, "mix": mix}
        rounds = {name: tuple(each * (1 + spread * (-1) ** n) for n in range(20)) for name, each in ms.items()}
        rounds["engine"] = (10.0,) * 20
        verdict = Verdict(rounds_ms=rounds, set_sizes=(10, 10), profile_ms={}, errors={}, failed={}, is_void=True)
        assert verdict.compared("mix", "engine") is Shown.NOTHING
        return verdict.compared("mix", "engine", far_counts=True)

    assert found(10.4, 7.0) is Shown.FASTER
    assert found(10.4, 9.2) is Shown.NOTHING
    assert found(10.4, 13.0) is Shown.NOTHING
    assert found(11.5, 9.0) is Shown.NOTHING
    assert found(12.5, 7.0) is Shown.NOTHING
    assert found(12.5, 6.0) is Shown.FASTER
    assert found(20.0, 4.0) is Shown.NOTHING
    assert found(20.0, 3.0) is Shown.FASTER
    assert found(10.4, 7.0, spread=0.2) is Shown.NOTHING


@pytest.mark.parametrize("effort", EFFORTS)
@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize(("mix_ms", "untrue"), [(9.5, Shown.SLOWER), (10.5, Shown.FASTER)])
def test_a_difference_is_not_claimed_the_wrong_way_round(
    monkeypatch: pytest.MonkeyPatch, name: str, effort: str, mix_ms: float, untrue: Shown
) -> None:
    found = races(monkeypatch, MACHINES[name], EFFORTS[effort], mix_ms)
    assert sum(each.compared("mix", "engine") is untrue for each in found) <= 0.02 * TRIALS


@pytest.mark.parametrize("effort", EFFORTS)
@pytest.mark.parametrize(("mix_ms", "true"), [(10.0 / 1.05, Shown.FASTER), (10.5, Shown.SLOWER)])
def test_a_difference_of_five_percent_is_found_on_a_quiet_machine(
    monkeypatch: pytest.MonkeyPatch, effort: str, mix_ms: float, true: Shown
) -> None:
    found = races(monkeypatch, MACHINES["quiet"], EFFORTS[effort], mix_ms)
    assert sum(each.compared("mix", "engine") is true for each in found) >= 0.95 * TRIALS


@pytest.mark.parametrize("name", ["drifting", "two speeds", "bursts"])
def test_a_large_gain_is_found_on_a_restless_machine(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    found = races(monkeypatch, MACHINES[name], EFFORTS["full"], mix_ms=10.0 / 1.3)
    assert sum(each.compared("mix", "engine") is Shown.FASTER for each in found) >= 0.9 * TRIALS


def test_beside_endless_loops_most_races_are_void_and_show_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    found = list(races(monkeypatch, MACHINES["busy"], EFFORTS["full"], mix_ms=10.0 / 1.3))
    void = [each for each in found if each.is_void]
    assert len(void) >= 0.9 * TRIALS
    assert {each.compared("mix", "engine") for each in void} == {Shown.NOTHING}
