from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intarsia.spec import syntax
from intarsia.spec.syntax import Piece

ODD = st.text(st.sampled_from("ab'\"\\ ,=-{\t\né"))


@given(ODD)
def test_leaf_reads_what_print_leaf_wrote(text: str) -> None:
    assert syntax.leaf(Piece.whole(syntax.print_leaf(text))) == text


@given(ODD)
def test_unquote_undoes_quote(text: str) -> None:
    quoted = syntax.quote(text)
    assert syntax.is_quoted(quoted)
    assert syntax.unquote(Piece.whole(quoted)).text == text


@given(st.lists(ODD, max_size=4))
def test_a_container_splits_into_the_leaves_that_were_joined(items: list[str]) -> None:
    body = ",".join(syntax.print_leaf(item) for item in items)
    for inside in (False, True):
        printed = syntax.print_container(body, inside=inside)
        assert len(syntax.words(Piece.whole(printed))) == 1
        parts = syntax.split(syntax.layer(Piece.whole(printed)), ",")
        assert [syntax.leaf(part) for part in parts] == items


@given(ODD)
def test_pieces_know_where_their_characters_stood(text: str) -> None:
    for word in syntax.words(Piece.whole(text)):
        start, stop = word.span
        assert text[start:stop] == word.text


@given(ODD)
def test_unquoting_keeps_positions(text: str) -> None:
    inner = syntax.unquote(Piece.whole(syntax.quote(text)))
    assert [inner.source[position] for position in inner.at[:-1]] == list(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("'a b'", "a b"),
        ("'bl'ah", "'bl'ah"),
        (r"a\ b", "a b"),
        (r"'bl\'ah'x", r"'bl\'ah'x"),
        (r"'\'\\\'blah\\\'\''", r"'\'blah\''"),
        ("'  trimmed '", "trimmed"),
        (r"'\ kept\ '", " kept "),
        ('"it\'s"', "it's"),
        ("''", ""),
        ("a=b", "a=b"),
    ],
)
def test_leaf(text: str, value: str) -> None:
    assert syntax.leaf(Piece.whole(text)) == value


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a,b,c", ["a", "b", "c"]),
        ("a -x=+v,+w, b", ["a -x=+v,+w", "b"]),
        ("a -x=1,b", ["a -x=1,b"]),
        ("a ,b", ["a", "b"]),
        ("a -x ,b", ["a -x", "b"]),
        ("a -x='1, 2', b", ["a -x='1, 2'", "b"]),
        ("'a -x=1','b'", ["'a -x=1'", "'b'"]),
        ("v/g-ddr3,128bit -x=1, b", ["v/g-ddr3,128bit -x=1", "b"]),
        ("v/g-ddr3,128bit,b", ["v/g-ddr3,128bit", "b"]),
        ("v/g-ddr3,128bits,b", ["v/g-ddr3", "128bits", "b"]),
        ("a,,b", ["a", "", "b"]),
        ("a,", ["a", ""]),
        ("", [""]),
    ],
)
def test_split_specs(text: str, parts: list[str]) -> None:
    tags = ["v/g-ddr3", "v/g-ddr3,128bit"]
    assert [part.text for part in syntax.split_specs(Piece.whole(text), tags)] == parts


@pytest.mark.parametrize(("text", "index"), [("a 'b", 2), ("a\\", 1), ("'a\\'", 0), ("\"a'", 0)])
def test_unclosed_points_at_what_is_open(text: str, index: int) -> None:
    mark = syntax.unclosed(Piece.whole(text))
    assert mark is not None
    assert mark.span[0] == index


@pytest.mark.parametrize("text", ["", "a", "'a'", "'a\\'b'", '"\'"'])
def test_closed_quotes_are_left_in_peace(text: str) -> None:
    assert syntax.unclosed(Piece.whole(text)) is None
