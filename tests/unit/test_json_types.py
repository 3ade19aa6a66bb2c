"""JSON that anybody may have written: what is not of its type is told with its place, and nothing is converted."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intarsia.json_types import (
    Fault,
    Field,
    JsonType,
    anything,
    count,
    either,
    flag,
    integer,
    number,
    optional,
    parsed,
    record,
    row,
    several,
    table,
    text,
    word,
)


class Word(StrEnum):
    """Two words."""

    ONE = "one"
    TWO = "two"


POINT = record(dict, {"x": integer, "name": Field(text, "none")})
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


def read(type_: JsonType, value: Any) -> tuple[Any, list[Fault]]:
    faults: list[Fault] = []
    return type_(value, "", faults), faults


@pytest.mark.parametrize(
    ("type_", "value", "found"),
    [
        (text, "a", "a"),
        (flag, True, True),
        (integer, -(2**70), -(2**70)),
        (count, 0, 0),
        (number, 1, 1.0),
        (anything, [None], [None]),
        (optional(text), None, None),
        (either(integer, text), "n", "n"),
        (either(integer, text), 3, 3),
        (word(Word), "two", Word.TWO),
        (several(integer), [1, 2], (1, 2)),
        (row(text, integer), ["a", 1], ("a", 1)),
        (table(integer), {"a": 1}, {"a": 1}),
        (POINT, {"x": 1}, {"x": 1, "name": "none"}),
        (record(dict, {"x": integer}, is_open=True), {"x": 1, "y": 2}, {"x": 1}),
    ],
)
def test_what_is_right_is_read(type_: JsonType, value: Any, found: Any) -> None:
    assert read(type_, value) == (found, [])


@pytest.mark.parametrize(
    ("type_", "value", "fault"),
    [
        (text, 1, ("", "must be a string, found 1")),
        (flag, 0, ("", "must be a boolean, found 0")),
        (integer, True, ("", "must be an integer, found true")),
        (integer, "2", ("", 'must be an integer, found "2"')),
        (integer, 1.0, ("", "must be an integer, found 1.0")),
        (count, -1, ("", "must be an integer from 0 to 70368744177664, found -1")),
        (count, 2**46 + 1, ("", "must be an integer from 0 to 70368744177664, found 70368744177665")),
        (number, "1", ("", 'must be a number, found "1"')),
        (word(Word), "three", ("", 'must be one of one, two, found "three"')),
        (word(Word), ["one"], ("", 'must be one of one, two, found ["one"]')),
        (several(integer), {}, ("", "must be a list, found {}")),
        (several(integer), [1, None], ("[1]", "must be an integer, found null")),
        (row(text, integer), ["a"], ("", 'must be a list of 2, found ["a"]')),
        (row(text, integer), ["a", "b"], ("[1]", 'must be an integer, found "b"')),
        (table(integer), [], ("", "must be an object, found []")),
        (table(table(integer)), {"a": {"b": ""}}, ("a.b", 'must be an integer, found ""')),
        (POINT, {}, ("x", "it is missing")),
        (POINT, {"x": 1, "y": 2}, ("y", "there is no such field")),
        (several(POINT), [{"x": "1"}], ("[0].x", 'must be an integer, found "1"')),
    ],
)
def test_what_is_wrong_is_told_with_its_place(type_: JsonType, value: Any, fault: Fault) -> None:
    assert read(type_, value)[1] == [fault]


def test_what_is_long_is_shown_in_part() -> None:
    [(_, what)] = read(integer, "x" * 10_000)[1]
    assert len(what) < 120


def test_a_number_beyond_all_is_none() -> None:
    assert len(read(number, 10**400)[1]) == 1


def test_what_makes_the_value_may_refuse_it() -> None:
    def made(x: int) -> None:
        raise ValueError(f"{x} is not wanted")

    assert read(table(record(made, {"x": integer})), {"a": {"x": 3}})[1] == [("a", "3 is not wanted")]


@pytest.mark.parametrize("content", [b"", b"{", b"[" * 100_000, b'"\\ud800"', b'{"\\ud800": 1}', b"\xff", b"1" * 5000])
def test_what_is_no_json_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - json's own words differ by version
        parsed(content)


def test_json_is_read() -> None:
    assert parsed('{"a": "\\u00e4 ä"}'.encode()) == {"a": "ä ä"}


@given(JSON)
def test_no_value_breaks_a_type(value: Any) -> None:
    for type_ in (text, flag, integer, count, number, word(Word), several(POINT), row(text), table(POINT), POINT):
        found, faults = read(type_, value)
        assert faults or found is not None
