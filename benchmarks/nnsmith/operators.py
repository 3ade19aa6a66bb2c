"""NNSmith's abstract operators as ONNX nodes, with the meaning that its PyTorch back end gives them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

Rule = Callable[["Call"], None]


@dataclass(slots=True, kw_only=True)
class Writer:
    """Nodes and weights written so far."""

    rng: np.random.Generator
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    weights: list[onnx.TensorProto] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One operator at its place.

    Attributes:
        writer: Where the nodes go.
        op: NNSmith's operator, all its parameters known.
        reads: Names of the values it reads.
        tensors: Their types.
        name: The value it computes.
        tensor: Its type.
    """

    writer: Writer
    op: Any
    reads: Sequence[str]
    tensors: Sequence[Any]
    name: str
    tensor: Any

    @property
    def shape(self) -> list[int]:
        """Shape of the first value it reads."""
        return list(self.tensors[0].shape)

    @property
    def dtype(self) -> np.dtype:
        """Element type of the first value it reads."""
        found: np.dtype = np.dtype(self.tensors[0].dtype.numpy())
        return found

    def node(self, op_type: str, *more: str, reads: Sequence[str] | None = None, name: str = "", **data: Any) -> str:
        """Write a node that reads the operator's values, or ``reads``, and ``more``; its result is the operator's."""
        output = name or self.name
        inputs = [*(self.reads if reads is None else reads), *more]
        self.writer.nodes.append(helper.make_node(op_type, inputs, [output], name=f"{op_type}_{output}", **data))
        return output

    def weight(self, label: str, array: np.ndarray) -> str:
        """Write a constant."""
        name = f"{self.name}.{label}"
        self.writer.weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def ints(self, label: str, *numbers: int) -> str:
        """Write a list of integers."""
        return self.weight(label, np.array(numbers, dtype=np.int64))

    def normal(self, label: str, shape: Sequence[int], scale: float = 1.0) -> str:
        """Write normally distributed numbers."""
        return self.weight(label, (scale * self.writer.rng.standard_normal(tuple(shape))).astype(self.dtype))


def write(writer: Writer, op: Any, reads: Sequence[str], tensors: Sequence[Any], name: str, tensor: Any) -> None:
    """Write one operator.

    Raises:
        NotImplementedError: NNSmith has an operator that is not known here.
    """
    kind = type(op).__name__
    rule = RULES.get(kind)
    if rule is None:
        raise NotImplementedError(f"nothing is known of NNSmith's operator {kind}")
    rule(Call(writer=writer, op=op, reads=reads, tensors=tensors, name=name, tensor=tensor))


def _plain(op_type: str, **data: Any) -> Rule:
    return lambda call: _done(call.node(op_type, **data))


def _done(name: str) -> None:
    """A rule's last node has the operator's name already."""


def _prelu(call: Call) -> None:
    call.node("PRelu", call.weight("slope", np.full([1] * bool(call.shape), 0.25, dtype=call.dtype)))


def _log2(call: Call) -> None:
    logarithm = call.node("Log", name=f"{call.name}.log")
    call.node("Mul", call.weight("scale", np.array(1 / math.log(2), dtype=call.dtype)), reads=[logarithm])


def _clip(call: Call) -> None:
    low, high = (-1.5, 1.5) if call.dtype.kind == "f" else (0 if call.dtype.kind == "u" else -1, 1)
    bounds = (call.weight(label, np.array(bound, dtype=call.dtype)) for label, bound in (("low", low), ("high", high)))
    call.node("Clip", *bounds)


def _softmax(call: Call) -> None:
    call.node("Softmax", axis=call.op.dim)


def _pool(op_type: str) -> Rule:
    def rule(call: Call) -> None:
        op = call.op
        data: dict[str, Any] = {} if op_type == "MaxPool" else {"count_include_pad": 1}
        kernel = [op.kernel_h_size, op.kernel_w_size]
        call.node(op_type, kernel_shape=kernel, strides=[op.stride] * 2, pads=[op.padding] * 4, **data)

    return rule


def _convolution(call: Call) -> None:
    op = call.op
    if len(call.shape) == 3:
        kernel, dilations = [op.kernel_size], [op.dilation]
    else:
        kernel, dilations = [op.kernel_h_size, op.kernel_w_size], [op.dilation_h, op.dilation_w]
    scale = math.sqrt(1 / (op.in_channels * math.prod(kernel)))
    weight = call.normal("weight", [op.out_channels, op.in_channels, *kernel], scale)
    bias = call.normal("bias", [op.out_channels], 0.1)
    rank = len(kernel)
    strides, pads = [op.stride] * rank, [op.padding] * (2 * rank)
    call.node("Conv", weight, bias, kernel_shape=kernel, dilations=dilations, strides=strides, pads=pads)


def _batch_norm(call: Call) -> None:
    features = [call.op.nfeat]
    scale, bias, mean = (call.normal(label, features) for label in ("scale", "bias", "mean"))
    variance = call.weight("variance", call.writer.rng.uniform(0.5, 2, features).astype(call.dtype))
    call.node("BatchNormalization", scale, bias, mean, variance)


