"""A mix ships only if it is faster beyond the noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from intarsia.backends.contract.failures import Cause
from intarsia.config import RunSettings
from intarsia.config.precision import Precision, Scheme
from intarsia.cost.timing.footprint import Footprint
from intarsia.cost.timing.memory import Memory
from intarsia.cost.timing.paired_benchmark import Contender
from intarsia.cost.timing.verdict import CONTROL_NAME, Verdict
from intarsia.cost.worker.deadline import NO_END, Deadline
from intarsia.cost.worker.progress import unwatched
from intarsia.errors import BackendCrashError
from intarsia.partitioning import Partition
from intarsia.planning.problem import Candidate
from intarsia.search.decision import decide as module
from intarsia.search.decision import final_benchmark
from intarsia.search.decision.choice import choose
from intarsia.search.decision.conclusion import Conclusion
from intarsia.search.decision.contenders import finalists, side_by_side
from intarsia.search.decision.decide import decide
from intarsia.search.decision.decision import NO_BENCHMARK
from intarsia.search.decision.final_benchmark import decides
from intarsia.target import Target
from tests.unit.search.fakes import FakeMeasurer, chain_problem


def candidate(name: str, ms: float) -> Candidate:
    partitions = (Partition(target=Target("onnxruntime"), nodes=("n0",)),)
    return Candidate(name=name, label=name, partitions=partitions, settings=RunSettings(threads=2), predicted_ms=(ms,))


SINGLE, MIX = candidate("onnxruntime", 10.0), candidate("collage", 8.0)


def footprint(peak: int) -> Footprint:
    return Footprint(cold_s=(0.5,), memory=(Memory(peak=peak, steady=peak // 2),))


def verdict(
    mix: list[float],
    single: list[float],
    *,
    is_void: bool = False,
    peaks: tuple[int, int] = (100, 100),
    control: list[float] | None = None,
) -> Verdict:
    rounds = {"onnxruntime": tuple(single), "collage": tuple(mix), CONTROL_NAME: tuple(control or single)}
    sizes = (len(mix) // 3,) * 3
    found = Verdict(rounds_ms=rounds, set_sizes=sizes, profile_ms={}, errors={}, failed={}, is_void=is_void)
    return replace(found, footprints={"collage": footprint(peaks[0]), "onnxruntime": footprint(peaks[1])})


def test_a_clear_win_ships() -> None:
    choice = choose([MIX], SINGLE, verdict([8.0] * 30, [10.0] * 30))
    assert (choice.plan, choice.conclusion) == (MIX, Conclusion.WON)
    assert choice.reason == "the mix is 1.25 times as fast (1.25 to 1.25)"


def test_a_win_inside_the_noise_does_not() -> None:
    mix = [9.0, 11.0] * 14 + [9.9, 9.9]
    choice = choose([MIX], SINGLE, verdict(mix, [10.0] * 30))
    assert (choice.plan, choice.conclusion) == (SINGLE, Conclusion.NO_DIFFERENCE)
    assert choice.reason == "no difference shown between the best mix and it (0.91 to 1.11 times as fast)"


def test_a_win_in_two_of_three_sets_of_processes_does_not() -> None:
    choice = choose([MIX], SINGLE, verdict([8.0] * 20 + [10.5] * 10, [10.0] * 30))
    assert (choice.plan, choice.conclusion) == (SINGLE, Conclusion.NO_DIFFERENCE)
    told = "0.95 to 1.25 times as fast"
    assert choice.reason == f"no difference shown between the best mix and it ({told})"


def test_an_interval_on_one_side_of_1_that_shows_nothing_says_why() -> None:
    near = choose([MIX], SINGLE, verdict([10.2, 10.5] * 15, [10.0] * 30, control=[9.4, 10.6] * 15))
    why = "0.95 to 0.98 times as fast, but the same plan was 0.94 to 1.06 times as fast as itself"
    assert near.reason == f"no difference shown between the best mix and it ({why})"
    uneven = choose([MIX], SINGLE, verdict([9.0] * 60 + [10.5] * 16 + [9.0] * 14, [10.0] * 90))
    why = "1.11 to 1.11 times as fast, but not in every set of processes"
    assert uneven.reason == f"no difference shown between the best mix and it ({why})"


def test_a_void_benchmark_shows_nothing() -> None:
    control = [13.0] * 10 + [10.0] * 20
    choice = choose([MIX], SINGLE, verdict([8.0] * 30, [10.0] * 30, is_void=True, control=control))
    assert (choice.plan, choice.conclusion) == (SINGLE, Conclusion.VOID)
    told = "the machine was too noisy to tell whether a mix is faster (the same plan against itself: 0.77 to 1.00)"
    assert choice.reason == told


def test_a_void_paired_benchmark_in_which_no_mix_seemed_faster_says_so() -> None:
    control = [13.0] * 10 + [10.0] * 20
    choice = choose([MIX], SINGLE, verdict([12.5] * 30, [10.0] * 30, is_void=True, control=control))
    told = "no mix seemed faster (0.80 to 0.80) on a noisy machine (the same plan against itself: 0.77 to 1.00)"
    assert (choice.conclusion, choice.reason) == (Conclusion.VOID, told)


def test_a_paired_benchmark_that_did_not_end_is_no_matter_of_noise() -> None:
    choice = choose([MIX], SINGLE, verdict([8.0] * 30, [10.0] * 30, is_void=True))
    told = "the paired benchmark did not come to its end, so no mix was shown to be faster"
    assert (choice.conclusion, choice.reason) == (Conclusion.VOID, told)


def test_without_a_single_engine_the_mix_ships() -> None:
    choice = choose([MIX], None, verdict([8.0] * 30, [10.0] * 30))
    assert (choice.plan, choice.conclusion) == (MIX, Conclusion.NO_SINGLE)
    assert "no engine alone" in choice.reason


def test_if_nothing_ran_the_failure_is_raised() -> None:
    failed = {"collage": ("crash", "SIGSEGV")}
    nothing = Verdict(rounds_ms={}, set_sizes=(), profile_ms={}, errors={}, failed=failed, is_void=True)
    with pytest.raises(BackendCrashError, match="SIGSEGV"):
        choose([MIX], None, nothing)


def test_of_the_best_engine_all_close_settings_race_and_of_another_its_best() -> None:
    several = [("a free", "a", 10.0), ("b free", "b", 10.1), ("b call", "b", 10.15), ("a call", "a", 10.19)]
    singles = [replace(candidate(name, ms), label=label) for name, label, ms in [*several, ("a all", "a", 10.21)]]
    assert [c.name for c in finalists(singles, [])] == ["a free", "b free", "a call"]


def test_finalists_are_the_close_singles_and_the_best_mixes() -> None:
    singles = [candidate("a", 12.0), candidate("b", 10.0), candidate("c", 10.5), candidate("d", 10.9)]
    mixes = [candidate("collage", 9.0), candidate("collage-2", 9.5), candidate("collage-3", 9.6)]
    assert [c.name for c in finalists(singles, mixes)] == ["b", "c", "d", "collage", "collage-2"]
    assert [c.name for c in finalists([], mixes)] == ["collage", "collage-2"]


class Track:
    """Races on which each plan takes what it takes that day, whatever it took when it was tuned."""

    def __init__(self, ms: Mapping[str, float], failing: Sequence[str] = ()) -> None:
        self.ms = ms
        self.failing = failing
        self.fields: list[list[str]] = []

    def __call__(self, field: Sequence[Candidate]) -> Verdict:
        self.fields.append([each.name for each in field])
        rounds = {each.name: (self.ms[each.name],) * 6 for each in field if each.name not in self.failing}
        failed = {each.name: ("memory", "too big") for each in field if each.name in self.failing}
        first = next(iter(rounds.values()), ())
        return Verdict(
            rounds_ms=rounds | ({CONTROL_NAME: first} if rounds else {}),
            set_sizes=(3, 3) if rounds else (),
            profile_ms={},
            errors={},
            failed=failed,
            is_void=False,
            footprints={each.name: footprint(100) for each in field},
        )


def test_an_engine_tuned_in_a_bad_moment_races_if_its_figure_is_still_better() -> None:
    """Winograd was tuned at 14 ms and ONNX Runtime at 19; in the paired benchmark Winograd takes 33."""
    singles = [candidate("winograd", 14.0), candidate("ort", 19.0), candidate("slow", 40.0)]
    track = Track({"winograd": 33.0, "ort": 19.5, "slow": 41.0})
    found = side_by_side(singles, [MIX], Track({**track.ms, "collage": 9.0}))
    assert min(("winograd", "ort"), key=found.expected_ms) == "ort"
    found = side_by_side(singles, [], track)
    assert track.fields == [["winograd"], ["winograd", "ort"]]
    assert found.benchmarked == {"winograd", "ort"}


def test_no_engine_that_did_not_race_has_a_better_figure_than_the_winner() -> None:
    """All got slower since they were tuned: each that might be the best has its turn, and it ends."""
    singles = [candidate(name, ms) for name, ms in (("a", 10.0), ("b", 13.0), ("c", 17.0), ("d", 22.0), ("e", 90.0))]
    track = Track({"a": 20.0, "b": 26.0, "c": 34.0, "d": 44.0, "e": 180.0})
    found = side_by_side(singles, [], track)
    winner_ms = min(found.expected_ms(name) for name in found.benchmarked)
    assert all(single.total_ms >= winner_ms for single in singles if single.name not in found.benchmarked)  # type: ignore[operator]
    assert track.fields == [["a"], ["a", "b", "c"]]


def test_where_the_machine_got_slower_no_other_engine_races() -> None:
    singles = [candidate("a", 10.0), candidate("b", 11.0), candidate("c", 15.0)]
    track = Track({"a": 20.0, "b": 22.0, "c": 30.0})
    side_by_side(singles, [], track)
    assert track.fields == [["a", "b"]]


def test_where_the_finalists_are_too_big_the_next_engines_race() -> None:
    singles = [candidate("big", 10.0), candidate("small", 50.0), candidate("tiny", 60.0)]
    track = Track({"big": 10.0, "small": 50.0, "tiny": 60.0}, failing=["big"])
    found = side_by_side(singles, [], track)
    assert track.fields == [["big"], ["small", "tiny"]]
    assert found.failed == {"big": ("memory", "too big")}
    assert {"big", "small"} <= found.footprints.keys()


def test_where_there_is_no_time_for_the_finalists_no_slower_engines_race() -> None:
    """They take less time to compare, and would ship in place of the best engine, which nobody had compared."""
    asked: list[list[str]] = []

    def refused(field: Sequence[Candidate]) -> Verdict:
        asked.append([each.name for each in field])
        return NO_BENCHMARK

    assert side_by_side([candidate("a", 10.0), candidate("b", 20.0)], [], refused) is NO_BENCHMARK
    assert asked == [["a"]]


def test_a_calm_machine_needs_one_race() -> None:
    singles = [candidate("a", 10.0), candidate("b", 11.0), candidate("c", 15.0)]
    track = Track({"a": 10.1, "b": 11.1, "collage": 9.0})
    side_by_side(singles, [MIX], track)
    assert track.fields == [["a", "b", "collage"]]


def reduced(name: str, ms: float, *precisions: str) -> Candidate:
    plan = candidate(name, ms)
    (part,) = plan.partitions
    schemes = {node: Scheme(scheme) for scheme in precisions for node in part.nodes}
    part = replace(part, precision=Precision.of(schemes, {}, {}))
    return replace(plan, partitions=(part,), settings=replace(plan.settings, max_error=0.1))


def test_beside_a_plan_in_fewer_bits_none_races_that_will_not_be_the_fastest() -> None:
    singles = [candidate("a", 10.0), candidate("b", 10.5)]
    fast, slow = reduced("fast", 5.0, "int8-static"), reduced("slow", 6.5, "int8-static")
    other, slower = reduced("other", 8.0, "weights-int8"), reduced("slower", 9.5, "weights-int4")
    track = Track(dict.fromkeys(("a", "b", "fast", "slow", "other", "slower"), 10.0))
    side_by_side(singles, [], track, [slow, fast, other, slower])
    side_by_side(singles, [], track, [slower, reduced("late", 10.1, "int8-static")])
    side_by_side(singles, [], track, [replace(slow, between_ms=6.5), fast])
    assert track.fields == [["a", "fast", "other"], ["a", "b", "slower"], ["a", "b", "slow", "fast"]]


def test_an_engine_with_many_settings_does_not_keep_others_out() -> None:
    several = [("a 1", "a", 10.0), ("a 2", "a", 10.1), ("a 3", "a", 10.2), ("a 4", "a", 10.3), ("b", "b", 11.0)]
    singles = [replace(candidate(name, ms), label=label) for name, label, ms in several]
    assert [c.name for c in finalists(singles, [])] == ["a 1", "a 2", "b"]


class Races:
    """In the place of the paired benchmark: whether each of them, one after the other, is void."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *are_void: bool) -> None:
        self.are_void = list(are_void)
        self.fields: list[list[str]] = []
        self.is_slow_at_first = False
        self.measurer = FakeMeasurer({})
        monkeypatch.setattr(final_benchmark, "paired_benchmark", self.paired_benchmark)
        monkeypatch.setattr(final_benchmark, "plan_of", lambda *_: None)
        opened = SimpleNamespace(error=0.0, allowed=1e-3, memory=footprint(100).memory[0])
        builder = SimpleNamespace(
            build=lambda candidate: SimpleNamespace(path=Path(), compile_s=0.5),
            checked=lambda chosen: None,
            opened=lambda chosen: (Path(), opened),
        )
        monkeypatch.setattr(module, "Builder", lambda *_: builder)

    def paired_benchmark(self, folder: Path, contenders: Sequence[Contender], *_: object) -> Verdict:
        names = [each.name for each in contenders]
        self.fields.append(names)
        single = 30.0 if len(self.fields) == 1 and self.is_slow_at_first else 10.0
        is_void = self.are_void.pop(0)
        control = [single * (1.5 if is_void else 1.0)] * 30  # noise, not too little time
        found = verdict([8.0] * 30, [single] * 30, is_void=is_void, control=control)
        late = {name: (21.0,) * 30 for name in names if name not in found.rounds_ms}
        prints = dict.fromkeys(names, footprint(100))
        return replace(found, rounds_ms={**found.rounds_ms, **late}, footprints=prints)

    def compiled(self, deadline: Deadline = NO_END, *late: Candidate) -> Verdict:
        """What the benchmark of one more compile comes to."""
        problem = chain_problem(1, [Target("onnxruntime")])
        measurer: Any = self.measurer
        measurer.folder = Path()
        measurer.cached = 0
        return decide(problem, measurer, [SINGLE, *late], [MIX], None, deadline, unwatched).verdict


