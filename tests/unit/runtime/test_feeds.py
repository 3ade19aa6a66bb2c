"""No engine sees a bad input."""

from __future__ import annotations

import numpy as np
import pytest

from intarsia.backends.base import Signature
from intarsia.errors import FeedError
from intarsia.runtime.feeds import check_feeds, random_feeds

DATA = Signature(name="data", dtype="float32", shape=(1, 3))
IDS = Signature(name="ids", dtype="int64", shape=(2,))
GOOD: dict[str, np.ndarray] = {"data": np.zeros((1, 3), np.float32), "ids": np.zeros(2, np.int64)}


def test_good_feeds_pass() -> None:
    assert set(check_feeds([DATA, IDS], GOOD)) == {"data", "ids"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dta": GOOD["data"]}, "no input 'dta'; did you mean 'data'"),
        ({"data": None}, r"data float32\[1,3\]"),
        ({"data": np.zeros((1, 3))}, "was given as float64"),
        ({"data": np.zeros((3, 1), np.float32)}, r"given the shape \[3,1\]"),
        ({"ids": np.zeros(2, np.int32)}, "was given as int32"),
    ],
)
def test_each_mistake_is_named(change: dict[str, np.ndarray], message: str) -> None:
    with pytest.raises(FeedError, match=message):
        check_feeds([DATA, IDS], GOOD | change)


def test_all_mistakes_are_told_together() -> None:
    with pytest.raises(FeedError, match=r"dat.*data float32.*missing.*ids int64.*missing"):
        check_feeds([DATA, IDS], {"dat": np.zeros(1)})


def test_random_feeds_fit_and_repeat() -> None:
    mask = Signature(name="mask", dtype="bool", shape=(64,))
    first, second = random_feeds([DATA, IDS, mask], 7), random_feeds([DATA, IDS, mask], 7)
    assert check_feeds([DATA, IDS, mask], first)
    assert all(np.array_equal(first[name], second[name]) for name in first)
    assert first["data"].std() > 0
    assert 0 < first["mask"].mean() < 1
