"""Rows and sentences about engines at their default settings."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intarsia.cost.timing.statistics import Interval
from intarsia.cost.timing.verdict import Shown
from intarsia.report.default_settings import enough, remark, rows_json, sentences
from intarsia.search.default_settings import AtDefaults

FAST = AtDefaults(
    engine="openvino -performance-hint=latency",
    target="openvino -inference-precision=bf16",
    type="bf16",
    gain=Interval(median=2.0, low=1.9, high=2.1),
    shown=Shown.FASTER,
    error=0.006,
    inputs=8,
)
INEXACT = replace(FAST, engine="mnn", target="mnn -memory=high", type=None)


def sentence(found: AtDefaults) -> str:
    (only,) = sentences({"default_settings": rows_json([found], 10.0, 1.5)})
    return only


def test_a_row_is_normalised_to_the_chosen_plan() -> None:
    (row,) = rows_json([FAST], 10.0, 1.5)
    assert row["latency_ms"] == 5.0
    assert row["speed"] == 3.0
    assert row["precision"] == "bf16"
    assert remark(row) == "default settings: bf16, error 0.6 %"


def test_without_a_figure_of_the_chosen_plan_a_row_has_none() -> None:
    (row,) = rows_json([FAST], None, None)
    assert row["latency_ms"] is None
    assert row["speed"] is None


def test_under_load_a_row_has_the_requests_of_the_chosen_plan_by_its_gain() -> None:
    rate = {"median": 50.0, "low": 48.0, "high": 52.0}
    load = {"instances": 2, "threads": 1, "requests_per_second": rate, "p50_ms": 40.0, "p99_ms": 44.0}
    (row,) = rows_json([FAST], 40.0, 1.5, load)
    assert row["load"] == {
        "instances": 2,
        "threads": 1,
        "requests_per_second": {"median": 100.0, "low": None, "high": None},
        "p50_ms": None,
        "p99_ms": None,
    }
    (said,) = sentences({"default_settings": [row]})
    assert "2.00 times as many requests a second as what ships" in said
    (unknown,) = rows_json([replace(FAST, gain=None)], 40.0, 1.5, load)
    assert unknown["load"]["requests_per_second"] is None


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {},
            "openvino computes in bf16 by default here: 2.00 times as fast as what ships (1.90 to 2.10), error 0.6 %; "
            "--max-error 0.008 allows plans in reduced precision",
        ),
        (
            {"error": 0.31},
            "openvino computes in bf16 by default here: 2.00 times as fast as what ships (1.90 to 2.10), error 31 %, "
            "which is more than rounding explains: check its answers before you use it",
        ),
        (
            {"shown": Shown.SLOWER, "gain": Interval(median=0.5, low=0.4, high=0.6)},
            "openvino computes in bf16 by default here: 0.50 times as fast as what ships (0.40 to 0.60), error 0.6 %",
        ),
        (
            {"shown": Shown.NOTHING},
            "openvino computes in bf16 by default here: 2.00 times as fast as what ships (1.90 to 2.10), but the "
            "benchmark is void, error 0.6 %",
        ),
        (
            {"gain": None, "error": None, "reason": "there was no time to measure it"},
            "openvino computes in bf16 by default here; there was no time to measure it",
        ),
        (
            {"error": None, "reason": "there was no time to find its error"},
            "openvino computes in bf16 by default here: 2.00 times as fast as what ships (1.90 to 2.10); there was no "
            "time to find its error",
        ),
    ],
)
def test_one_sentence_says_what_to_do(changes: dict[str, Any], said: str) -> None:
    assert sentence(replace(FAST, **changes)) == said


def test_an_engine_that_is_less_exact_in_fp32_is_told_apart() -> None:
    assert sentence(INEXACT).startswith("mnn computes less exactly by default: 2.00 times as fast")


def test_reports_without_such_rows_have_no_sentence() -> None:
    assert list(sentences({})) == []


@given(st.floats(min_value=1e-12, max_value=1.0))
def test_what_is_to_be_allowed_is_more_than_the_error_and_has_one_digit(error: float) -> None:
    allowed = enough(error)
    assert 1.3 * error <= allowed * (1 + 1e-9) <= 2.7 * error
    assert float(f"{allowed:.0e}") == allowed


def test_no_error_needs_no_allowance() -> None:
    assert enough(0.0) == 0.0
