"""No engine sees a bad input."""

from __future__ import annotations

import numpy as np
import pytest

from intarsia.backends.contract import Signature
from intarsia.errors import FeedError
from intarsia.runtime.executors.drawn_feeds import random_feeds
from intarsia.runtime.executors.feeds import check_feeds

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


TEXT = Signature(name="text", dtype="string", shape=(2,))
ROW = np.arange(3, dtype=np.float32).reshape(1, 3)


class _Refusing:
    """An object that says it is an array and is none."""

    def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
        raise ArithmeticError("no array today")


class _NoDevice:
    """A tensor whose device cannot be told."""

    def __dlpack__(self, **resolved: object) -> object:
        raise NotImplementedError

    def __dlpack_device__(self) -> tuple[int, int]:
        raise RuntimeError("no device")


@pytest.mark.parametrize(
    "given",
    [
        np.ma.masked_array(ROW, ROW > 1),
        ROW.astype(">f4"),
        ROW.astype(object),
        ROW.astype([("a", "f4")]),
        np.float32(1),
        np.array(1, np.float32),
        _Refusing(),
        _NoDevice(),
        {"data": ROW},
        {1.0, 2.0},
        "abc",
        b"abc",
        None,
        [[1, 2], [3]],
        [["a", "b", "c"]],
        iter([1, 2, 3]),
        np.datetime64("2026-01-01"),
        ROW + 1j,
    ],
    ids=lambda given: f"{type(given).__name__} {getattr(given, 'dtype', '')}",
)
def test_what_is_no_such_array_is_refused_by_name(given: object) -> None:
    with pytest.raises(FeedError, match=r"input data float32\[1,3\]"):
        check_feeds([DATA], {"data": given})


@pytest.mark.parametrize(
    "given",
    [
        np.ma.masked_array(ROW, np.zeros_like(ROW, bool)),
        np.asfortranarray(ROW),
        np.arange(6, dtype=np.float32)[None, ::2] / 2,
        np.arange(2, -1, -1, dtype=np.float32)[None, ::-1],
        ROW.view(np.matrix),
        [[0, 1, 2]],
        ((0.0, 1.0, 2.0),),
        np.lib.stride_tricks.as_strided(ROW, (1, 3), (12345 * 4, 4)),
    ],
    ids=lambda given: type(given).__name__,
)
def test_what_holds_the_same_numbers_is_taken_however_it_lies(given: object) -> None:
    assert check_feeds([DATA], {"data": given})["data"].tolist() == [[0, 1, 2]]


@pytest.mark.parametrize("given", [np.array([1, "a"], object), np.array([None, b"a"], object)])
def test_elements_that_are_no_text_are_refused(given: np.ndarray) -> None:
    with pytest.raises(FeedError, match="elements that are no text"):
        check_feeds([TEXT], {"text": given})
    assert check_feeds([TEXT], {"text": np.array(["a", b"b"], object)})


@pytest.mark.parametrize("name", [0, None, ("data",), b"data", 1.5])
def test_a_name_that_is_no_text_is_refused(name: object) -> None:
    with pytest.raises(FeedError, match="is no name of an input; the inputs are data"):
        check_feeds([DATA], {name: ROW, "data": ROW})  # type: ignore[dict-item]
