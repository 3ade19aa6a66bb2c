"""When a duel is void, who is sent home early, and what its figures say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intarsia.backends.contract.failures import Cause
from intarsia.cost.thresholds import PAIRED
from intarsia.cost.timing import paired_benchmark as module
from intarsia.cost.timing.footprint import Footprint
from intarsia.cost.timing.memory import Memory
from intarsia.cost.timing.paired_benchmark import (
    BenchmarkEffort,
    Contender,
    _Set,
    _still_standing,
    _with_control,
    paired_benchmark,
)
from intarsia.cost.timing.statistics import Interval
from intarsia.cost.timing.turns import profiled
from intarsia.cost.timing.verdict import CONTROL_NAME, Shown, Verdict, reach
from intarsia.cost.worker.client import WorkerClient
from intarsia.cost.worker.deadline import NO_END, Deadline
from intarsia.cost.worker.progress import Progress
from intarsia.cost.worker.protocol import Load, Open, Opened, Profile, Round, Times, Wait, Waited
from intarsia.runtime import Step
from intarsia.target import Target
from tests.unit.cost.noise import contender, done

EFFORT = BenchmarkEffort(processes=2, rounds=3, repeats=2)
THOROUGH = BenchmarkEffort(processes=3, rounds=9, repeats=2)
times = st.lists(st.floats(0.01, 100), min_size=1, max_size=20)


def one_set(failed: str | None = None, cause: Cause = Cause.ENGINE, **rounds: Sequence[float]) -> _Set:
    return done(rounds, {failed: ("crash", "SIGSEGV")} if failed else {}, cause)


def verdict(sizes: tuple[int, ...], **rounds: Sequence[float]) -> Verdict:
    named = {name: tuple(ms) for name, ms in rounds.items()}
    return Verdict(rounds_ms=named, set_sizes=sizes, profile_ms={}, errors={}, failed={}, is_void=False)


@pytest.mark.parametrize(("drift", "holds"), [(1.0, True), (1.019, True), (0.981, True), (1.021, False), (0.97, False)])
def test_the_control_holds_within_two_percent(drift: float, holds: bool) -> None:
    assert verdict((4,), a=[10.0 * drift] * 4, control=[10.0] * 4).control_holds is holds


@pytest.mark.parametrize(("least", "holds"), [(0.92, True), (0.90, False), (0.572, False)])
def test_the_control_is_judged_by_its_interval_too(least: float, holds: bool) -> None:
    """Its median is 0.99 in each case."""
    ratios = [least] * 6 + [0.99] * 9
    assert verdict((15,), a=[10.0 * each for each in ratios], control=[10.0] * 15).control_holds is holds


def test_the_control_is_judged_over_all_sets() -> None:
    disturbed, calm = [12.0] * 3, [10.0] * 21
    assert verdict((3, 21), a=disturbed + calm, control=[10.0] * 24).control_holds
    assert not verdict((3,), a=disturbed, control=[10.0] * 3).control_holds


def test_only_the_hopeless_leave() -> None:
    running = _with_control([contender("a"), contender("slow"), contender("near"), contender("fast")])
    done = verdict((12,), a=[10.0] * 12, slow=[11.1] * 12, near=[10.9] * 12, fast=[5.0] * 12, control=[10.0] * 12)
    assert list(_still_standing(running, done, keep=None)) == ["a", "near", "fast", CONTROL_NAME]
    assert "slow" in _still_standing(running, done, keep="slow")


def test_after_two_sets_less_is_enough_to_leave() -> None:
    done = verdict((6, 6), a=[10.0] * 12, slow=[10.3] * 12, near=[10.1] * 12, control=[10.0] * 12)
    assert (done.may_leave("slow"), done.may_leave("near")) == (True, False)


def test_nobody_leaves_by_less_than_the_first_differs_from_itself() -> None:
    done = verdict((12,), a=[10.0] * 12, slow=[12.0] * 12, control=[12.5] * 12)
    assert not done.may_leave("slow")


def test_one_bad_round_sends_nobody_home() -> None:
    running = _with_control([contender("a"), contender("b")])
    done = verdict((9,), a=[10.0] * 9, b=[100.0] + [10.0] * 8, control=[10.0] * 9)
    assert "b" in _still_standing(running, done, keep=None)


def test_the_first_runs_twice() -> None:
    running = _with_control([contender("a"), contender("b")])
    assert {name: who.name for name, who in running.items()} == {"a": "a", "b": "b", CONTROL_NAME: "a"}
    assert _with_control([]) == {}


def test_a_speedup_is_paired_by_round() -> None:
    """The machine slows down half way, for both alike: the ratio does not see it."""
    found = verdict((5, 5), a=[10.0] * 5 + [30.0] * 5, b=[8.0] * 5 + [24.0] * 5)
    speedup = found.speedup("b", "a")
    assert (speedup.low, speedup.median, speedup.high) == (1.25, 1.25, 1.25)


@given(times)
def test_a_speedup_over_itself_is_one(ms: list[float]) -> None:
    speedup = verdict((len(ms),), a=ms).speedup("a", "a")
    assert (speedup.low, speedup.median, speedup.high) == (1.0, 1.0, 1.0)


def test_winning_everywhere_means_in_each_set() -> None:
    found = verdict((2, 3), a=[10.0] * 5, b=[5.0, 5.0, 10.5, 9.0, 10.5], c=[9.0] * 5)
    assert not found.wins_everywhere("b", "a")
    assert found.wins_everywhere("c", "a")
    assert not found.wins_everywhere("a", "a")


def test_one_lost_set_of_four_is_forgiven() -> None:
    found = verdict((2, 2, 2, 2), a=[10.0] * 8, b=[8.0] * 6 + [10.5] * 2, c=[8.0] * 4 + [10.5] * 4)
    assert found.wins_everywhere("b", "a")
    assert not found.wins_everywhere("c", "a")


def ticking(seconds: float) -> Deadline:
    """A deadline whose clock goes on by five seconds whenever it is looked at: a set takes ten, or fifteen."""
    moments = count(0, 5)
    return Deadline(seconds, clock=lambda: float(next(moments)))


def run(
    monkeypatch: pytest.MonkeyPatch,
    sets: list[_Set],
    *names: str,
    effort: BenchmarkEffort = EFFORT,
    deadline: Deadline = NO_END,
) -> tuple[Verdict, list[list[str]], list[int]]:
    """A duel whose sets are these, who ran in each, and how many sets the watcher was told of."""
    ran: list[list[str]] = []
    told: list[int] = []

    def next_set(folder: Path, running: dict[str, Contender], *_: object, is_first: bool) -> _Set:
        ran.append(list(running))
        return sets.pop(0)

    def watch(progress: Progress) -> None:
        told.append(progress.done)

    monkeypatch.setattr(module, "_one_set", next_set)
    fought = paired_benchmark(Path(), [contender(name) for name in names], effort, watch=watch, deadline=deadline)
    return fought, ran, told


def test_a_calm_paired_benchmark_takes_its_sets_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    calm = one_set(a=[10.0] * 3, b=[10.0] * 3, control=[10.0] * 3)
    found, ran, told = run(monkeypatch, [calm] * 4, "a", "b")
    assert len(ran) == 2
    assert told == [0, 1, 2]
    assert found.set_sizes == (3, 3)
    assert found.rounds_ms["b"] == (10.0,) * 6
    assert not found.is_void


def test_one_set_does_where_the_first_beat_all_others_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    beaten = one_set(a=[10.0] * 9, b=[13.0] * 9, c=[12.0] * 9, control=[10.0] * 9)
    found, ran, _ = run(monkeypatch, [beaten], "a", "b", "c", effort=THOROUGH)
    assert ran == [["a", "b", "c", CONTROL_NAME]]
    assert (found.compared("b", "a"), found.compared("c", "a")) == (Shown.SLOWER, Shown.SLOWER)
    close = one_set(a=[10.0] * 9, b=[13.0] * 9, c=[10.5] * 9, control=[10.0] * 9)
    without = one_set(a=[10.0] * 9, c=[10.5] * 9, control=[10.0] * 9)
    _, ran, _ = run(monkeypatch, [close, without, without], "a", "b", "c", effort=THOROUGH)
    assert ran[1] == ["a", "c", CONTROL_NAME]


def test_one_set_does_where_those_left_differ_in_options_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    calm = one_set(a=[10.0] * 9, b=[9.9] * 9, control=[10.0] * 9)
    a, b = contender("a"), contender("b")
    steps = tuple(replace(step, target=Target("onnxruntime -optimization-level=all")) for step in a.plan.steps)
    other = tuple(replace(step, target=Target("onnxruntime")) for step in a.plan.steps)
    several = [
        replace(a, plan=replace(a.plan, steps=steps)),
        replace(b, plan=replace(b.plan, steps=other)),
    ]
    monkeypatch.setattr(module, "_one_set", lambda *_, **__: calm)
    assert paired_benchmark(Path(), several, THOROUGH).set_sizes == (9,)
    in_doubt = one_set(a=[10.0] * 9, b=[9.0, 10.2, 9.6] * 3, control=[10.0] * 9)
    monkeypatch.setattr(module, "_one_set", lambda *_, **__: in_doubt)
    assert paired_benchmark(Path(), several, THOROUGH).set_sizes == (9,)
    noisy = one_set(a=[12.0] * 9, b=[9.9] * 9, control=[10.0] * 9)
    sets = [noisy, *[calm] * 9]
    monkeypatch.setattr(module, "_one_set", lambda *_, **__: sets.pop(0))
    assert len(paired_benchmark(Path(), several, THOROUGH).set_sizes) > 1


def test_one_that_is_shown_alone_has_a_figure_and_decides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    first = one_set(a=[10.0] * 9, b=[10.1] * 9, shown=[5.0] * 9, control=[10.0] * 9)
    second = one_set(a=[10.0] * 9, b=[10.1] * 9, control=[10.0] * 9)
    sets = [first, second, second]
    ran: list[list[str]] = []

    def next_set(folder: Path, running: dict[str, Contender], *_: object, is_first: bool) -> _Set:
        ran.append(list(running))
        return sets.pop(0)

    monkeypatch.setattr(module, "_one_set", next_set)
    several = [contender(name) for name in ("a", "b", "shown")]
    found = paired_benchmark(Path(), several, THOROUGH, also_shown=["shown"])
    assert ran == [["a", "b", "shown", CONTROL_NAME], ["a", "b", CONTROL_NAME]]
    assert (found.speedup("shown", "a").median, found.leaders) == (2.0, ())


def test_few_sets_do_while_no_plan_seems_faster_than_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    slower = one_set(a=[10.0] * 9, b=[10.1] * 9, control=[10.0] * 9)
    found, ran, _ = run(monkeypatch, [slower] * 5, "a", "b", effort=THOROUGH)
    assert (len(ran), found.is_void) == (PAIRED.settled_sets, False)
    faster = one_set(a=[10.0] * 9, b=[9.5] * 9, control=[10.0] * 9)
    _, ran, _ = run(monkeypatch, [faster] * 5, "a", "b", effort=THOROUGH)
    assert len(ran) == THOROUGH.processes > PAIRED.settled_sets


def test_sets_are_added_until_the_control_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    noisy = one_set(a=[12.0] * 3, control=[10.0] * 3)
    calm = one_set(a=[10.0] * 30, control=[10.0] * 30)
    found, ran, _ = run(monkeypatch, [noisy, noisy, calm, noisy], "a")
    assert len(ran) == 3
    assert not found.is_void
    found, ran, _ = run(monkeypatch, [noisy] * 4, "a")
    assert len(ran) == EFFORT.processes + EFFORT.repeats
    assert found.is_void


@pytest.mark.parametrize(("b_ms", "sets"), [(12.0, 1), (11.0, 2)])
def test_where_nothing_is_claimed_a_noisy_set_does_unless_another_seems_faster(
    monkeypatch: pytest.MonkeyPatch, b_ms: float, sets: int
) -> None:
    noisy = one_set(a=[12.0] * 9, b=[b_ms] * 9, control=[11.5] * 9)
    effort = replace(EFFORT, settled=1, repeats=0, is_claimed=False)
    found, ran, _ = run(monkeypatch, [noisy] * 3, "a", "b", effort=effort)
    assert (len(ran), found.is_void) == (sets, True)


def test_a_set_is_added_where_one_is_faster_but_not_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    won = one_set(a=[10.0] * 20, b=[9.5] * 20, control=[10.0] * 20)
    lost = one_set(a=[10.0] * 3, b=[11.0] * 3, control=[10.0] * 3)
    found, ran, _ = run(monkeypatch, [won, lost, won, won, won], "a", "b")
    assert len(ran) == 4
    assert found.compared("b", "a") is Shown.FASTER
    found, ran, _ = run(monkeypatch, [won, lost, lost, won, won], "a", "b")
    assert len(ran) == EFFORT.processes + EFFORT.repeats
    assert found.compared("b", "a") is not Shown.FASTER


@pytest.mark.parametrize(("seconds", "sets"), [(5.0, 1), (25.0, 2), (1e9, 3)])
def test_no_set_is_begun_that_would_end_behind_the_deadline(
    monkeypatch: pytest.MonkeyPatch, seconds: float, sets: int
) -> None:
    calm = one_set(a=[10.0] * 9, b=[9.5] * 9, control=[10.0] * 9)
    found, ran, _ = run(monkeypatch, [calm] * 5, "a", "b", effort=THOROUGH, deadline=ticking(seconds))
    assert len(ran) == sets
    assert found.is_void is (sets < 2)


def test_what_won_both_sets_before_the_deadline_is_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    won = one_set(a=[10.0] * 9, b=[9.5] * 9, control=[10.0] * 9)
    found, ran, _ = run(monkeypatch, [won] * 5, "a", "b", effort=THOROUGH, deadline=ticking(25.0))
    assert len(ran) == 2
    assert found.compared("b", "a") is Shown.FASTER


@pytest.mark.parametrize(("ms", "sets", "shown"), [(9.5, 3, Shown.FASTER), (8.0, 1, Shown.FASTER)])
def test_one_set_does_where_a_plan_is_far_faster(
    monkeypatch: pytest.MonkeyPatch, ms: float, sets: int, shown: Shown
) -> None:
    won = one_set(a=[10.0] * 9, b=[ms] * 9, control=[10.0] * 9)
    found, ran, _ = run(monkeypatch, [won] * 5, "a", "b", effort=THOROUGH)
    assert (len(ran), found.compared("b", "a")) == (sets, shown)


@pytest.mark.parametrize(("ms", "shown"), [(9.5, Shown.NOTHING), (8.0, Shown.FASTER)])
def test_of_one_set_only_a_large_gain_is_claimed(monkeypatch: pytest.MonkeyPatch, ms: float, shown: Shown) -> None:
    won = one_set(a=[10.0] * 9, b=[ms] * 9, control=[10.0] * 9)
    found, ran, _ = run(monkeypatch, [won] * 5, "a", "b", effort=THOROUGH, deadline=ticking(5.0))
    assert (len(ran), found.compared("b", "a")) == (1, shown)


def test_a_control_that_is_out_at_the_deadline_is_void(monkeypatch: pytest.MonkeyPatch) -> None:
    noisy = one_set(a=[12.0] * 3, control=[10.0] * 3)
    found, ran, _ = run(monkeypatch, [noisy] * 4, "a", deadline=ticking(25.0))
    assert len(ran) == 2
    assert found.is_void


def test_a_set_is_added_while_noise_hides_what_seems_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    noisy = one_set(a=[10.0] * 3, b=[7.0, 7.0, 14.0], control=[10.0] * 3)
    calm = one_set(a=[10.0] * 9, b=[7.0] * 9, control=[10.0] * 9)
    found, ran, _ = run(monkeypatch, [noisy, noisy, calm, calm], "a", "b")
    assert len(ran) == 3
    assert found.compared("b", "a") is Shown.FASTER


def test_a_contender_that_fails_makes_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first one fails in its second set: the rest starts anew, with the next one as the one to beat."""
    both = one_set(a=[10.0] * 3, b=[10.0] * 3, control=[10.0] * 3)
    alone = one_set(b=[11.0] * 3, control=[11.0] * 3)
    found, ran, _ = run(monkeypatch, [both, one_set(failed="a"), alone, alone], "a", "b")
    assert ran[-1] == ["b", CONTROL_NAME]
    assert found.failed == {"a": ("crash", "SIGSEGV")}
    assert set(found.rounds_ms) == {"b", CONTROL_NAME}
    assert found.rounds_ms["b"] == (11.0,) * 3
    assert not found.is_void


