"""Limits as text: what they mean, and what is said of those that mean nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intarsia.errors import SpecError
from intarsia.report.limits import METRICS, Against, parse_limit


@pytest.mark.parametrize(
    ("text", "metric", "is_above", "against", "bound"),
    [
        ("p50>+5%", "p50", True, Against.SHARE, 0.05),
        ("p50<-5%", "p50", False, Against.SHARE, -0.05),
        (" p99 > +2 ms ", "p99", True, Against.CHANGE, 0.002),
        ("cold>1.5s", "cold", True, Against.VALUE, 1.5),
        ("compile>+250us", "compile", True, Against.CHANGE, 0.00025),
        ("memory>500MB", "memory", True, Against.VALUE, 5e8),
        ("memory>+1mib", "memory", True, Against.CHANGE, 2.0**20),
        ("error>1e-3", "error", True, Against.VALUE, 1e-3),
        ("error>+50%", "error", True, Against.SHARE, 0.5),
    ],
)
def test_what_a_limit_means(text: str, metric: str, is_above: bool, against: Against, bound: float) -> None:
    limit = parse_limit(text)
    assert (limit.metric, limit.is_above, limit.against) == (metric, is_above, against)
    assert limit.bound == pytest.approx(bound)


@pytest.mark.parametrize(
    ("text", "said", "carets"),
    [
        ("p5>+5%", "no figure is called 'p5'; did you mean 'p50'?", "^^"),
        ("speed>5", "there are p50, p99, cold, compile, memory, error", "^^^^^"),
        ("p50>5%", "the number has a sign: +5%", "     ^"),
        ("p50>5", "p50 has a unit: one of us, ms, s, %", "     ^"),
        ("memory>5mB%", "memory has no unit", "        ^^^"),
        ("p50>+ms", "a number is missing", "     ^"),
        ("p50>1.2.3ms", "'1.2.3' is no number", "    ^^^^^"),
        ("p50 5ms", "behind the figure stands >", "    ^"),
        ("p50>5ms and more", "is no limit; write it as p50>+5%", "^^^^^^^^^^^^^^^^"),
        ("", "no figure is called ''", "^"),
    ],
)
def test_what_is_wrong_is_pointed_at(text: str, said: str, carets: str) -> None:
    with pytest.raises(SpecError) as caught:
        parse_limit(text)
    lines = str(caught.value).splitlines()
    assert said in str(caught.value)
    assert f"  {carets}" in lines


def test_all_problems_are_told_together() -> None:
    with pytest.raises(SpecError, match=r"3 problems:[\s\S]*no figure[\s\S]*behind the figure[\s\S]*a number"):
        parse_limit("foo")


@given(st.text(max_size=12))
def test_any_text_is_a_limit_or_an_error_of_ours(text: str) -> None:
    try:
        limit = parse_limit(text)
    except SpecError:
        return
    assert limit.metric in METRICS
