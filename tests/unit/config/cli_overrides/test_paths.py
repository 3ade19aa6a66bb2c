from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intarsia.config.cli_overrides.paths import changed, leaves, print_path, read_path, value_at
from intarsia.errors import SpecError

NAMES = st.sampled_from(["a", "b-c", "d_e", "f:1", "g/h"])
FORMS: st.SearchStrategy[Any] = st.recursive(
    st.integers() | st.lists(st.integers(), max_size=2),
    lambda inner: (
        st.dictionaries(NAMES, inner, max_size=3)
        | st.lists(st.dictionaries(NAMES, inner, min_size=1, max_size=2), max_size=2)
    ),
    max_leaves=6,
)


@given(NAMES, st.lists(NAMES | st.integers(0, 99), max_size=4))
def test_a_path_is_read_back(name: str, rest: list[str | int]) -> None:
    steps = (name, *rest)
    assert read_path(print_path(steps)) == steps


@pytest.mark.parametrize("text", ["", ".", "[0]", "a..b", "a.", ".a", "a[b]", "a[0", "a b", "a[0]b c", "a]"])
def test_other_texts_are_no_path(text: str) -> None:
    with pytest.raises(SpecError, match="is not a path; write one such as"):
        read_path(text)


@given(FORMS)
def test_every_leaf_stands_at_its_path(form: Any) -> None:
    for steps, value in leaves(form):
        assert value_at(form, steps) == value


@given(FORMS)
def test_a_change_replaces_one_leaf_and_no_other(form: Any) -> None:
    before = dict(leaves(form))
    for steps in before:
        after = dict(leaves(changed(form, steps, "new")))
        assert after == before | {steps: "new"}
        assert dict(leaves(form)) == before


def test_plain_lists_are_leaves() -> None:
    form = {"targets": [{"mattr": ["+a", "+b"]}, {}], "tags": []}
    assert [(print_path(steps), value) for steps, value in leaves(form)] == [
        ("targets[0].mattr", ["+a", "+b"]),
        ("targets[1]", {}),
        ("tags", []),
    ]


def test_nothing_stands_beyond_the_end() -> None:
    assert value_at({"a": [1]}, ("a", 1)) is None
    assert value_at({"a": [1]}, ("a", "b")) is None
    assert value_at(3, ("a",)) is None