def test_if_all_fail_nothing_is_left_but_their_reasons(monkeypatch: pytest.MonkeyPatch) -> None:
    found, _, _ = run(monkeypatch, [one_set(failed="b"), one_set(failed="a")], "a", "b")
    assert set(found.failed) == {"a", "b"}
    assert found.rounds_ms == {}
    assert found.is_void


@pytest.mark.parametrize("cause", [Cause.KILLED, Cause.CRASH, Cause.NO_MEMORY])
def test_a_failure_that_may_pass_is_none_if_it_does_not_come_again(
    monkeypatch: pytest.MonkeyPatch, cause: Cause
) -> None:
    both = one_set(a=[10.0] * 3, b=[10.0] * 3, control=[10.0] * 3)
    found, ran, _ = run(monkeypatch, [one_set(failed="b", cause=cause), both, both], "a", "b")
    assert [set(names) for names in ran] == [{"a", "b", CONTROL_NAME}] * 3
    assert (dict(found.failed), found.is_void, found.set_sizes) == ({}, False, (3, 3))


@pytest.mark.parametrize(
    ("cause", "settled"), [(Cause.KILLED, Cause.KILLED), (Cause.CRASH, Cause.ENGINE), (Cause.NO_SPACE, Cause.NO_SPACE)]
)
def test_whose_doing_a_failure_is_goes_with_it(monkeypatch: pytest.MonkeyPatch, cause: Cause, settled: Cause) -> None:
    alone = one_set(a=[10.0] * 3, control=[10.0] * 3)
    failing = [one_set(failed="b", cause=cause)] * (2 if cause.may_pass else 1)
    found, _, _ = run(monkeypatch, [*failing, alone, alone], "a", "b")
    assert found.causes == {"b": settled}
    assert found.has_transient_failure is settled.is_transient


