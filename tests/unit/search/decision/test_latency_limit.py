"""What ships under load: never less than the best engine alone answers, and nothing that is later than it may be."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from intarsia.config import RunSettings
from intarsia.cost.timing.footprint import Footprint, Tail
from intarsia.cost.timing.memory import Memory
from intarsia.cost.timing.statistics import Interval
from intarsia.cost.timing.verdict import CONTROL_NAME, Verdict
from intarsia.errors import LatencyLimitError
from intarsia.partitioning import Partition
from intarsia.planning.problem import Candidate
from intarsia.search.decision.choice import choose, fastest
from intarsia.search.decision.decision import NO_BENCHMARK
from intarsia.search.decision.latency_limit import likely_within, too_late, within_limit
from intarsia.target import Target

ROUNDS = st.lists(st.floats(1.0, 20.0), min_size=10, max_size=10)


def plan(name: str, instances: int = 2, between_ms: float = 5.0, engine: str = "onnxruntime") -> Candidate:
    return Candidate(
        name=name,
        label=name,
        partitions=(Partition(target=Target(engine), nodes=("n0",)),),
        settings=RunSettings(threads=1, instances=instances),
        predicted_ms=(instances * between_ms,),
        between_ms=between_ms,
    )


def verdict(rounds: Mapping[str, Sequence[float]], p99: Mapping[str, float]) -> Verdict:
    first = next(iter(rounds.values()))
    memory = Footprint(cold_s=(), memory=(Memory(peak=1, steady=1),))
    return Verdict(
        rounds_ms={name: tuple(ms) for name, ms in rounds.items()} | {CONTROL_NAME: tuple(first)},
        set_sizes=(5, 5),
        profile_ms={},
        errors={},
        failed={},
        is_void=False,
        tails={name: Tail(calls=500, p99=Interval(median=ms, low=ms, high=ms)) for name, ms in p99.items()},
        footprints=dict.fromkeys(rounds, memory),
        instances=dict.fromkeys(rounds, 2),
    )


@given(st.lists(ROUNDS, min_size=2, max_size=5), st.data())
def test_what_ships_answers_no_less_than_the_best_engine_and_in_time(
    rounds: list[list[float]], data: st.DataObject
) -> None:
    plans = [plan(f"p{number}") for number in range(len(rounds))]
    count = data.draw(st.integers(1, len(plans) - 1))
    singles, mixes = plans[:count], plans[count:]
    p99 = {each.name: data.draw(st.floats(1.0, 100.0)) for each in plans}
    limit = data.draw(st.none() | st.floats(1.0, 100.0))
    times = {each.name: ms for each, ms in zip(plans, rounds, strict=True)}

    def compare(*several: Sequence[Candidate]) -> Verdict:
        names = [each.name for plans in several for each in plans]
        return verdict({name: times[name] for name in names}, p99) if names else NO_BENCHMARK

    found = within_limit(singles, mixes, (), limit, compare)
    if limit is not None and all(ms > limit for ms in p99.values()):
        with pytest.raises(LatencyLimitError, match=re.escape(f"takes {min(p99.values()):.3g} ms")):
            found.check(plans, limit)
        return
    found.check(plans, limit)
    kept = found.kept(singles)
    best = fastest(kept, found.verdict)
    alternatives = found.kept(mixes)
    assume(best is not None)
    assert best is not None
    chosen = choose(alternatives, best, found.verdict, usable_bytes=1 << 40).plan
    rate = found.verdict.requests_per_second
    assert rate(chosen.name).median >= max(rate(each.name).median for each in kept)
    assert limit is None or p99[chosen.name] <= limit


def test_what_was_too_late_makes_way_for_what_did_not_take_part() -> None:
    """Of one engine its best way takes part, and the next one where that is too late."""
    best, next_ = plan("a, 2 x 1", between_ms=3.0), plan("a, 1 x 2", instances=1, between_ms=4.0)
    fields: list[list[str]] = []

    def compare(singles: Sequence[Candidate], *_: Sequence[Candidate]) -> Verdict:
        first = min(singles, key=lambda each: each.between_ms or 0.0)
        fields.append([first.name])
        return verdict({first.name: [first.between_ms or 0.0] * 10}, {"a, 2 x 1": 9.0, "a, 1 x 2": 5.0})

    found = within_limit([best, next_], (), (), 6.0, compare)
    assert fields == [["a, 2 x 1"], ["a, 1 x 2"]]
    assert found.late == {"a, 2 x 1": 9.0}
    assert found.kept([best, next_]) == [next_]
    said = found.reason("the only one", 6.0, has_single=True)
    assert said.startswith(
        "the only one; 1 plan dropped, as 99 of 100 calls take more than 6 ms (the nearest, a, 2 x 1"
    )
    assert found.reason("a mix", 6.0, has_single=False).startswith("no engine alone answers in time; 1 plan")


def test_without_a_limit_nothing_is_dropped() -> None:
    found = within_limit([plan("a")], (), (), None, lambda *_: verdict({"a": [3.0] * 10}, {"a": 1e9}))
    assert (found.late, found.reason("x", None, has_single=True)) == ({}, "x")


def test_of_too_few_calls_the_slowest_counts() -> None:
    found = verdict({"a": [3.0] * 10}, {})
    few = Verdict(
        **{name: getattr(found, name) for name in Verdict.__slots__ if name != "tails"},
        tails={"a": Tail.of([4.0, 9.0, 5.0]), "b": Tail(calls=0, p99=None)},
    )
    assert too_late(few, 8.0) == {"a": 9.0}


def test_where_nothing_was_compared_calls_are_judged_by_their_mean() -> None:
    several = [plan("a", instances=2, between_ms=3.0), plan("b", instances=1, between_ms=4.0)]
    assert likely_within(several, 5.0) == [several[1]]
    assert likely_within(several, 1.0) == several
    assert likely_within(several, None) == several


def test_no_time_for_a_second_comparison_leaves_the_first() -> None:
    several = [plan("a, 2 x 1", between_ms=3.0), plan("b", between_ms=4.0)]
    told = iter([verdict({"a, 2 x 1": [3.0] * 10}, {"a, 2 x 1": 9.0}), NO_BENCHMARK])
    found = within_limit(several, (), (), 5.0, lambda *_: next(told))
    with pytest.raises(LatencyLimitError, match="the one that comes nearest, a, 2 x 1, takes 9 ms"):
        found.check(several, 5.0)
