from __future__ import annotations

import pytest

from intarsia.errors import SpecError
from intarsia.spec.problems import Problems, Where, nearest, shown
from intarsia.spec.syntax import Piece


def test_no_problem_raises_nothing() -> None:
    Problems().raise_any()


def test_all_are_raised_together() -> None:
    problems = Problems()
    problems.add(Where("a").item(1).field("b"), "first")
    problems.add(Where(), "second")
    with pytest.raises(SpecError, match=r"^2 problems:\na\[1\]\.b: first\nsecond$"):
        problems.raise_any()


def test_very_many_problems_are_counted() -> None:
    problems = Problems()
    for number in range(60):
        problems.add(Where(), f"no. {number}")
    assert problems.is_full
    with pytest.raises(SpecError, match=r"^60 problems:\nno\. 0\n(.*\n){49}… and 10 more$"):
        problems.raise_any()


def test_hints_are_given_for_the_first_problems() -> None:
    problems = Problems()
    assert problems.nearest("thread", ["threads"]) == "; did you mean 'threads'?"
    for number in range(10):
        problems.add(Where(), f"no. {number}")
    assert problems.nearest("thread", ["threads"]) == ""


def test_among_many_words_the_one_with_the_same_ends_is_found() -> None:
    words = [f"nvidia/geforce-rtx-{number}" for number in range(2000, 2400)]
    assert nearest("nvidia/geforce-rtx-2xx399", words) == "; did you mean 'nvidia/geforce-rtx-2399'?"


def test_the_caret_stands_under_its_line() -> None:
    problems = Problems()
    problems.add(Where(piece=Piece.whole("one\ntwo three").cut(8, 13)), "bad")
    with pytest.raises(SpecError, match=r"^bad\n  two three\n      \^\^\^\^\^$"):
        problems.raise_any()


def test_nearest_overlooks_case_and_underscores() -> None:
    assert nearest("Max_Threads", ["max-threads"]) == "; did you mean 'max-threads'?"
    assert nearest("zzz", ["max-threads"], "known are …") == "; known are …"
    assert nearest("x" * 100_000, ["x" * 60]) == ""


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "True (bool)"),
        ("a", "'a' (str)"),
        ([], "a list"),
        (None, "None (NoneType)"),
        pytest.param(10**5000, "a very large number (int)", id="large"),
    ],
)
def test_shown(value: object, text: str) -> None:
    assert shown(value) == text
