from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intarsia.spec import Bool, Enum, Float, Int, ListOf, MapOf, Order, SpecOf, Str
from intarsia.spec.containers import last_signs
from intarsia.spec.types import PowerOfTwo

MENTIONS = st.lists(st.from_regex("[+-]?[abc]", fullmatch=True), max_size=8)


@given(MENTIONS)
def test_the_last_mention_wins(mentions: list[str]) -> None:
    last = {mention.lstrip("+-"): mention for mention in mentions}
    assert sorted(last_signs(mentions)) == sorted(last.values())


@given(MENTIONS)
def test_canonical_mentions_stay(mentions: list[str]) -> None:
    assert last_signs(last_signs(mentions)) == last_signs(mentions)


def test_runs_of_one_sign_are_sorted_and_keep_their_place() -> None:
    assert last_signs(["+c", "+b", "-z", "-y", "+a"]) == ("+b", "+c", "-y", "-z", "+a")


@pytest.mark.parametrize(
    ("type_", "label"),
    [
        (Bool(), "bool"),
        (Int(), "int"),
        (Int(minimum=1), "int ≥ 1"),
        (PowerOfTwo(), "power of 2"),
        (Float(), "float"),
        (Enum(("a", "b")), "a | b"),
        (ListOf(Str(), Order.FREE), "list of str, unordered"),
        (MapOf(Int()), "map to int"),
        (SpecOf("target"), "target"),
    ],
)
def test_labels(type_: Bool, label: str) -> None:
    assert type_.label == label
