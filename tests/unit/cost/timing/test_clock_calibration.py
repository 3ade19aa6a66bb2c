"""What slowed processors come to, and that full speed is known to all processes."""

from __future__ import annotations

from itertools import chain, repeat

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from intarsia.cost.thresholds import CALIBRATION
from intarsia.cost.timing import clock_calibration as module
from intarsia.cost.timing.clock_calibration import ClockProbe, at_full_speed, full_speed, is_even, overall

slowdowns = st.lists(st.floats(1, 10), min_size=1, max_size=8)


def test_one_slow_processor_is_felt_less_than_two() -> None:
    assert overall([1.0, 1.0]) == 1.0
    assert overall([1.0, 1.85]) == pytest.approx(1.58, abs=0.01)
    assert overall([1.85, 1.85]) == pytest.approx(1.85)


@given(slowdowns)
def test_all_together_are_between_the_fastest_and_the_slowest(each: list[float]) -> None:
    assert min(each) <= overall(each) * (1 + 1e-9)
    assert overall(each) <= max(each) * (1 + 1e-9)


def test_even_means_within_the_noise_of_a_probe() -> None:
    assert is_even([1.0])
    assert is_even([1.0, 1.1, 1.0])
    assert not is_even([1.0, 1.6])
    assert full_speed() == 1.0


def probes(monkeypatch: pytest.MonkeyPatch, *levels: tuple[int, float]) -> None:
    """So many probes of so many nanoseconds each, then the last ones forever."""
    times = chain(*(repeat(ns, count * CALIBRATION.probes) for count, ns in levels), repeat(levels[-1][1]))
    monkeypatch.setattr(module, "_probe_ns", lambda out: next(times))


def test_full_speed_is_known_to_every_process(monkeypatch: pytest.MonkeyPatch) -> None:
    probes(monkeypatch, (1, 100))
    assert ClockProbe()() == 1.0
    assert float(module.probe_file().read_text()) == 100
    probes(monkeypatch, (1, 240))
    assert ClockProbe()() == pytest.approx(2.4 / CALIBRATION.undisturbed)


def test_one_lucky_probe_is_not_full_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    probes(monkeypatch, (4, 50), (1, 100))
    ClockProbe()()
    assert float(module.probe_file().read_text()) == 100


def test_a_machine_that_gets_quiet_shows_what_it_can(monkeypatch: pytest.MonkeyPatch) -> None:
    probes(monkeypatch, (1, 200))
    pace = ClockProbe()
    assert pace() == 1.0
    probes(monkeypatch, (1, 100))
    assert pace() == 1.0
    for _ in range(CALIBRATION.recent):
        pace()
    probes(monkeypatch, (1, 200))
    assert pace() == pytest.approx(2.0 / CALIBRATION.undisturbed)
    assert float(module.probe_file().read_text()) == 100


def test_a_damaged_file_is_written_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    file = module.probe_file()
    file.write_text("nonsense")
    probes(monkeypatch, (1, 100))
    assert ClockProbe()() == 1.0
    assert float(file.read_text()) == 100


def test_real_probes_take_their_time() -> None:
    assert module._probe_ns(np.empty_like(module._MANY)) > 1000
    assert ClockProbe()() >= 1.0


def test_a_turn_is_put_down_to_full_speed() -> None:
    assert at_full_speed(lambda: 30.0, full_speed) == 30.0
    assert at_full_speed(lambda: 30.0, lambda: 1.5) == 20.0


def test_a_turn_in_which_the_pace_changed_is_taken_again() -> None:
    paces, turns = iter([1.0, 2.0, 2.0, 2.0]), iter([30.0, 40.0])
    assert at_full_speed(lambda: next(turns), lambda: next(paces)) == 20.0


def test_on_a_restless_machine_the_middle_turn_counts() -> None:
    paces, turns = chain.from_iterable(repeat((1.0, 2.0))), iter([15.0, 45.0, 30.0])
    assert at_full_speed(lambda: next(turns), lambda: next(paces)) == 20.0
