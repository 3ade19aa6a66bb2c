"""ONNX Runtime's operators for quantised models do what their parts in ONNX do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from intarsia.graph import load_model
from intarsia.graph.reference.contrib_ops import CONTRIB_OPS, custom_op_values, unknown_values
from intarsia.graph.reference.reference import evaluate
from tests.unit.graph.models import info, model

RNG = np.random.default_rng(0)
A, B = (RNG.integers(0, 256, (4, 6)).astype(np.uint8) for _ in range(2))
S, T, U = np.float32(0.02), np.float32(0.03), np.float32(0.05)
ZA, ZB, ZY = np.uint8(120), np.uint8(131), np.uint8(100)
REAL_A, REAL_B = (A.astype(float) - 120) * float(S), (B.astype(float) - 131) * float(T)


def steps(real: np.ndarray) -> np.ndarray:
    return np.asarray(np.clip(np.rint(real / float(U)) + 100, 0, 255), np.uint8)


def run(op: str, *inputs: Any, **attributes: Any) -> np.ndarray:
    """The operator's result; ``None`` is an input that is left out."""
    names = ["" if each is None else f"i{place}" for place, each in enumerate(inputs)]
    arrays = {name: np.asarray(each) for name, each in zip(names, inputs, strict=True) if name}
    node = helper.make_node(op, names, ["y"], domain="com.microsoft", **attributes)
    first = names[0]
    x = arrays.pop(first)
    proto = model(
        [node],
        [info(first, x.shape, helper.np_dtype_to_tensor_dtype(x.dtype))],
        [info("y", None, TensorProto.UINT8)],
        arrays,
        domains={"com.microsoft": 1},
    )
    graph = load_model(proto)
    assert custom_op_values(graph) == ("y",)
    assert unknown_values(graph) == ()
    return evaluate(graph, {first: x})["y"]


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True))
    return np.asarray(e / e.sum(-1, keepdims=True))


BINARY, UNARY = (A, S, ZA, B, T, ZB, U, ZY), (A, S, ZA, U, ZY)


@pytest.mark.parametrize(
    ("op", "inputs", "attributes", "real"),
    [
        ("QLinearAdd", BINARY, {}, REAL_A + REAL_B),
        ("QLinearMul", BINARY, {}, REAL_A * REAL_B),
        ("QLinearSigmoid", UNARY, {}, 1 / (1 + np.exp(-REAL_A))),
        ("QLinearLeakyRelu", UNARY, {"alpha": 0.2}, np.where(REAL_A < 0, 0.2 * REAL_A, REAL_A)),
        ("QLinearSoftmax", UNARY, {"axis": -1, "opset": 13}, softmax(REAL_A)),
        ("QLinearReduceMean", UNARY, {"axes": [1], "keepdims": 1}, REAL_A.mean(1, keepdims=True)),
        ("QLinearConcat", (U, ZY, A, S, ZA, B, T, ZB), {"axis": 0}, np.concatenate([REAL_A, REAL_B])),
        ("QGemm", (A, S, ZA, B.T.copy(), T, ZB, None, U, ZY), {}, REAL_A @ REAL_B.T),
        ("QGemm", (A, S, ZA, B, T, ZB, None, U, ZY), {"transB": 1}, REAL_A @ REAL_B.T),
        ("QLinearWhere", (A > 128, A, S, ZA, B, T, ZB, U, ZY), {}, np.where(A > 128, REAL_A, REAL_B)),
    ],
)
def test_the_float_operator_between_steps(
    op: str, inputs: tuple[Any, ...], attributes: dict[str, Any], real: np.ndarray
) -> None:
    assert np.array_equal(run(op, *inputs, **attributes), steps(real))


def test_pools() -> None:
    x = RNG.integers(0, 256, (1, 2, 4, 4)).astype(np.uint8)
    real = (x.astype(float) - 120) * float(S)
    assert np.array_equal(run("QLinearGlobalAveragePool", x, S, ZA, U, ZY), steps(real.mean((2, 3), keepdims=True)))
    halves = real.reshape(1, 2, 2, 2, 2, 2).mean((3, 5))
    pooled = run("QLinearAveragePool", x, S, ZA, U, ZY, kernel_shape=[2, 2], strides=[2, 2])
    assert np.array_equal(pooled, steps(halves))
    last = run("QLinearGlobalAveragePool", np.moveaxis(x, 1, -1).copy(), S, ZA, U, ZY, channels_last=1)
    assert np.array_equal(last, steps(np.moveaxis(real.mean((2, 3), keepdims=True), 1, -1)))


def test_products_that_give_floats() -> None:
    bias = np.arange(4, dtype=np.float32)
    w = B.T.copy()
    assert np.allclose(run("MatMulIntegerToFloat", A, w, S, T, ZA, ZB, bias), REAL_A @ REAL_B.T + bias, atol=1e-5)
    x = RNG.standard_normal((4, 6)).astype(np.float32)
    assert np.allclose(run("DynamicQuantizeMatMul", x, w, T, ZB), x @ REAL_B.T, atol=0.2)
    assert np.allclose(
        run("QGemm", A, S, ZA, w, T, ZB, np.arange(4, dtype=np.int32)), REAL_A @ REAL_B.T + 0.0006 * bias
    )


@pytest.mark.parametrize("zero", [None, np.array([[0x97], [0x86]], np.uint8)])
def test_weights_of_four_bits_in_blocks(zero: np.ndarray | None) -> None:
    levels = RNG.integers(0, 16, (2, 2, 16))
    scales = RNG.uniform(0.5, 1.0, (2, 2)).astype(np.float32)
    packed = (levels[..., ::2] | (levels[..., 1::2] << 4)).astype(np.uint8)
    x = RNG.standard_normal((3, 30)).astype(np.float32)
    offsets = np.full((2, 2), 8) if zero is None else np.array([[7, 9], [6, 8]])
    dense = ((levels - offsets[..., None]) * scales[..., None]).reshape(2, 32)[:, :30]
    found = run("MatMulNBits", x, packed, scales.reshape(-1), zero, K=30, N=2, bits=4, block_size=16)
    assert np.allclose(found, x @ dense.T, atol=1e-4)


def test_each_has_its_domain_and_its_meaning() -> None:
    assert {op.op_domain for op in CONTRIB_OPS} == {"com.microsoft"}
    assert all(op.__doc__ for op in CONTRIB_OPS)
