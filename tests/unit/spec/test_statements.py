from __future__ import annotations

import pytest

from intarsia.spec import Bool, Option, Str, schema
from intarsia.spec.problems import Problems, Where
from intarsia.spec.statements import read_statements
from intarsia.spec.syntax import Piece, words

OPTIONS = schema([Option(name="flag", type=Bool(), meaning="x"), Option(name="word", type=Str(), meaning="x")])


def _pairs(text: str) -> list[tuple[str, str | None]]:
    found = read_statements(words(Piece.whole(text)), OPTIONS, Where(), Problems())
    return [(statement.name, None if statement.value is None else statement.value.text) for statement in found]


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("-a=b", [("a", "b")]),
        ("--a b -c", [("a", "b"), ("c", None)]),
        ("-flag -word x", [("flag", None), ("word", "x")]),
        ("-flag true", [("flag", "true")]),
        ("-flag word=x", [("flag", None), ("word", "x")]),
        ("-a=b=c", [("a", "b=c")]),
    ],
)
def test_pairs(text: str, pairs: list[tuple[str, str | None]]) -> None:
    assert _pairs(text) == pairs


@pytest.mark.parametrize("text", ["--", "-=1", "-a=", "x", "other=1"])
def test_what_is_no_statement_is_noted(text: str) -> None:
    problems = Problems()
    assert not list(read_statements(words(Piece.whole(text)), OPTIONS, Where(), problems))
    assert problems
