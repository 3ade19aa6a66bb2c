"""ONNX Runtime's own operators for quantised models, as its quantisation tools write them, by their definition.

ONNX does not define these, but their documentation does (docs/ContribOperators.md of onnxruntime 1.31): whole numbers
are made floats by scale and zero point, the float operator runs, and its result is rounded half to even to steps of the
stated size. Fused kernels that compute the same in whole numbers may fall a step to either side.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import defs
from onnx.reference.op_run import OpRun

from intarsia.graph.reference.operators import AveragePool
from intarsia.graph.reference.rounding import CONTRIB

if TYPE_CHECKING:
    from intarsia.graph.graph import Graph

_Array = np.ndarray
_Maybe = np.ndarray | None


def _real(x: _Array, scale: _Array, zero: _Maybe, axis: int | None = None) -> _Array:
    """Floats from whole numbers, in double precision."""
    numbers = x.astype(np.float64)
    if zero is not None:
        numbers = numbers - _along(zero, axis, x.ndim)
    real: _Array = numbers * _along(scale, axis, x.ndim)
    return real


def _along(numbers: _Array, axis: int | None, rank: int) -> _Array:
    wide = numbers.astype(np.float64)
    if wide.size == 1:
        return wide.reshape(())
    if wide.ndim > 1 or axis is None:
        return wide
    sizes = [1] * rank
    sizes[axis] = wide.size
    return wide.reshape(sizes)


def _steps(real: _Array, scale: _Array, zero: _Maybe, dtype: np.dtype) -> _Array:
    """Whole numbers from floats, at the ends of their range where they would leave it."""
    ends = np.iinfo(dtype)
    offset = 0.0 if zero is None else float(zero.reshape(-1)[0])
    return np.clip(np.rint(real / float(scale.reshape(-1)[0])) + offset, ends.min, ends.max).astype(dtype)


def _optional(stated: tuple[_Maybe, ...], count: int) -> tuple[_Maybe, ...]:
    """Inputs that may be left out at the end."""
    return stated + (None,) * (count - len(stated))


class _Contrib(OpRun):
    op_domain = CONTRIB

    def _attribute(self, name: str, default: Any) -> Any:
        return getattr(self, name, default)


class QLinearAdd(_Contrib):
    """Sum of two quantised tensors."""

    _computed: np.ufunc = np.add

    def _run(
        self, a: _Array, sa: _Array, za: _Maybe, b: _Array, sb: _Array, zb: _Maybe, *to: _Array, **_: Any
    ) -> tuple[_Array]:
        real = self._computed(_real(a, sa, za), _real(b, sb, zb))
        return (_steps(real, to[0], to[1] if len(to) > 1 else None, a.dtype),)


class QLinearMul(QLinearAdd):
    """Product of two quantised tensors, element by element."""

    _computed = np.multiply


class _Unary(_Contrib):
    def _run(self, x: _Array, sx: _Array, zx: _Maybe, sy: _Array, zy: _Maybe = None, **_: Any) -> tuple[_Array]:
        return (_steps(self._real(_real(x, sx, zx)), sy, zy, x.dtype),)

    def _real(self, x: _Array) -> _Array:
        raise NotImplementedError


class QLinearSigmoid(_Unary):
    """Sigmoid of a quantised tensor."""

    def _real(self, x: _Array) -> _Array:
        return np.asarray(1.0 / (1.0 + np.exp(-x)))


class QLinearLeakyRelu(_Unary):
    """Leaky rectifier of a quantised tensor."""

    def _real(self, x: _Array) -> _Array:
        return np.where(x < 0, x * self._attribute("alpha", 0.01), x)


class QLinearSoftmax(_Unary):
    """Softmax of a quantised tensor; before opset 13 over all axes from the stated one on."""

    def _real(self, x: _Array) -> _Array:
        axis = self._attribute("axis", -1) % x.ndim
        axes = (axis,) if self._attribute("opset", 13) >= 13 else tuple(range(axis, x.ndim))
        e = np.exp(x - x.max(axes, keepdims=True))
        return np.asarray(e / e.sum(axes, keepdims=True))


class QLinearGlobalAveragePool(_Unary):
    """Average over all places of each channel."""

    def _real(self, x: _Array) -> _Array:
        axes = tuple(range(1, x.ndim - 1) if self._attribute("channels_last", 0) else range(2, x.ndim))
        return np.asarray(x.mean(axes, keepdims=True))


class QLinearReduceMean(_Unary):
    """Mean over axes."""

    def _real(self, x: _Array) -> _Array:
        axes = self._attribute("axes", None)
        return np.asarray(x.mean(None if axes is None else tuple(axes), keepdims=bool(self._attribute("keepdims", 1))))


class QLinearAveragePool(_Unary):
    """Average over windows."""

    def _real(self, x: _Array) -> _Array:
        last = self._attribute("channels_last", 0)
        names = ("auto_pad", "ceil_mode", "count_include_pad", "kernel_shape", "pads", "strides")
        attributes = {name: getattr(self, name) for name in names if hasattr(self, name)}
        pooled: _Array = AveragePool._run(self, np.moveaxis(x, -1, 1) if last else x, **attributes)[0]  # type: ignore[arg-type]
        return np.moveaxis(pooled, 1, -1) if last else pooled


class QLinearConcat(_Contrib):
    """Quantised tensors, each of its own scale, joined in one scale."""

    def _run(self, sy: _Array, zy: _Array, *parts: _Array, **_: Any) -> tuple[_Array]:
        real = [_real(x, s, z) for x, s, z in zip(parts[::3], parts[1::3], parts[2::3], strict=True)]
        return (_steps(np.concatenate(real, self._attribute("axis", 0)), sy, zy, parts[0].dtype),)


class QLinearWhere(_Contrib):
    """One of two quantised tensors by a condition."""

    def _run(self, c: _Array, x: _Array, sx: _Array, zx: _Array, y: _Array, *more: _Array, **_: Any) -> tuple[_Array]:
        sy, zy, s, z = more
        return (_steps(np.where(c, _real(x, sx, zx), _real(y, sy, zy)), s, z, x.dtype),)


class QGemm(_Contrib):
    """Matrix product of quantised matrices; its result is a float where no scale is stated for it."""

    def _run(
        self, a: _Array, sa: _Array, za: _Maybe, b: _Array, sb: _Array, zb: _Maybe, *more: _Maybe, **_: Any
    ) -> tuple[_Array]:
        c, sy, zy = _optional(more, 3)
        turned = self._attribute("transB", 0)
        left, right = _real(a, sa, za), _real(b, sb, zb, 0 if turned else 1)
        if self._attribute("transA", 0):
            left = left.T
        y = float(self._attribute("alpha", 1.0)) * (left @ (right.T if turned else right))
        if c is not None:
            y = y + c.astype(np.float64) * float(self._attribute("alpha", 1.0)) * float(sa) * sb.astype(np.float64)
        return (y.astype(np.float32) if sy is None else _steps(y, sy, zy, a.dtype),)


class MatMulIntegerToFloat(_Contrib):
    """Product of quantised matrices as floats."""

    def _run(self, a: _Array, b: _Array, sa: _Array, sb: _Array, *more: _Maybe, **_: Any) -> tuple[_Array]:
        za, zb, bias = _optional(more, 3)
        y = _real(a, sa, za) @ _real(b, sb, zb, b.ndim - 1)
        return ((y if bias is None else y + bias).astype(np.float32),)


class DynamicQuantizeMatMul(_Contrib):
    """Product with a quantised matrix; the other one is quantised by its own range."""

    def _run(self, a: _Array, b: _Array, sb: _Array, *more: _Maybe, **_: Any) -> tuple[_Array]:
        zb, bias = _optional(more, 2)
        low, high = min(float(a.min(initial=0.0)), 0.0), max(float(a.max(initial=0.0)), 0.0)
        scale = np.float32((high - low) / 255.0) or np.float32(1.0)
        zero = np.clip(np.rint(-low / scale), 0, 255)
        steps = np.clip(np.rint(a / scale) + zero, 0, 255)
        y = (steps.astype(np.float64) - zero) * float(scale) @ _real(b, sb, zb, b.ndim - 1)
        return ((y if bias is None else y + bias).astype(np.float32),)


class MatMulNBits(_Contrib):
    """Product with a matrix of few bits, each block of a column with its scale and zero point."""

    def _run(self, a: _Array, b: _Array, scales: _Array, *more: _Maybe, **_: Any) -> tuple[_Array]:
        zero, order, bias = _optional(more, 3)
        k, n, block = (int(self._attribute(name, 0)) for name in ("K", "N", "block_size"))
        bits = int(self._attribute("bits", 4))
        if order is not None and order.size:
            raise ValueError("columns in another order (g_idx) are not known here")
        blocks = -(-k // block)
        levels = _unpacked(b.reshape(n, blocks, -1), bits)[..., :block].astype(np.float64)
        if zero is None:
            levels -= 2 ** (bits - 1)
        elif zero.dtype == np.uint8:
            levels -= _unpacked(zero.reshape(n, -1), bits)[:, :blocks, None]
        else:
            levels -= zero.reshape(n, blocks, 1).astype(np.float64)
        weights = (levels * scales.astype(np.float64).reshape(n, blocks, 1)).reshape(n, -1)[:, :k]
        y = a.astype(np.float64) @ weights.T
        return ((y if bias is None else y + bias).astype(a.dtype),)


def _unpacked(packed: _Array, bits: int) -> _Array:
    """Numbers of 2, 4 or 8 bits from bytes, the low bits first."""
    count = 8 // bits
    parts = [(packed >> (bits * place)) & (2**bits - 1) for place in range(count)]
    return np.stack(parts, -1).reshape(*packed.shape[:-1], -1)


CONTRIB_OPS: tuple[type[OpRun], ...] = (
    *(DynamicQuantizeMatMul, MatMulIntegerToFloat, MatMulNBits, QGemm, QLinearAdd, QLinearAveragePool, QLinearConcat),
    *(QLinearGlobalAveragePool, QLinearLeakyRelu, QLinearMul, QLinearReduceMean, QLinearSigmoid, QLinearSoftmax),
    QLinearWhere,
)


def custom_op_values(graph: Graph) -> tuple[str, ...]:
    """Names of the values that custom operators compute, in the graph's order."""
    custom = (node for node in graph.nodes if not defs.has(node.op_type, node.domain))
    return tuple(name for node in custom for name in node.outputs if name)


def unknown_values(graph: Graph) -> tuple[str, ...]:
    """Of `custom_op_values` those that the reference evaluator cannot compute either."""
    known = {(op.op_domain, op.__name__) for op in CONTRIB_OPS}
    computed = {name for node in graph.nodes if (node.domain, node.op_type) in known for name in node.outputs}
    return tuple(name for name in custom_op_values(graph) if name not in computed)
