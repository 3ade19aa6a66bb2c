"""The sentences of a report, and that an older report makes fewer of them, never an error."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intarsia.report.reasons import (
    BEFORE_THEY_WERE_KEPT,
    accuracy,
    decision,
    driven_inside,
    figures,
    in_precision,
    ms,
    opportunity,
    percent,
    rows_inside,
    runner_up,
    unmeasured,
)
from tests.cli_fakes import ALONE, OLD, PARTITIONS, REDUCED, REPORT, SEARCH


@given(st.floats(1e-3, 999, allow_nan=False))
def test_milliseconds_keep_three_digits(value: float) -> None:
    assert float(ms(value)) == pytest.approx(value, rel=5.1e-3)


@pytest.mark.parametrize(("value", "text"), [(None, "-"), (15.96, "16.0"), (220.9, "221"), (0.97, "0.970")])
def test_milliseconds_as_text(value: float | None, text: str) -> None:
    assert ms(value) == text


@pytest.mark.parametrize(("share", "text"), [(None, "-"), (0.744, "74 %"), (1.0, "100 %")])
def test_a_share_as_text(share: float | None, text: str) -> None:
    assert percent(share) == text


@pytest.mark.parametrize(
    ("place", "text"),
    [
        (
            {"target": "ncnn", "segments": [3, 6], "gain_ms": 1.2, "transitions": 2, "transition_ms": 1.9},
            "ncnn would be faster on segments 3-5 by 1.20 ms, but two transitions cost 1.90 ms",
        ),
        (
            {"target": "mnn", "segments": [0, 1], "gain_ms": 1.2, "transitions": 1, "transition_ms": 0.5},
            "mnn would be faster on segment 0 by 1.20 ms, and one transition costs 0.500 ms",
        ),
        (
            {"target": "mnn", "segments": [0, 1], "gain_ms": 1.2, "transitions": 1, "transition_ms": None},
            "mnn would be faster on segment 0 by 1.20 ms; what one transition would cost was not measured",
        ),
    ],
)
def test_an_opening_in_words_and_figures(place: dict[str, Any], text: str) -> None:
    assert opportunity(place) == text


def test_a_mix_needs_no_more_than_its_reason() -> None:
    assert list(decision(REPORT)) == ["chosen: collage; the mix is 1.22 times as fast (1.19 to 1.24)"]


def test_a_single_engine_is_told_with_what_speaks_against_it() -> None:
    first, *places = decision(ALONE)
    assert first == "chosen: mnn; no difference shown between the best mix and it (0.99 to 1.05 times as fast)"
    assert places == [opportunity(place) for place in ALONE["opportunities"]]
    many = ALONE | {"opportunities": ALONE["opportunities"] * 2}
    assert list(decision(many))[-1] == "1 more place where another engine is faster (--verbose)"
    assert list(decision(many, "below"))[-1] == "1 more place where another engine is faster (below)"


def test_no_opening_is_only_told_of_a_search_that_looked_everywhere() -> None:
    none = ALONE | {"opportunities": []}
    assert len(list(decision(none))) == 1
    searched = none | {"search": SEARCH | {"unmeasured": []}}
    assert "no other engine would save" in list(decision(searched))[1]
    assert len(list(decision(searched | {"segments": []}))) == 1  # nothing was searched


def test_a_part_shows_its_first_alternative_or_why_it_has_none() -> None:
    assert runner_up(PARTITIONS[0]) == "14.1 (+2.44) onnxruntime -optimization-level=all"
    assert runner_up(PARTITIONS[1]) == "~8.30 (+3.90) mnn"
    assert runner_up(PARTITIONS[1] | {"runners_up": []}) == "none; ncnn refused: no GRU (gru_1)"
    assert runner_up({}) == "-"


def test_what_the_time_left_out() -> None:
    left = [{"target": "a", "segments": [1, 2]}, {"target": "b", "segments": [0, 1]}, {"target": "c", "segments": [1]}]
    (sentence,) = unmeasured(SEARCH | {"unmeasured": left})
    assert sentence.endswith("not measured: 2 of 3 segments on a, b; 1 of 3 segments on c")
    assert list(unmeasured(SEARCH | {"finished": True})) == []


def test_the_figures_of_a_mix() -> None:
    told = list(figures(REPORT))
    assert told[0] == "latency 16.0 ms (min 15.4, p90 17.2); predicted 15.2 ms, 4.8 % less than measured"
    assert any("1.216 x the speed of mnn" in line for line in told)
    assert any(line.startswith("control: the plan to beat against itself 1.003") for line in told)


def test_a_void_paired_benchmark_says_so() -> None:
    void = REPORT | {"search": SEARCH | {"control_void": True}}
    assert any("the benchmark is void: it left 2 %" in line for line in figures(void))
    wide = {"control_void": True, "void_reason": "its interval reaches further than 10 % from 1"}
    told = figures(REPORT | {"search": SEARCH | wide})
    assert any("the benchmark is void: its interval reaches further than 10 % from 1" in line for line in told)
    assert any(
        "the benchmark is void" in line
        for line in figures(void | {"search": SEARCH | {"control_void": True, "control": None}})
    )


@pytest.mark.parametrize(
    ("shown", "remark"),
    [
        ("faster", "1.241)"),
        ("slower", "1.241)"),
        ("no difference shown", "; no difference shown"),
        ("void", "; the benchmark is void, so nothing is shown"),
    ],
)
def test_a_speed_is_told_with_what_it_shows(shown: str, remark: str) -> None:
    (line,) = [line for line in figures(REPORT | {"shown_vs_best_single": shown}) if "x the speed" in line]
    assert line.endswith(remark)


def test_a_race_from_the_store_is_marked() -> None:
    kept = REPORT | {"search": SEARCH | {"benchmark_replayed": True}}
    assert any(line.endswith("the benchmark is of an earlier compile, from the store") for line in figures(kept))


def test_what_ended_the_search_is_said_with_the_time_that_it_had() -> None:
    def told(**search: bool) -> str:
        return next(unmeasured(SEARCH | search, 60.0))

    assert told().startswith("the search used up its share of the 60 s budget; not measured: 1 of 3 segments on ncnn")
    assert told(replayed=True).startswith("the search, of an earlier compile, had used up its share of the 60 s budget")
    assert told(interrupted=True).startswith("it was interrupted before its end")
    assert not list(unmeasured(SEARCH | {"finished": True}, 60.0))


def test_how_a_plan_runs() -> None:
    assert any(
        "1 transition (0.310 ms together), inside one session, threads 2" in line
        for line in figures(REPORT | {"embed": True})
    )


def test_what_was_not_measured_is_not_told() -> None:
    bare = {"speedup_vs_best_single": None, "latency_ms": None, "max_rel_error": None, "prediction": None}
    bare["figures"] = None
    told = list(figures(REPORT | bare | {"search": SEARCH | {"control": None, "finished": True}}))
    assert [line.split()[0] for line in told] == ["predicted", "1", "search"]


def test_an_artifact_from_before_says_that_runners_up_are_missing() -> None:
    assert list(decision(OLD))[1] == BEFORE_THEY_WERE_KEPT
    assert len(list(figures(OLD))) == len(list(figures(REPORT))) - 2  # no control, no memory


def test_the_memory_of_a_mix_stands_beside_that_of_the_best_single_engine() -> None:
    [told] = [line for line in figures(REPORT) if line.startswith("memory")]
    assert told == "memory 231 MB at its peak, 190 MB between runs; mnn alone 210 MB; cold start 0.74 s"
    [alone] = [line for line in figures(ALONE) if line.startswith("memory")]
    assert alone == "memory 210 MB at its peak, 180 MB between runs; cold start 0.40 s"


def test_the_error_of_each_output_and_of_how_many_nodes() -> None:
    (line,) = accuracy(REDUCED)
    assert line == (
        "error on 32 validation inputs: scores 0.018 (mean 0.016), boxes 0.0031 (mean 0.0027); 0.05 is allowed"
    )
    assert in_precision(REDUCED["partitions"][0]) == "mnn, 2 in int8-static"
    assert not list(accuracy(OLD))
    assert in_precision(OLD["partitions"][0]) == OLD["partitions"][0]["target"]


def test_what_is_inside_of_a_partition_is_numbered_and_indented() -> None:
    last = {"target": "mnn", "nodes": ["b", "c"]}
    deep = {"target": "nested -config=mnn", "nodes": ["b", "c"], "inside": {"partitions": [last]}}
    first = {"target": "ncnn", "nodes": ["a"]}
    part = {"target": "nested", "nodes": ["a", "b", "c"], "inside": {"partitions": [first, deep]}}
    assert list(rows_inside(part, "2")) == [
        ("2.1", "  ncnn", 1),
        ("2.2", "  nested -config=mnn", 2),
        ("2.2.1", "    mnn", 2),
    ]
    assert list(rows_inside({"target": "mnn", "nodes": ["a"]}, "1")) == []


@pytest.mark.parametrize(
    ("inside", "told"),
    [
        ({"executor": "vm", "runtime": "python"}, "executor vm, runtime python"),
        (
            {"executor": "graph", "runtime": "rpc", "threads": 1, "parallel": True},
            "executor graph, runtime rpc; 1 thread; independent partitions at one time",
        ),
        (
            {"executor": "pipeline -depth=2", "runtime": "python", "pipeline": {"stages": [1, 2], "threads": [1, 1]}},
            "executor pipeline -depth=2, runtime python; a stream through 2 stages (threads 1, 1)",
        ),
        (
            {"executor": "pipeline", "runtime": "python"},
            "executor pipeline, runtime python; no stages: it has one thread, or nothing that can be cut",
        ),
    ],
)
def test_how_an_inside_is_driven(inside: dict[str, Any], told: str) -> None:
    assert driven_inside(inside) == told
