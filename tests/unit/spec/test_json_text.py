"""JSON that people write: each name once, finite numbers, and a caret under what is wrong."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intarsia.spec.documents import MOST_BYTES, MOST_DEEP, TextError
from intarsia.spec.json_text import check_written, depth, parse_json
from tests.unit.spec.test_yaml_text import DATA


@given(DATA)
def test_data_is_read_as_json_reads_it(data: Any) -> None:
    assert parse_json(json.dumps(data)) == data


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1,\n "a": 2}', "line 2: 'a' appears more than once\n   \"a\": 2}\n   ^^^"),
        ('{"b": "a", "a": {"a": [1, {"c": 1, "c": 2}]}}', "'c' appears more than once"),
        ('{"a": ["x", "x", {}], "b": "a", "\\u0061": 1}', "'a' appears more than once"),
        ("[NaN]", "NaN is not a JSON number; write a finite one\n  [NaN]\n   ^^^"),
        ("[1, -Infinity]", "-Infinity is not a JSON number; write a finite one"),
        (
            '["1e999", 1e999]',
            "'1e999' is larger than any number that a float holds\n  [\"1e999\", 1e999]\n            ^^^^^",
        ),
        ("[" + "9" * 5000 + "]", "this number has 5000 digits; at most 4000"),
        ("[" * (MOST_DEEP + 1) + "]" * (MOST_DEEP + 1), f"nested deeper than {MOST_DEEP} levels"),
        ("[" * 1_000_000, ""),
        ('{"a":' * 100_000, ""),
        ('{"a" 1}', "line 1: Expecting ':' delimiter\n  {\"a\" 1}\n       ^"),
        ("", "line 1: Expecting value"),
        ('"' + '\\"' * 1_000_000, "line 1: "),
        (" " * (MOST_BYTES + 1), "it is larger than 8 MiB"),
        ('{"a": "\x00"}', "Invalid control character"),
        ("\ufeff{}", "line 1: "),
    ],
)
def test_faults_have_a_line_and_a_caret(text: str, message: str) -> None:
    with pytest.raises(TextError) as caught:
        parse_json(text)
    assert message in str(caught.value)
    assert len(str(caught.value)) < 1000


@given(st.text(max_size=30) | st.text('{}[]:,"\\ue0-1.N \n', max_size=30))
def test_any_text_has_data_or_a_fault(text: str) -> None:
    with suppress(TextError):
        found = parse_json(text)
        assert parse_json(json.dumps(found)) == found


def test_half_a_character_cannot_be_written() -> None:
    for text in ('["\\ud83d\\ude00"]', '["\\\\ud800"]', '["a"]'):
        check_written(parse_json(text), text)
    for text in ('["\\ud800"]', '{"\\uDC00x": 1}'):
        with pytest.raises(TextError, match="half of a character"):
            check_written(parse_json(text), text)


def test_depth() -> None:
    assert [depth(data) for data in (1, [], {"a": 1}, [[], {"b": [{}]}])] == [0, 1, 1, 4]
