"""When a limit is broken, kept, or hidden by noise; and what cannot be compared at all."""

from __future__ import annotations

import json
import math
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from intarsia.cost.timing.statistics import Interval
from intarsia.errors import ConfigError
from intarsia.report.baseline import Outcome, difference, figure, judge, ratio, read_baseline
from intarsia.report.limits import Limit, parse_limit

medians = st.floats(0.01, 1e4)
widths = st.floats(0.0, 0.5)


def comparison(ms: float = 10.0, half_width: float = 0.01, *, control: float = 1.0, **changes: Any) -> dict[str, Any]:
    """A comparison whose plan takes so long, within so much."""
    ends = {"low": ms * (1 - half_width), "high": ms * (1 + half_width)}
    return {
        "latency_ms": {"median": ms},
        "figures": {
            "interval_ms": ends,
            "p99_ms": None,
            "p99_interval_ms": None,
            "compile_s": 1.0,
            "cold_samples_s": [0.4, 0.5, 0.9],
            "memory": {"peak": 120, "steady": 90, "peak_samples": [100, 120]},
            "max_rel_error": 1e-6,
        },
        "search": {"control_void": abs(control - 1) > 0.02, "control": {"median": control}},
        "machine": {"cpu": "A CPU", "cores": 2, "architecture": "x86_64", "system": "Linux", "isa": ("avx2",)},
        "engines": {"mnn": {"version": "3.6.1"}},
        "threads": 2,
    } | changes


def outcome(limit: str, now: dict[str, Any], then: dict[str, Any] | None = None) -> Outcome:
    return judge(now, then, [parse_limit(limit)]).outcome


@pytest.mark.parametrize(
    ("ms", "limit", "expected"),
    [
        (11.0, "p50>+5%", Outcome.BROKEN),
        (10.5, "p50>+5%", Outcome.UNDECIDED),
        (10.2, "p50>+5%", Outcome.KEPT),
        (9.0, "p50<-5%", Outcome.BROKEN),
        (10.0, "p50<-5%", Outcome.KEPT),
        (11.0, "p50>+2ms", Outcome.KEPT),
        (13.0, "p50>+2ms", Outcome.BROKEN),
        (12.0, "p50>+2ms", Outcome.UNDECIDED),
        (12.0, "p50>11ms", Outcome.BROKEN),
    ],
)
def test_a_limit_is_broken_if_the_whole_interval_is_beyond_it(ms: float, limit: str, expected: Outcome) -> None:
    assert outcome(limit, comparison(ms), comparison()) is expected


def test_the_gravest_outcome_counts() -> None:
    limits = [parse_limit(text) for text in ("p50>+5%", "p50>+10%", "p50>+50%")]
    found = judge(comparison(11.0), comparison(), limits)
    assert [each.outcome for each in found.findings] == [Outcome.BROKEN, Outcome.UNDECIDED, Outcome.KEPT]
    assert (found.outcome, found.outcome.exit_code) == (Outcome.BROKEN, 6)
    assert judge(comparison(11.0), comparison(), limits[1:]).outcome.exit_code == 7
    assert judge(comparison(11.0), comparison(), limits[2:]).outcome.exit_code == 0


def test_a_control_that_is_out_widens_times_by_twice_that() -> None:
    noisy = comparison(11.0, control=1.05)
    assert outcome("p50>+5%", noisy, comparison()) is Outcome.UNDECIDED
    assert outcome("p50>+5%", comparison(13.0, control=1.05), comparison()) is Outcome.BROKEN
    assert outcome("p50>+5%", comparison(13.0), comparison(control=1.2)) is Outcome.UNDECIDED
    assert outcome("memory>110B", noisy) is Outcome.UNDECIDED  # of two processes one was over it
    assert outcome("memory>99B", noisy) is Outcome.BROKEN


def test_a_control_with_a_wide_interval_widens_times_by_that() -> None:
    wide = {"control_void": True, "control": {"median": 1.0, "low": 0.8, "high": 1.1}}
    assert outcome("p50>+5%", comparison(12.0), comparison()) is Outcome.BROKEN
    assert outcome("p50>+5%", comparison(12.0, search=wide), comparison()) is Outcome.UNDECIDED
    assert outcome("p50>+5%", comparison(14.0, search=wide), comparison()) is Outcome.BROKEN


@pytest.mark.parametrize("control", [None, {"median": 1.0}])
def test_a_paired_benchmark_that_did_not_come_to_its_end_decides_nothing(control: dict[str, float] | None) -> None:
    cut = comparison(20.0, search={"control_void": True, "control": control})
    found = judge(cut, comparison(), [parse_limit("p50>+5%")])
    assert (found.outcome, found.findings[0].why) == (Outcome.UNDECIDED, "the paired benchmark did not come to its end")


@pytest.mark.parametrize(
    ("limit", "why"), [("p99>+5%", "p99 was not measured"), ("error>+5%", "the baseline's figure is 0")]
)
def test_what_was_not_measured_is_undecided(limit: str, why: str) -> None:
    then = comparison()
    then["figures"]["max_rel_error"] = 0.0
    found = judge(comparison(), then, [parse_limit(limit)])
    assert found.outcome is Outcome.UNDECIDED
    assert found.findings[0].why.startswith(why)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"threads": 4}, "threads: 4 then, 2 now"),
        ({"objective": "throughput"}, "objective: throughput then, latency now"),
        ({"instances": 2}, "instances: 2 then, 1 now"),
        ({"engines": {"mnn": {"version": "3.5"}}}, "mnn: 3.5 then, 3.6.1 now"),
        ({"engines": {}}, "mnn: not there then, 3.6.1 now"),
        ({"machine": comparison()["machine"] | {"cpu": "B"}}, "cpu: B then, A CPU now"),
    ],
)
def test_another_machine_engines_or_threads_are_not_compared(changes: dict[str, Any], said: str) -> None:
    found = judge(comparison(99.0), comparison(**changes), [parse_limit("p50>+5%")])
    assert found.differences == (said,)
    assert (found.outcome, found.outcome.exit_code) == (Outcome.ELSEWHERE, 8)


