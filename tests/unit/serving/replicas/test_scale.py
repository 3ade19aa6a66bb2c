"""How many replicas: a text and what it says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intarsia.errors import ConfigError
from intarsia.serving.replicas.scale import Scale


@given(st.integers(1, 1000), st.integers(0, 999))
def test_a_scale_is_the_text_that_parses_back(least: int, more: int) -> None:
    scale = Scale(least=least, most=min(1000, least + more))
    assert Scale.parse(str(scale)) == scale


def test_one_number_is_always_so_many() -> None:
    assert Scale.parse("3") == Scale(least=3, most=3)


@pytest.mark.parametrize("text", ["", "0", "0..2", "3..2", "1..", "..2", "-1", "1...3", "1..1001", "a"])
def test_what_is_no_scale_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="is no number of replicas"):
        Scale.parse(text)