def test_of_a_failure_on_an_old_record_nobody_knows_whose_doing_it_was() -> None:
    old = replace(verdict((3,), a=[10.0] * 3, control=[10.0] * 3), failed={"b": ("crash", "SIGSEGV")})
    assert old.has_transient_failure


def test_nobody_to_race_is_void() -> None:
    assert paired_benchmark(Path(), [], EFFORT).is_void


@pytest.mark.parametrize(
    ("b", "is_faster"),
    [([9.0] * 12, True), ([9.0] * 6 + [10.1] * 6, False), ([9.0, 11.0] * 6, False), ([11.0] * 12, False)],
)
def test_faster_means_beyond_the_noise_and_in_each_set(b: list[float], is_faster: bool) -> None:
    fought = verdict((6, 6), a=[10.0] * 12, b=b, control=[10.0] * 12)
    assert (fought.compared("b", "a") is Shown.FASTER) is is_faster
    assert replace(fought, is_void=True).compared("b", "a") is not Shown.FASTER


@pytest.mark.parametrize(
    ("b", "shown"),
    [
        (9.6, Shown.NO_DIFFERENCE),
        (9.4, Shown.FASTER),
        (10.4, Shown.NO_DIFFERENCE),
        (10.6, Shown.SLOWER),
    ],
)
def test_gains_and_losses_have_to_clear_the_controls_interval(b: float, shown: Shown) -> None:
    control = [10.0, *[10.5] * 6, *[9.6] * 5] * 2  # the first against itself: 0.952 to 1.042
    fought = verdict((12, 12), a=[10.0] * 24, b=[b] * 24, control=control)
    assert reach(fought.control) == 1.05
    assert fought.compared("b", "a") is shown
    assert replace(fought, is_void=True).compared("b", "a") is Shown.NOTHING


