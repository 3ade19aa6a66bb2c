"""Ranges of sizes: their text, and their buckets, which hold each size once."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intarsia.errors import ConfigError
from intarsia.graph.ranges import SizeRange, all_buckets


@st.composite
def ranges(draw: st.DrawFn) -> SizeRange:
    low = draw(st.integers(1, 600))
    high = draw(st.integers(low, 5000))
    edges = draw(st.sets(st.integers(low, high), max_size=5))
    return SizeRange(low=low, high=high, edges=tuple(sorted(edges)))


@given(ranges())
def test_a_text_gives_the_range_again(range_: SizeRange) -> None:
    assert SizeRange.parse(str(range_)) == range_


@given(ranges(), st.integers(1, 4))
def test_buckets_hold_each_size_once_and_are_measured_inside(range_: SizeRange, most: int) -> None:
    buckets = range_.buckets(most)
    assert (buckets[0].low, buckets[-1].high) == (range_.low, range_.high)
    assert all(after.low == before.high + 1 for before, after in pairwise(buckets))
    assert all(bucket.middle in bucket for bucket in buckets)
    assert range_.edges or len(buckets) <= most


def test_default_and_stated_buckets() -> None:
    told = [str(bucket) for bucket in SizeRange.parse("1..512").buckets()]
    assert told == ["1..8", "9..32", "33..128", "129..512"]
    assert [str(bucket) for bucket in SizeRange.parse("3..512/32,128").buckets()] == ["3..32", "33..128", "129..512"]
    assert [str(bucket) for bucket in SizeRange.parse("7..7").buckets()] == ["7..7"]


@pytest.mark.parametrize("text", ["1", "1..", "..5", "1...5", "a..b", "1..5/", "1..5/x", "-1..5", "1..5/2,", ""])
def test_what_is_no_range(text: str) -> None:
    with pytest.raises(ConfigError, match=r"is no range of sizes; write one as 1\.\.512"):
        SizeRange.parse(text)


@pytest.mark.parametrize(
    ("text", "told"), [("5..2", "empty"), ("0..2", "empty"), ("1..9/9,3", "order"), ("1..9/12", "order")]
)
def test_sizes_out_of_order(text: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        SizeRange.parse(text)


def test_several_ranges_make_every_combination() -> None:
    ranges_ = {"a": SizeRange.parse("1..4/2"), "b": SizeRange.parse("1..9/9")}
    assert [{name: str(each) for name, each in bucket.items()} for bucket in all_buckets(ranges_)] == [
        {"a": "1..2", "b": "1..9"},
        {"a": "3..4", "b": "1..9"},
    ]
    assert len(all_buckets(dict.fromkeys("ab", SizeRange.parse("1..512")))) == 9


def test_more_buckets_than_can_be_searched() -> None:
    many = SizeRange(low=1, high=99, edges=tuple(range(1, 18)))
    with pytest.raises(ConfigError, match=r"makes 18 buckets .* at most 16"):
        all_buckets({"seq": many})
