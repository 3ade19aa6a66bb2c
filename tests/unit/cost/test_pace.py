"""What slowed processors come to, and that full speed is known to all processes."""

from __future__ import annotations

import os
from itertools import chain, repeat

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from intarsia.cost import pace as module
from intarsia.cost.pace import Pace, at_full_speed, full_speed, is_even, overall

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


def test_the_shortest_probe_is_full_speed_for_every_process(monkeypatch: pytest.MonkeyPatch) -> None:
    count = len(os.sched_getaffinity(0)) * module.PROBES
    probes = chain(repeat(200, count), repeat(100, count), repeat(150, count))
    monkeypatch.setattr(module, "_probe_ns", lambda out: next(probes))
    first = Pace()
    assert first() == 1.0
    assert first() == 1.0
    assert first() == pytest.approx(1.5 / module.UNDISTURBED)
    monkeypatch.setattr(module, "_probe_ns", lambda out: 240)
    assert Pace()() == pytest.approx(2.4 / module.UNDISTURBED)


def test_a_damaged_file_is_written_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    file = module._file()
    file.write_text("nonsense")
    monkeypatch.setattr(module, "_probe_ns", lambda out: 100)
    assert Pace()() == 1.0
    assert float(file.read_text()) == 100


def test_real_probes_take_their_time() -> None:
    assert module._probe_ns(np.empty_like(module._MANY)) > 1000
    assert Pace()() >= 1.0


def test_a_turn_is_put_down_to_full_speed() -> None:
    assert at_full_speed(lambda: 30.0, full_speed) == 30.0
    assert at_full_speed(lambda: 30.0, lambda: 1.5) == 20.0


def test_a_turn_in_which_the_pace_changed_is_taken_again() -> None:
    paces, turns = iter([1.0, 2.0, 2.0, 2.0]), iter([30.0, 40.0])
    assert at_full_speed(lambda: next(turns), lambda: next(paces)) == 20.0


def test_on_a_restless_machine_the_middle_turn_counts() -> None:
    paces, turns = chain.from_iterable(repeat((1.0, 2.0))), iter([15.0, 45.0, 30.0])
    assert at_full_speed(lambda: next(turns), lambda: next(paces)) == 20.0