def test_one_that_left_is_no_slower_where_the_paired_benchmark_is_void(monkeypatch: pytest.MonkeyPatch) -> None:
    early = one_set(a=[10.0] * 9, b=[20.0] * 9, c=[10.0] * 9, control=[10.0] * 9)
    noisy = one_set(a=[13.0] * 9, c=[13.0] * 9, control=[10.0] * 9)
    found, _, _ = run(monkeypatch, [early, noisy, noisy, noisy], "a", "b", "c")
    assert (found.is_void, found.compared("b", "a")) == (True, Shown.NOTHING)
    found, _, _ = run(monkeypatch, [early, early], "a", "b", "c")
    assert (found.is_void, found.compared("b", "a")) == (False, Shown.SLOWER)
    assert found.left_ms.keys() == {"b"}


class Profiled:
    """A worker that tells what the steps and the transfers took, at half its speed."""

    def ask(self, request: Profile, timeout_s: float) -> Times:
        return Times(ms=(2.0, 4.0), transfers_ms=(1.0,))


def test_steps_and_transfers_are_put_down_to_full_speed() -> None:
    steps = tuple(
        Step(target=Target(target), nodes=(target,), inputs=(), outputs=())
        for target in ("reference", "ncnn -base=vulkan")
    )
    worker = cast("WorkerClient", Profiled())
    plan = replace(contender("mix").plan, steps=steps)
    assert profiled("mix", worker, lambda: 2.0, plan, [9.0]) == ((1.0, 2.0), (0.5,))
    # One step on the CPU was timed by the rounds; one on a device has transfers.
    assert profiled("alone", worker, lambda: 2.0, replace(plan, steps=steps[:1]), [9.0, 7.0, 8.0]) == ((8.0,), ())
    assert profiled("there", worker, lambda: 2.0, replace(plan, steps=steps[1:]), [9.0])[1] == (0.5,)