def test_a_baseline_from_a_file_is_of_the_same_machine() -> None:
    """JSON knows no tuples."""
    then = deepcopy(comparison())
    then["machine"]["isa"] = ["avx2"]
    assert outcome("p50>+5%", comparison(), then) is Outcome.KEPT


def test_figures_span_what_the_processes_found() -> None:
    assert figure(comparison(), "cold") == Interval(median=0.5, low=0.4, high=0.9)
    assert figure(comparison(), "memory") == Interval(median=110, low=100, high=120)
    assert figure(comparison(), "compile") == Interval(median=1.0, low=1.0, high=1.0)
    assert figure(comparison(), "p99") is None


def interval(median: float, width: float) -> Interval:
    return Interval(median=median, low=median * (1 - width), high=median * (1 + width))


@given(medians, widths, medians, widths)
def test_a_ratio_holds_its_median_and_turns_over(a: float, wa: float, b: float, wb: float) -> None:
    now, then = interval(a, wa), interval(b, wb)
    found, back = ratio(now, then), ratio(then, now)
    assert found.low <= found.median * (1 + 1e-9)
    assert found.median <= found.high * (1 + 1e-9)
    assert math.isclose(found.low * back.high, 1.0, rel_tol=1e-6)
    # Wider than either side alone, but no wider than the worst case of both.
    assert found.high >= max(now.high / then.median, now.median / then.low) * (1 - 1e-9)
    assert found.high <= now.high / then.low * (1 + 1e-9)


@given(medians, widths, medians, widths)
def test_a_difference_turns_over_too(a: float, wa: float, b: float, wb: float) -> None:
    now, then = interval(a, wa), interval(b, wb)
    found, back = difference(now, then), difference(then, now)
    assert found.low <= found.median <= found.high
    assert math.isclose(found.low, -back.high, abs_tol=1e-6)
    assert found.high - found.low >= max(now.high - now.low, then.high - then.low) * (1 - 1e-9) - 1e-9


@given(medians, widths, st.sampled_from(["p50>+5%", "p50<-5%", "p50>+1ms"]))
def test_a_plan_against_itself_never_breaks_a_limit(ms: float, width: float, limit: str) -> None:
    assert outcome(limit, comparison(ms, width), comparison(ms, width)) is not Outcome.BROKEN


@given(medians, medians, widths, widths, st.floats(-0.5, 0.5))
def test_the_two_sides_of_a_limit_are_never_both_broken(a: float, b: float, wa: float, wb: float, bound: float) -> None:
    assume(abs(bound) > 1e-6)
    limits = [parse_limit(f"p50{op}{100 * bound:+.9f}%") for op in "><"]
    judged = [judge(comparison(a, wa), comparison(b, wb), [limit]) for limit in limits]
    ends = judged[0].findings[0].found
    assume(ends is None or limits[0].bound not in (ends.low, ends.high))  # there only one side is decided
    found = [each.outcome for each in judged]
    assert found.count(Outcome.BROKEN) <= 1
    assert (Outcome.UNDECIDED in found) == (found == [Outcome.UNDECIDED] * 2)


@given(medians, widths, st.floats(0.01, 1.0))
def test_slower_is_never_judged_better(ms: float, width: float, more: float) -> None:
    order = [Outcome.KEPT, Outcome.UNDECIDED, Outcome.BROKEN]
    limit: Limit = parse_limit("p50>+5%")
    then = comparison(10.0, 0.02)
    found = [judge(comparison(each, width), then, [limit]).outcome for each in (ms, ms * (1 + more))]
    assert order.index(found[0]) <= order.index(found[1])


@pytest.mark.parametrize(
    "change",
    [
        {"figures": []},
        {"figures": {}},
        {"figures": {"cold_samples_s": ["a"]}},
        {"figures": {"cold_samples_s": [float("nan")]}},
        {"search": None},
        {"search": {"control": {}, "control_void": True}},
        {"machine": [], "engines": {}},
        {"engines": {"mnn": 3}},
        {"latency_ms": {"median": "fast"}},
    ],
)
def test_a_damaged_baseline_is_refused_before_anything_is_measured(change: dict[str, Any], tmp_path: Path) -> None:
    whole = comparison()
    path = tmp_path / "b.json"
    path.write_text(json.dumps(whole))
    assert read_baseline(path) == json.loads(json.dumps(whole))
    spoiled = {
        name: {**whole[name], **inner} if name == "figures" and inner else inner for name, inner in change.items()
    }
    path.write_text(json.dumps({**whole, **spoiled}))
    with pytest.raises(ConfigError, match=r"b\.json: is damaged"):
        read_baseline(path)


@pytest.mark.parametrize("content", ["[" * 100_000, "\x00", "3", "[]", '{"figures": {}}'])
def test_what_is_no_baseline(content: str, tmp_path: Path) -> None:
    (tmp_path / "b.json").write_text(content)
    with pytest.raises(ConfigError, match="write one with compare --save"):
        read_baseline(tmp_path / "b.json")