def test_a_race_that_decided_is_replayed_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    races = Races(monkeypatch, False)
    first, second = races.compiled(), races.compiled()
    assert (first.is_replayed, second.is_replayed) == (False, True)
    assert replace(second, is_replayed=False) == first


def test_a_void_race_decides_nothing_and_is_run_again_by_each_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    races = Races(monkeypatch, True, True, False)
    found = [races.compiled() for _ in range(5)]
    assert [each.is_void for each in found] == [True, True, False, False, False]
    assert [each.is_replayed for each in found] == [False, False, False, True, True]


def test_a_race_that_time_cut_short_is_told_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    races = Races(monkeypatch, False)
    paired_benchmark = races.paired_benchmark
    monkeypatch.setattr(
        final_benchmark, "paired_benchmark", lambda *asked: replace(paired_benchmark(*asked), is_void=True)
    )
    first, second = races.compiled(), races.compiled()
    assert (first.is_void, second.is_void, second.is_replayed) == (True, True, True)


def test_where_no_time_is_left_a_void_race_is_told_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    races = Races(monkeypatch, True)
    races.compiled()
    found = races.compiled(Deadline(0.0))
    assert (found.is_void, found.is_replayed) == (True, True)


def test_a_void_race_before_the_one_that_decided_changes_no_plan_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine was slow in the first benchmark, which was void; one more engine was let in, and that decided."""
    races = Races(monkeypatch, True, False)
    races.is_slow_at_first = True
    late = candidate("other", 20.0)
    first, second = races.compiled(NO_END, late), races.compiled(NO_END, late)
    assert races.fields == [["onnxruntime", "collage"], ["onnxruntime", "other", "collage"]]
    assert (first.is_void, second.is_replayed) == (False, True)
    assert replace(second, is_replayed=False) == first


@pytest.mark.parametrize(
    ("cause", "is_replayed"), [(Cause.KILLED, False), (Cause.NO_SPACE, False), (Cause.ENGINE, True)]
)
def test_a_race_that_the_machine_kept_somebody_out_of_is_run_again(
    monkeypatch: pytest.MonkeyPatch, cause: Cause, is_replayed: bool
) -> None:
    races = Races(monkeypatch, False, False)
    paired_benchmark, out = races.paired_benchmark, {"collage": ("crash", "it was killed")}

    def without_the_mix(*asked: Any) -> Verdict:
        found = paired_benchmark(*asked)
        rounds = {name: ms for name, ms in found.rounds_ms.items() if name != "collage"}
        return replace(found, rounds_ms=rounds, failed=out, causes={"collage": cause})

    monkeypatch.setattr(final_benchmark, "paired_benchmark", without_the_mix)
    first, second = races.compiled(), races.compiled()
    assert (first.failed, second.failed) == (out, out)
    assert second.is_replayed is is_replayed
    assert races.measurer.may_conclude is is_replayed


def test_a_race_of_other_plans_is_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """As one that somebody edited: its key is right, and what it says is of no plan of this compile."""
    races = Races(monkeypatch, False, False)
    races.compiled()
    records = races.measurer.store._records
    for key, text in records.items():
        records[key] = text.replace("collage", "nobody")
    assert not races.compiled().is_replayed


@pytest.mark.parametrize(
    ("is_void", "control", "expected"), [(False, 10.0, True), (True, 15.0, False), (True, 10.0, True)]
)
def test_a_verdict_is_final_unless_noise_made_it_void(is_void: bool, control: float, expected: bool) -> None:
    found = verdict([8.0] * 30, [10.0] * 30, is_void=is_void, control=[control] * 30)
    assert decides(found) is expected