def test_those_that_leave_keep_their_figure_beside_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine was twice as slow in the first set, which the second contender alone saw."""
    early = one_set(a=[20.0] * 9, b=[40.0] * 9, c=[20.0] * 9, control=[20.0] * 9)
    later = one_set(a=[10.0] * 9, c=[10.0] * 9, control=[10.0] * 9)
    found, ran, _ = run(monkeypatch, [early, later, later], "a", "b", "c")
    assert ran[1] == ["a", "c", CONTROL_NAME]
    assert found.left_ms == {"b": (40.0,) * 9}
    assert found.benchmarked == {"a", "b", "c"}
    assert found.expected_ms("b") == 2 * found.expected_ms("a") == 30.0
    assert (found.latency("b").low, found.latency("b").high) == (30.0, 30.0)
    assert found.speedup("b", "a").median == 0.5
    assert (found.tails["a"].calls, found.tails["b"].calls) == (18, 9)


@given(st.lists(st.tuples(*[st.floats(0.1, 100)] * 4), min_size=1, max_size=30))
def test_milliseconds_and_speeds_never_contradict_each_other(rounds: list[tuple[float, ...]]) -> None:
    names = ("a", "b", "c", CONTROL_NAME)
    found = verdict((len(rounds),), **dict(zip(names, zip(*rounds, strict=True), strict=True)))
    for name in ("a", "b", "c"):
        for other in ("a", "b", "c"):
            gain = found.speedup(name, other)
            assert gain.low <= gain.median <= gain.high
            assert gain.median == pytest.approx(found.expected_ms(other) / found.expected_ms(name))
        latency = found.latency(name)
        assert latency.low <= latency.median == found.expected_ms(name) <= latency.high


def test_the_interval_of_a_latency_holds_each_set() -> None:
    found = verdict((20, 20), a=[10.0] * 20 + [11.0] * 20, control=[10.0] * 40)
    assert (found.latency("a").low, found.latency("a").high) == (10.0, 11.0)


def weighed(peak: int, cold_s: float = 0.5) -> Footprint:
    return Footprint(cold_s=(cold_s,), memory=(Memory(peak=peak, steady=peak // 2),))


def test_the_control_is_another_process_of_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    calm = one_set(a=[10.0] * 9, b=[10.0] * 9, control=[10.0] * 9)
    calm = replace(calm, footprints={"a": weighed(100), "b": weighed(80), CONTROL_NAME: weighed(120, 0.7)})
    found, _, _ = run(monkeypatch, [calm] * 2, "a", "b")
    assert found.footprints["a"].cold_s == (0.5, 0.7) * 2
    assert (found.footprints["a"].peak_bytes, found.footprints["b"].peak_bytes) == (120, 80)
    assert CONTROL_NAME not in found.footprints


class Opener:
    """Opens at once; needs as many bytes as its path says."""

    def __init__(self, folder: Path, environment: object) -> None:
        self.sent: Open | None = None

    def start(self) -> None: ...

    def close(self) -> None: ...

    def __enter__(self) -> Opener:
        return self

    def __exit__(self, *_: object) -> None: ...

    def send(self, request: Open) -> None:
        self.sent = request

    def answer(self, timeout_s: float) -> object:
        assert self.sent is not None
        return self.ask(self.sent, timeout_s)

    def ask(self, request: object, timeout_s: float) -> object:
        match request:
            case Wait():
                return Waited()
            case Open(path=path):
                self.sent = request
                memory = Memory(peak=int(path), steady=1)
                return Opened(load_s=0.5, first_run_s=0.25, memory=memory, error=0.0)
            case Round(runs=runs):
                return Times(ms=(1.0,) * runs)
            case Load(runs=runs):
                assert self.sent is not None
                assert self.sent.instances is not None
                return Times(ms=(1.0,) * runs * self.sent.instances, between_ms=1.0 / self.sent.instances)
        raise AssertionError(request)


def test_what_needs_more_memory_than_it_may_fails_and_the_rest_races(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WorkerClient", Opener)
    monkeypatch.setattr(module, "ClockProbe", lambda: lambda: 2.0)
    limited = replace(EFFORT, max_memory=100_000_000)
    several = [contender("100000000"), contender("612000000"), contender("100000001")]
    found = paired_benchmark(Path(), several, limited)
    assert found.failed["612000000"] == ("memory", "its peak of 612 MB is over the limit of 100 MB")
    assert found.benchmarked == {"100000000"}
    assert {name: weight.peak_bytes for name, weight in found.footprints.items()} == {
        each.name: int(each.name) for each in several
    }
    # At full speed the start takes half as long; the first set opens in turn, and the control counts too.
    assert found.footprints["100000000"].cold_s[:2] == (0.375, 0.375)
    assert found.tails["100000000"].p99 == Interval(median=0.5, low=0.5, high=0.5)


@pytest.mark.parametrize(
    ("loading_s", "end_s", "rounds"), [(0.0, 1e6, 4), (4.0, 1e6, 4), (8.0, 1e6, 8), (8.0, 1.0, 4), (0.0, 1.0, 2)]
)
def test_rounds_go_on_for_half_as_long_as_loading_took_and_half_of_that_where_the_time_is_over(
    monkeypatch: pytest.MonkeyPatch, loading_s: float, end_s: float, rounds: int
) -> None:
    """Two contenders and the control load for so long each; each of the three turns of a round takes half a second."""
    clock = [0.0]

    class Slow(Opener):
        def ask(self, request: object, timeout_s: float) -> object:
            clock[0] += loading_s if isinstance(request, Open) else 0.0
            return super().ask(request, timeout_s)

    def turn(*_: object) -> tuple[float, list[float]]:
        clock[0] += 0.5
        return 1.0, [1.0]

    monkeypatch.setattr(module, "turn", turn)
    monkeypatch.setattr(module, "_tells_all", lambda *_: False)
    monkeypatch.setattr(module, "ClockProbe", lambda: lambda: 1.0)
    monkeypatch.setattr(module, "WorkerClient", Slow)
    effort = BenchmarkEffort(processes=1, rounds=20, seconds=6.0, repeats=0)
    deadline = Deadline(end_s, clock=lambda: clock[0])
    found = paired_benchmark(Path(), [contender("1"), contender("2")], effort, deadline=deadline)
    assert len(found.rounds_ms["1"]) == rounds


def test_a_set_ends_once_it_has_told_all(monkeypatch: pytest.MonkeyPatch) -> None:
    turns = count()

    class Uneven(Opener):
        """Its calls take longer and longer, so that none differs from the next by nothing."""

        def ask(self, request: object, timeout_s: float) -> object:
            told = super().ask(request, timeout_s)
            return Times(ms=(1.0 + next(turns) % 7 / 10,)) if isinstance(told, Times) else told

    monkeypatch.setattr(module, "ClockProbe", lambda: lambda: 1.0)
    monkeypatch.setattr(module, "WorkerClient", Opener)
    effort = BenchmarkEffort(processes=1, rounds=9, seconds=60.0, repeats=0)
    several = [contender("1"), contender("2")]
    assert paired_benchmark(Path(), several, effort).set_sizes == (PAIRED.telling_rounds,)
    monkeypatch.setattr(module, "WorkerClient", Uneven)
    assert paired_benchmark(Path(), several, effort).set_sizes == (9,)


def test_under_load_what_lies_between_answers_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two instances answer twice as often, and a call takes as long as one of the other plan."""
    monkeypatch.setattr(module, "WorkerClient", Opener)
    monkeypatch.setattr(module, "ClockProbe", lambda: lambda: 2.0)
    one, two = (replace(contender(str(count)), instances=count) for count in (1, 2))
    found = paired_benchmark(Path(), [one, two], EFFORT)
    assert found.instances == {"1": 1, "2": 2}
    assert (found.speedup("2", "1").median, found.compared("2", "1")) == (2.0, Shown.FASTER)
    assert [found.requests_per_second(name).median for name in "12"] == [2000.0, 4000.0]
    assert [found.call_ms(name) for name in "12"] == [0.5, 0.5]
    assert [found.tails[name].p50 for name in "12"] == [0.5, 0.5]
    assert (found.latency("2").low, found.latency("2").high) == (0.5, 0.5)
    assert found.how == "as many requests a second"
