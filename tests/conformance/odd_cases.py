"""Models that few build on purpose and every tool meets: odd types, no elements, no axes, quantised, all versions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.helper import make_node

NEWEST = min(onnx.defs.onnx_opset_version(), max(helper.OP_SET_ID_VERSION_MAP.values()))
FIRST = 7
IR_VERSION = 10
Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OddCase:
    """A small model and its inputs.

    Attributes:
        name: Unique.
        model: The ONNX file.
        feeds: Its inputs.
    """

    name: str
    model: bytes
    feeds: Arrays


def _case(
    name: str,
    nodes: list[onnx.NodeProto],
    feeds: Arrays,
    weights: Arrays | None = None,
    *,
    outputs: tuple[str, ...] = ("y",),
    opset: int = 21,
) -> OddCase:
    graph = helper.make_graph(
        nodes,
        name,
        [_info(name, array) for name, array in feeds.items()],
        [onnx.ValueInfoProto(name=name) for name in outputs],
        [numpy_helper.from_array(array, name) for name, array in (weights or {}).items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=IR_VERSION)
    typed = onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
    return OddCase(name=name, model=typed.SerializeToString(), feeds=feeds)


def _info(name: str, array: np.ndarray) -> onnx.ValueInfoProto:
    is_text = array.dtype.hasobject
    type_ = TensorProto.STRING if is_text else helper.np_dtype_to_tensor_dtype(array.dtype)
    return helper.make_tensor_value_info(name, type_, array.shape)


def _some(shape: tuple[int, ...], dtype: Any = np.float32) -> np.ndarray:
    values = np.random.default_rng(0).integers(0, 7, shape)
    return values.astype(dtype)


def types() -> Iterator[OddCase]:
    """Each element type, moved, and computed with where that has a meaning."""
    for dtype in (np.float16, ml_dtypes.bfloat16, np.float64, np.int8, np.uint16, np.uint64, np.int32):
        name = np.dtype(dtype).name
        x, w = _some((2, 3), dtype), _some((3,), dtype)
        yield _case(f"{name}-add", [make_node("Add", ["x", "w"], ["y"])], {"x": x}, {"w": w})
        yield _case(f"{name}-moved", [make_node("Transpose", ["x"], ["y"], perm=[1, 0])], {"x": x})
    for small in (ml_dtypes.int4, ml_dtypes.uint4, ml_dtypes.float8_e4m3fn, np.bool_):
        x = _some((2, 3), small)
        yield _case(f"{np.dtype(small).name}-moved", [make_node("Transpose", ["x"], ["y"], perm=[1, 0])], {"x": x})
        if small is not np.bool_:
            back = make_node("Cast", ["x"], ["y"], to=TensorProto.FLOAT)
            yield _case(f"{np.dtype(small).name}-cast", [back], {"x": x})
    for half in (np.float16, ml_dtypes.bfloat16):
        nodes = [make_node("Conv", ["x", "w"], ["c"]), make_node("Relu", ["c"], ["y"])]
        weights, x = {"w": _some((2, 3, 1, 1), half)}, _some((1, 3, 4, 4), half)
        yield _case(f"{np.dtype(half).name}-conv", nodes, {"x": x}, weights, opset=22)
    nodes = [make_node("DequantizeLinear", ["q", "s"], ["w"], axis=0), make_node("MatMul", ["x", "w"], ["y"])]
    weights = {"q": _some((4, 3), ml_dtypes.int4), "s": np.full((4,), 0.5, np.float32)}
    yield _case("int4-weight", nodes, {"x": _some((2, 4))}, weights)
    words = np.array([["a", "bb", ""], ["ä", "日本", "x y"]], object)
    yield _case("string-moved", [make_node("Identity", ["x"], ["y"])], {"x": words})
    yield _case("string-concat", [make_node("Concat", ["x", "x"], ["y"], axis=0)], {"x": words})
    yield _case("string-equal", [make_node("Equal", ["x", "w"], ["y"])], {"x": words}, {"w": words[:1]})


def without_elements() -> Iterator[OddCase]:
    """Dimensions of size zero."""
    none = _some((0, 3))
    axes = np.array([0], np.int64)
    yield _case("zero-add", [make_node("Add", ["x", "w"], ["y"])], {"x": none}, {"w": _some((3,))})
    yield _case("zero-matmul", [make_node("MatMul", ["x", "z"], ["y"])], {"x": _some((2, 0)), "z": none})
    yield _case("zero-concat", [make_node("Concat", ["x", "z"], ["y"], axis=0)], {"x": none, "z": _some((2, 3))})
    yield _case("zero-sum", [make_node("ReduceSum", ["x", "a"], ["y"])], {"x": none}, {"a": axes})
    yield _case("zero-softmax", [make_node("Softmax", ["x"], ["y"])], {"x": none})
    yield _case(
        "zero-gather", [make_node("Gather", ["x", "i"], ["y"])], {"x": _some((4, 3)), "i": _some((0,), np.int64)}
    )
    nodes = [make_node("Conv", ["x", "w"], ["c"]), make_node("Relu", ["c"], ["y"])]
    yield _case("zero-conv", nodes, {"x": _some((0, 3, 4, 4))}, {"w": _some((2, 3, 3, 3))})
    nodes = [make_node("Transpose", ["x"], ["t"]), make_node("Relu", ["t"], ["y"])]
    yield _case("zero-chain", nodes, {"x": none})


def without_axes() -> Iterator[OddCase]:
    """Values of rank 0."""
    one, other = np.array(3.0, np.float32), np.array(2.0, np.float32)
    yield _case("scalar-add", [make_node("Add", ["x", "w"], ["y"])], {"x": one}, {"w": other})
    yield _case("scalar-relu", [make_node("Relu", ["x"], ["y"])], {"x": one})
    yield _case("scalar-reshape", [make_node("Reshape", ["x", "s"], ["y"])], {"x": one}, {"s": np.array([1, 1])})
    yield _case("scalar-sum", [make_node("ReduceSum", ["x"], ["y"], keepdims=0)], {"x": _some((2, 3))})
    yield _case("scalar-dot", [make_node("MatMul", ["x", "z"], ["y"])], {"x": _some((3,)), "z": _some((3,))})
    index = np.array(1, np.int64)
    yield _case("scalar-gather", [make_node("Gather", ["x", "i"], ["y"])], {"x": _some((4, 3)), "i": index})
    yield _case("scalar-expand", [make_node("Expand", ["x", "s"], ["y"])], {"x": one}, {"s": np.array([2, 3])})


def huge_attributes() -> Iterator[OddCase]:
    """A constant of a million numbers as an attribute, a text of a megabyte, hundreds of inputs and outputs."""
    constant = numpy_helper.from_array(_some((1000, 1000)))
    nodes = [make_node("Constant", [], ["w"], value=constant), make_node("MatMul", ["x", "w"], ["y"])]
    yield _case("huge-constant", nodes, {"x": _some((2, 1000))})
    told = make_node("Relu", ["x"], ["y"], name="n" * 1000)
    told.doc_string = "d" * (1 << 20)
    yield _case("huge-text", [told], {"x": _some((2, 3))})
    yield _case("huge-concat", [make_node("Concat", ["x"] * 400, ["y"], axis=1)], {"x": _some((2, 3))})
    parts = [f"y{number}" for number in range(256)]
    split = make_node("Split", ["x"], parts, axis=1, num_outputs=len(parts))
    yield _case("huge-split", [split], {"x": _some((2, 256))}, outputs=tuple(parts))
    rank = tuple(range(8))
    turn = make_node("Transpose", ["x"], ["y"], perm=rank[::-1])
    yield _case("huge-rank", [turn], {"x": _some((1, 2, 1, 3, 1, 2, 1, 2))})


def quantised() -> Iterator[OddCase]:
    """Layers between quantise and dequantise, weights scaled as a whole, by output channel and by the summed axis.

    Scales are powers of two, so that nothing is rounded another way by who keeps whole numbers throughout.
    """
    numbers = np.random.default_rng(2)

    def case(
        name: str, op_type: str, x: tuple[int, ...], w: tuple[int, ...], axis: int | None, **attributes: Any
    ) -> OddCase:
        scales = np.exp2(numbers.integers(-4, 0, () if axis is None else (w[axis],))).astype(np.float32)
        weights: dict[str, np.ndarray] = {
            "q": numbers.integers(-100, 100, w).astype(np.int8),
            "s": scales,
            "xs": np.array(1 / 16, np.float32),
            "xz": np.array(128, np.uint8),
        }
        along: dict[str, Any] = {} if axis is None else {"axis": axis}
        nodes = [
            make_node("QuantizeLinear", ["x", "xs", "xz"], ["xq"]),
            make_node("DequantizeLinear", ["xq", "xs", "xz"], ["xd"]),
            make_node("DequantizeLinear", ["q", "s"], ["w"], **along),
            make_node(op_type, ["xd", "w"], ["r"], **attributes),
            make_node("Relu", ["r"], ["y"]),
        ]
        return _case(f"qdq-{name}", nodes, {"x": _some(x) - 3}, weights)

    for axis, how in ((None, "whole"), (0, "by-output")):
        yield case(f"conv-{how}", "Conv", (1, 4, 6, 6), (8, 4, 3, 3), axis)
        yield case(f"depthwise-{how}", "Conv", (1, 8, 6, 6), (8, 1, 3, 3), axis, group=8)
        yield case(f"gemm-{how}", "Gemm", (3, 16), (8, 16), axis, transB=1)
    for axis, how in ((None, "whole"), (1, "by-output"), (0, "by-summed")):
        yield case(f"matmul-{how}", "MatMul", (3, 16), (16, 8), axis)
    yield case("gemm-by-summed", "Gemm", (3, 16), (8, 16), 1, transB=1)


def operator_sets() -> Iterator[OddCase]:
    """One small network in every operator set."""
    weights = {
        "k": _some((4, 3, 3, 3)) / 10,
        **{name: np.abs(_some((4,))) + 1 for name in ("scale", "bias", "mean", "var")},
        "shape": np.array([1, -1], np.int64),
        "w": _some((16, 5)) / 10,
        "b": _some((5,)),
    }
    nodes = [
        make_node("Conv", ["x", "k"], ["c"], pads=[1, 1, 1, 1]),
        make_node("BatchNormalization", ["c", "scale", "bias", "mean", "var"], ["n"]),
        make_node("Relu", ["n"], ["r"]),
        make_node("MaxPool", ["r"], ["m"], kernel_shape=[2, 2], strides=[2, 2]),
        make_node("Reshape", ["m", "shape"], ["f"]),
        make_node("Gemm", ["f", "w", "b"], ["g"]),
        make_node("Softmax", ["g"], ["y"], axis=1),
    ]
    for opset in range(FIRST, NEWEST + 1):
        yield _case(f"opset-{opset}", nodes, {"x": _some((1, 3, 4, 4))}, weights, opset=opset)


def unknown_operator() -> OddCase:
    """An operator of a domain that nobody knows, of known type and shape."""
    nodes = [make_node("Relu", ["x"], ["a"]), make_node("Mystery", ["a"], ["y"], domain="com.example")]
    x = _some((2, 3))
    graph = helper.make_graph(nodes, "unknown", [_info("x", x)], [_info("y", x)])
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.example", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)
    return OddCase(name="unknown-domain", model=model.SerializeToString(), feeds={"x": x})


def write_large(folder: Path, rows: int) -> tuple[Path, Arrays, np.ndarray]:
    """A table of 1000 numbers a row, rows of which are looked up and multiplied; all but four rows are zeros.

    Returns:
        The file, with its table beside it as a sparse file, the feeds, and the answer.
    """
    path, table = folder / "large.onnx", folder / "large.data"
    chosen = np.array([0, 1, rows // 2, rows - 1], np.int64)
    mapped = np.lib.format.open_memmap(folder / "large.npy", "w+", np.float32, (4, 1000))
    mapped[:] = np.random.default_rng(0).standard_normal((4, 1000))
    with table.open("wb") as file:
        file.truncate(rows * 4000)
        for row, content in zip(chosen, mapped, strict=True):
            file.seek(int(row) * 4000)
            file.write(content.tobytes())
    w = np.random.default_rng(1).standard_normal((1000, 8)).astype(np.float32)
    feeds = {"i": chosen}
    nodes = [make_node("Gather", ["table", "i"], ["r"]), make_node("MatMul", ["r", "w"], ["y"])]
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 8])
    graph = helper.make_graph(nodes, "large", [_info("i", chosen)], [y], [numpy_helper.from_array(w, "w")])
    tensor = graph.initializer.add(name="table", data_type=TensorProto.FLOAT, dims=[rows, 1000])
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=table.name)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=IR_VERSION)
    path.write_bytes(model.SerializeToString())
    return path, feeds, np.asarray(mapped) @ w


ODD_CASES = (
    *types(),
    *without_elements(),
    *without_axes(),
    *huge_attributes(),
    *quantised(),
    *operator_sets(),
)
