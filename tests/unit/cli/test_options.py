from __future__ import annotations

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from intarsia.cli.options import ARRAY, SHAPE, read_dims


@given(st.lists(st.integers(0, 10**6), min_size=2))
def test_dims_are_read_back(dims: list[int]) -> None:
    assert read_dims("x".join(map(str, dims))) == tuple(dims)


@given(st.integers(0, 10**9))
def test_one_number_is_one_dimension(size: int) -> None:
    assert read_dims(str(size)) == size
    assert read_dims(f"{size}x") == (size,)


@pytest.mark.parametrize(("text", "dims"), [("Nx3", ("N", 3)), ("batch_1x3x4", ("batch_1", 3, 4)), ("Nx", ("N",))])
def test_a_name_stands_for_the_first_dimension(text: str, dims: tuple[int | str, ...]) -> None:
    assert read_dims(text) == dims


@pytest.mark.parametrize("text", ["", "x", "x3", "3xN", "NxM", "1x-3", "1xx3", "N", "1.5", "1x3x224x224xx", " 8", "٣"])
def test_other_texts_are_no_dims(text: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        read_dims(text)


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        ("input=1x3x8x8", ("input", (1, 3, 8, 8))),
        ("N=8", ("N", 8)),
        ("x:0=4x", ("x:0", (4,))),
        ("a=Nx3x8", ("a", ("N", 3, 8))),
    ],
)
def test_a_shape_names_what_it_binds(text: str, pair: tuple[str, object]) -> None:
    assert SHAPE.convert(text, None, None) == pair


@pytest.mark.parametrize("text", ["input", "=1x3", "input=", "input=1xthree"])
def test_a_wrong_shape_is_answered_by_an_example(text: str) -> None:
    with pytest.raises(click.BadParameter, match=r"is not NAME=DIMS, as in input=1x3x224x224, N=8, N=1\.\.512 or"):
        SHAPE.convert(text, None, None)


def test_the_first_equals_sign_divides() -> None:
    name, path = ARRAY.convert("x=a=b.npy", None, None)
    assert (name, str(path)) == ("x", "a=b.npy")
