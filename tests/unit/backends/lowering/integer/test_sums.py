from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import helper, numpy_helper

from intarsia.backends.lowering.integer.sums import as_float32, summed, weighted_sum

ENDS = st.tuples(st.floats(1e-3, 1.0), st.integers(-128, 127))


@settings(deadline=None)
@given(ENDS, ENDS, ENDS, st.booleans(), st.integers(-128, 127), st.integers(-128, 127))
def test_a_sum_is_within_32_bits_and_next_to_exact(
    a: tuple[float, int], b: tuple[float, int], y: tuple[float, int], minus: bool, p: int, q: int
) -> None:
    found = weighted_sum(a, b, y, minus=minus)
    if found is None:
        assert (a[0] + b[0]) / y[0] > 2**20
        return
    first, second = ((code << 23) * by >> 32 for code, by in ((p, found.first), (q, found.second)))
    for part in (found.first, found.second, found.offset, first + second, first + second + found.offset):
        assert -(2**31) <= part < 2**31
    sign = -1 if minus else 1
    exact = ((p - a[1]) * a[0] + sign * (q - b[1]) * b[0]) / y[0] + y[1]
    error = 2.0**-14 + 120 * 2.0**-found.shift
    (made,) = summed(np.array([p]), np.array([q]), found)
    assert exact - 0.5 - error <= made <= exact + 0.5 + error


def test_a_sum_too_steep_for_32_bits_is_left_alone() -> None:
    assert weighted_sum((1e8, 0), (1.0, 0), (1.0, 0)) is None


def by_onnxruntime(p: np.ndarray, q: np.ndarray, *ends: tuple[float, int]) -> np.ndarray:
    kind = helper.np_dtype_to_tensor_dtype(p.dtype)
    weights = []
    for name, (scale, zero) in zip("pqy", ends, strict=True):
        weights += [numpy_helper.from_array(np.array(scale, np.float32), f"{name}_scale")]
        weights += [numpy_helper.from_array(np.array(zero, p.dtype), f"{name}_zero")]
    reads = [name + part for name in "pq" for part in ("", "_scale", "_zero")]
    node = helper.make_node("QLinearAdd", [*reads, "y_scale", "y_zero"], ["y"], domain="com.microsoft")
    sources = [helper.make_tensor_value_info(name, kind, p.shape) for name in "pq"]
    target = helper.make_tensor_value_info("y", kind, p.shape)
    opsets = [helper.make_operatorsetid("", 21), helper.make_operatorsetid("com.microsoft", 1)]
    model = helper.make_model(
        helper.make_graph([node], "sum", sources, [target], weights), opset_imports=opsets, ir_version=10
    )
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (found,) = session.run(["y"], {"p": p, "q": q})
    return np.asarray(found)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_all_pairs_of_codes_are_as_onnxruntime_has_them(dtype: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    low, behind = (0, 128) if dtype == "uint8" else (-128, 0)
    codes = np.arange(low, low + 256)
    p, q = (each.reshape(-1) for each in np.meshgrid(codes, codes))
    step = rng.uniform(0.02, 0.1)
    scales = [float(np.float32(step * ratio)) for ratio in (*rng.uniform(0.2, 1.4, 2), 1.0)]
    ends = [(scale, int(rng.choice(codes))) for scale in scales]
    right = by_onnxruntime(p.astype(dtype), q.astype(dtype), *ends)
    attrs = np.clip(as_float32(p, q, *ends), low, low + 255)
    np.testing.assert_array_equal(attrs, right)
    a, b, y = ((scale, zero - behind) for scale, zero in ends)
    made = weighted_sum(a, b, y, behind=behind)
    assert made is not None
    found = np.clip(summed(p - behind, q - behind, made), -128, 127) + behind
    np.testing.assert_array_equal(found, right)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("minus", [False, True])
@pytest.mark.parametrize("ratios", [(0.5, 0.5), (0.25, 1.0), (1.0, 2.0), (0.125, 0.5)])
def test_ties_of_powers_of_two_go_to_even_codes(ratios: tuple[float, float], minus: bool, dtype: str) -> None:
    behind = 128 if dtype == "uint8" else 0
    p, q = (each.reshape(-1) for each in np.meshgrid(np.arange(-128, 128), np.arange(-128, 128)))
    for zeros in ((0, 0, 0), (3, -7, 5), (-128, 1, -128)):
        a, b, y = zip((*(0.0625 * ratio for ratio in ratios), 0.0625), zeros, strict=True)
        made = weighted_sum(a, b, y, minus=minus, behind=behind)
        assert made is not None
        ends = [(scale, zero + behind) for scale, zero in (a, b, y)]
        right = as_float32(p + behind, q + behind, *ends, minus=minus) - behind
        np.testing.assert_array_equal(np.clip(summed(p, q, made), -128, 127), np.clip(right, -128, 127))
