from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from intarsia.codegen.emit import _included, array_text, literals


@given(st.lists(st.floats(width=32), min_size=1))
def test_floats_are_written_exactly(numbers: list[float]) -> None:
    array = np.array(numbers, np.float32)
    for number, text in zip(array, literals(array), strict=True):
        if math.isfinite(number):
            assert text.endswith("f")
            assert np.float32(float.fromhex(text[:-1])).tobytes() == number.tobytes()
        else:
            assert text == ("NAN" if math.isnan(number) else "INFINITY" if number > 0 else "-INFINITY")


@pytest.mark.parametrize(
    ("dtype", "texts"),
    [
        ("int8", ["-128", "127"]),
        ("int16", ["-32768", "32767"]),
        ("int32", ["INT32_MIN", "2147483647"]),
        ("int64", ["INT64_MIN", "INT64_C(9223372036854775807)"]),
        ("uint32", ["0u", "4294967295u"]),
        ("uint64", ["UINT64_C(0)", "UINT64_C(18446744073709551615)"]),
    ],
)
def test_the_ends_of_integers_are_of_their_type(dtype: str, texts: list[str]) -> None:
    ends = np.array([np.iinfo(dtype).min, np.iinfo(dtype).max], dtype)
    assert list(literals(ends)) == texts


def test_truth_is_a_byte() -> None:
    assert array_text("t", np.array([True, False])) == "const uint8_t t[2] = {\n    1, 0\n};"


def test_large_arrays_are_in_short_lines() -> None:
    text = array_text("w", np.arange(10_000, dtype=np.int32), "static ")
    assert text.startswith("static const int32_t w[10000] = {")
    assert max(map(len, text.splitlines())) <= 110
    assert [int(each) for each in re.findall(r"\d+", text.partition("=")[2])] == list(range(10_000))


def test_an_array_of_nothing_has_an_element_since_c_asks_for_one() -> None:
    assert array_text("n", np.zeros(0, np.float32)) == "const float n[1] = {\n    0\n};"


def test_code_for_one_processor_says_so_to_the_compiler_of_another() -> None:
    plain = _included("<string.h>")
    assert plain == "#include <string.h>"
    guarded = _included("<arm_mve.h>")
    assert guarded.startswith("#ifndef __ARM_FEATURE_MVE\n#error")
    assert guarded.endswith("#include <arm_mve.h>")
