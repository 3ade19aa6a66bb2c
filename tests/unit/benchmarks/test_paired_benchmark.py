"""The statistic of a benchmark, who may leave it, and when it ends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path

import pytest

from benchmarks import paired_benchmark as module
from benchmarks.paired_benchmark import CONTROL, Contender, Effort, Result, footprints, race, screen
from intarsia.cost.timing.clock_calibration import full_speed


def result(sizes: tuple[int, ...] = (2, 1), **rounds: tuple[float, ...]) -> Result:
    return Result(rounds_ms=rounds, set_sizes=sizes)


def test_ratios_are_of_rounds_not_of_medians() -> None:
    found = result(a=(1.0, 10.0, 100.0), b=(2.0, 5.0, 50.0), control=(1.0, 10.0, 100.0))
    assert found.ratio("b", "a").median == 0.5
    assert found.set_ratios("b", "a") == (1.25, 0.5)
    assert (found.control, found.is_void) == (1.0, False)


def test_milliseconds_and_ratios_agree_whichever_rounds_a_contender_ran() -> None:
    """The second one left before the machine got slower."""
    found = result(a=(1.0, 1.0, 4.0, 4.0, 4.0), b=(2.0, 2.0), control=(1.0, 1.0, 4.0, 4.0, 4.0))
    assert (found.median_ms("a"), found.median_ms("b")) == (4.0, 8.0)


@pytest.mark.parametrize(("control", "is_void"), [(1.01, False), (1.03, True), (0.97, True)])
def test_a_race_is_void_if_one_differs_from_itself(control: float, is_void: bool) -> None:
    assert result(a=(1.0,) * 3, control=(control,) * 3).is_void is is_void


def test_who_left_is_compared_over_its_own_rounds_and_is_not_the_fastest() -> None:
    found = result(a=(4.0, 4.0, 8.0), gone=(1.0, 1.0), stayed=(5.0, 5.0, 5.0), control=(4.0,) * 3)
    assert found.ratio("gone", "a").median == 0.25
    assert found.fastest(["gone", "stayed"]) == "stayed"
    assert found.fastest([]) is None


class FakeProcess:
    def __init__(self, times: Iterator[float], is_ready: bool) -> None:
        self._times = times
        self._is_ready = is_ready

    def wait_until_ready(self, name: str) -> None:
        if not self._is_ready:
            raise RuntimeError(f"{name} did not start")

    def times(self, warm: int, runs: int) -> list[float]:
        return [next(self._times)] * runs

    def outputs(self, file: Path) -> tuple[()]:
        return ()

    def footprint(self) -> dict[str, float]:
        return {"cold_ms": next(self._times), "peak_mb": 64.0}


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Who was started, in order; each takes as many milliseconds as its kind says, by turns."""
    names: list[str] = []

    @contextmanager
    def start(contender: Contender, feeds: Path, threads: int) -> Iterator[FakeProcess]:
        names.append(contender.name)
        yield FakeProcess(cycle(map(float, contender.kind.split(","))), contender.kind != "0")

    monkeypatch.setattr(module, "_started", start)
    monkeypatch.setattr(module, "SETTLE_S", 0.0)
    monkeypatch.setattr(module, "ClockProbe", lambda: full_speed)
    return names


def contenders(kinds: Mapping[str, str]) -> list[Contender]:
    return [Contender(name=name, kind=kind, model=Path("model")) for name, kind in kinds.items()]


def test_every_round_times_everyone_and_the_first_twice(started: list[str]) -> None:
    found = race(contenders({"product": "50", "engine": "100"}), Path("feeds"), 2)
    assert found.set_sizes == (10, 10, 10)
    assert found.rounds_ms == {"product": (50.0,) * 30, "engine": (100.0,) * 30, CONTROL: (50.0,) * 30}
    assert started == ["product", "engine", "product"] * 3


def test_who_is_beaten_beyond_doubt_leaves_if_it_may(started: list[str]) -> None:
    kinds = {"product": "50", "default": "300", "fast": "60", "near": "61", "slow": "90"}
    found = race(contenders(kinds), Path("feeds"), 2, may_leave=["fast", "near", "slow", "absent"])
    assert {name: len(times) for name, times in found.rounds_ms.items()} == {
        **dict.fromkeys(("product", "default", "fast", "near", CONTROL), 30),
        "slow": 10,
    }


def test_sets_that_are_added_are_between_those_in_doubt(started: list[str]) -> None:
    kinds = {"product": "50", "default": "300", "engine": "45,55,48,60"}
    effort = Effort(more_sets=2, half_width=0.01)
    found = race(contenders(kinds), Path("feeds"), 2, effort=effort, may_leave=["engine"])
    assert {name: len(times) for name, times in found.rounds_ms.items()} == {
        **dict.fromkeys(("product", "engine", CONTROL), 50),
        "default": 30,
    }
    assert (len(found.set_ratios("product", "engine")), len(found.set_ratios("default", "product"))) == (5, 3)


@pytest.mark.parametrize(
    ("engine", "least", "sets"),
    [
        ("45,55,48,60", 1.0, 5),  # either might be faster
        ("45,55,48,60", 0.85, 3),  # good enough throughout
        ("60,70,65,75", 1.0, 3),  # slower throughout
        ("60,70,65,75", 1.5, 5),  # and yet not by as much as it should be
        ("50", 1.0, 3),
        ("45", 1.0, 3),  # faster, and sure
    ],
)
def test_a_result_in_doubt_makes_more_sets(started: list[str], engine: str, least: float, sets: int) -> None:
    effort = Effort(more_sets=2, half_width=0.01, least=least)
    found = race(contenders({"product": "50", "engine": engine}), Path("feeds"), 2, effort=effort, may_leave=["engine"])
    assert len(found.set_sizes) == sets


def test_footprints_are_medians_over_fresh_processes_by_turns(started: list[str]) -> None:
    found = footprints(contenders({"product": "50", "engine": "100"}), Path("feeds"), 2, starts=3)
    assert found == {"product": {"cold_ms": 50.0, "peak_mb": 64.0}, "engine": {"cold_ms": 100.0, "peak_mb": 64.0}}
    assert started == ["product", "engine"] * 3


def test_a_contender_that_does_not_start_ends_a_race_but_no_first_look(started: list[str], tmp_path: Path) -> None:
    several = contenders({"product": "50", "dead": "0"})
    with pytest.raises(RuntimeError, match="dead did not start"):
        race(several, Path("feeds"), 2)
    assert {name: look.ms for name, look in screen(several, Path("feeds"), 2, tmp_path).items()} == {"product": 50.0}