def _slice(call: Call) -> None:
    op = call.op
    axis, region = op.extra_attrs["axis"], op.extra_attrs["region"]
    start, end, size = op.start, op.end, call.shape[axis]
    if region in ("left", "mid"):
        start -= size
    if region == "left" and end < size:
        end -= size
    call.node(
        "Slice", *(call.ints(*each) for each in (("start", start), ("end", end), ("axis", axis), ("step", op.step)))
    )


def _pad(call: Call) -> None:
    """Padding is listed from the last dimension on; where it is negative, the tensor is cropped first."""
    rank, listed = len(call.shape), call.op.padding_list
    pads = [(0, 0)] * (rank - len(listed) // 2) + list(zip(listed[::2], listed[1::2], strict=True))[::-1]
    mode = {"constant": "constant", "replicate": "edge", "reflect": "reflect"}[call.op.extra_attrs["type"]]
    value = [call.weight("value", np.array(0.5, dtype=call.dtype))] if mode == "constant" else []
    reads = list(call.reads)
    if any(before < 0 or after < 0 for before, after in pads):
        starts = [max(0, -before) for before, _ in pads]
        ends = [size - max(0, -after) for size, (_, after) in zip(call.shape, pads, strict=True)]
        bounds = (call.ints("starts", *starts), call.ints("ends", *ends))
        reads = [call.node("Slice", *bounds, reads=reads, name=f"{call.name}.cropped")]
    sizes = [max(0, before) for before, _ in pads] + [max(0, after) for _, after in pads]
    call.node("Pad", call.ints("pads", *sizes), *value, reads=reads, mode=mode)


def _resize(mode: str) -> Rule:
    def rule(call: Call) -> None:
        how = (
            {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
            if mode == "nearest"
            else {"coordinate_transformation_mode": "half_pixel"}
        )
        call.node("Resize", "", "", call.ints("sizes", *call.tensor.shape), mode=mode, **how)

    return rule


def _reduce(op_type: str) -> Rule:
    def rule(call: Call) -> None:
        call.node(op_type, call.ints("axes", call.op.extra_attrs["reduce_dim"]), keepdims=0)

    return rule


def _index(op_type: str) -> Rule:
    return lambda call: _done(call.node(op_type, axis=call.op.extra_attrs["reduce_dim"], keepdims=0))


def _squeeze(call: Call) -> None:
    call.node("Squeeze", call.ints("axes", call.op.extra_attrs["reduce_dim"]))


def _transpose(call: Call) -> None:
    order = list(range(len(call.shape)))
    one, other = call.op.extra_attrs["dim0"], call.op.extra_attrs["dim1"]
    order[one], order[other] = order[other], order[one]
    call.node("Transpose", perm=order)


def _to_shape(op_type: str) -> Rule:
    return lambda call: _done(call.node(op_type, call.ints("shape", *call.tensor.shape)))


def _triangle(upper: int) -> Rule:
    return lambda call: _done(
        call.node("Trilu", call.weight("diagonal", np.array(call.op.diagonal, dtype=np.int64)), upper=upper)
    )


def _concat(call: Call) -> None:
    call.node("Concat", axis=call.op.extra_attrs["axis"])


def _cast(call: Call) -> None:
    call.node("Cast", to=helper.np_dtype_to_tensor_dtype(np.dtype(call.tensor.dtype.numpy())))


_SAME_NAME = (
    "Abs Acos Add And Asin Atan Ceil Cos Div Equal Floor Greater Less Max Min Mul Neg Or Pow Round Sigmoid Sin Sqrt "
    "Sub Tan Where Xor"
)
RULES: Mapping[str, Rule] = MappingProxyType(
    {
        **{name: _plain(name) for name in _SAME_NAME.split()},
        "ReLU": _plain("Relu"),
        "GELU": _plain("Gelu"),
        "LeakyReLU": _plain("LeakyRelu", alpha=0.01),
        "PReLU": _prelu,
        "Log2": _log2,
        "Clip": _clip,
        "Softmax": _softmax,
        "MaxPool2d": _pool("MaxPool"),
        "AvgPool2d": _pool("AveragePool"),
        "Conv1d": _convolution,
        "NCHWConv2d": _convolution,
        "BatchNorm2d": _batch_norm,
        "Slice": _slice,
        **dict.fromkeys(("ConstPad", "ReplicatePad", "ReflectPad"), _pad),
        "NearestInterp": _resize("nearest"),
        **dict.fromkeys(("LinearInterp", "BilinearInterp", "TrilinearInterp"), _resize("linear")),
        "BicubicInterp": _resize("cubic"),
        **{f"Reduce{name}": _reduce(f"Reduce{name}") for name in ("Max", "Mean", "Min", "Prod", "Sum")},
        "ArgMax": _index("ArgMax"),
        "ArgMin": _index("ArgMin"),
        "Squeeze": _squeeze,
        "Transpose": _transpose,
        "Reshape": _to_shape("Reshape"),
        **{f"ExpandLast{number}": _to_shape("Expand") for number in range(1, 5)},
        "Tril": _triangle(0),
        "Triu": _triangle(1),
        **{f"Concat{number}": _concat for number in range(1, 6)},
        **{f"Cast{name}": _cast for name in ("Bool", "F32", "F64", "I32", "I64")},
    }
)
