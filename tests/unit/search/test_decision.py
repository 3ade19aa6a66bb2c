"""A mix ships only if it is faster beyond the noise."""

from __future__ import annotations

from dataclasses import replace

import pytest

from intarsia.config import RunSettings
from intarsia.cost.footprint import Footprint
from intarsia.cost.memory import Memory
from intarsia.cost.verdict import CONTROL_NAME, Verdict
from intarsia.errors import ExecutionError
from intarsia.partition import Partition
from intarsia.search.choice import choose
from intarsia.search.decision import finalists
from intarsia.search.problem import Candidate
from intarsia.target import Target


def candidate(name: str, ms: float) -> Candidate:
    partitions = (Partition(target=Target("onnxruntime"), nodes=("n0",)),)
    return Candidate(name=name, label=name, partitions=partitions, settings=RunSettings(threads=2), predicted_ms=(ms,))


SINGLE, MIX = candidate("onnxruntime", 10.0), candidate("collage", 8.0)


def footprint(peak: int) -> Footprint:
    return Footprint(cold_s=(0.5,), memory=(Memory(peak=peak, steady=peak // 2),))


def verdict(
    mix: list[float], single: list[float], *, is_void: bool = False, peaks: tuple[int, int] = (100, 100)
) -> Verdict:
    rounds = {"onnxruntime": tuple(single), "collage": tuple(mix), CONTROL_NAME: tuple(single)}
    sizes = (len(mix) // 3,) * 3
    found = Verdict(rounds_ms=rounds, set_sizes=sizes, profile_ms={}, errors={}, failed={}, is_void=is_void)
    return replace(found, footprints={"collage": footprint(peaks[0]), "onnxruntime": footprint(peaks[1])})


def test_a_clear_win_ships() -> None:
    chosen, reason = choose([MIX], SINGLE, verdict([8.0] * 30, [10.0] * 30))
    assert chosen is MIX
    assert "1.25 times" in reason


def test_a_win_inside_the_noise_does_not() -> None:
    mix = [9.0, 11.0] * 14 + [9.9, 9.9]
    chosen, reason = choose([MIX], SINGLE, verdict(mix, [10.0] * 30))
    assert chosen is SINGLE
    assert "no gain" in reason


def test_a_win_in_two_of_three_sets_of_processes_does_not() -> None:
    chosen, _ = choose([MIX], SINGLE, verdict([8.0] * 20 + [10.5] * 10, [10.0] * 30))
    assert chosen is SINGLE


def test_a_void_duel_shows_nothing() -> None:
    chosen, reason = choose([MIX], SINGLE, verdict([8.0] * 30, [10.0] * 30, is_void=True))
    assert chosen is SINGLE
    assert "noisy" in reason


def test_without_a_single_engine_the_mix_ships() -> None:
    chosen, reason = choose([MIX], None, verdict([8.0] * 30, [10.0] * 30))
    assert chosen is MIX
    assert "no engine alone" in reason


def test_if_nothing_ran_the_failure_is_raised() -> None:
    failed = {"collage": ("crash", "SIGSEGV")}
    nothing = Verdict(rounds_ms={}, set_sizes=(), profile_ms={}, errors={}, failed=failed, is_void=True)
    with pytest.raises(ExecutionError, match="SIGSEGV"):
        choose([MIX], None, nothing)


def test_of_the_best_engine_all_close_settings_race_and_of_another_its_best() -> None:
    several = [("a free", "a", 10.0), ("b free", "b", 10.1), ("b call", "b", 10.2), ("a call", "a", 10.3)]
    singles = [replace(candidate(name, ms), label=label) for name, label, ms in several]
    assert [c.name for c in finalists(singles, [])] == ["a free", "b free", "a call"]


def test_finalists_are_the_close_singles_and_the_best_mixes() -> None:
    singles = [candidate("a", 12.0), candidate("b", 10.0), candidate("c", 10.5), candidate("d", 10.9)]
    mixes = [candidate("collage", 9.0), candidate("collage-2", 9.5), candidate("collage-3", 9.6)]
    assert [c.name for c in finalists(singles, mixes)] == ["b", "c", "d", "collage", "collage-2"]
    assert [c.name for c in finalists([], mixes)] == ["collage", "collage-2"]
