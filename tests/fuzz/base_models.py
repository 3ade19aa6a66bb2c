"""Small sound models of every shape that files come in, for the fuzzer to change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.helper import make_node

from tests.malformed import array, info, model, sound, with_branches, with_function, with_loop, with_sparse


def _some(name: str, *shape: int) -> onnx.TensorProto:
    return array(name, np.random.default_rng(list(name.encode())).standard_normal(shape))


def convolutions(opset: int = 21) -> onnx.ModelProto:
    """Convolution, batch normalisation, pooling, a dense layer."""
    nodes = [
        make_node("Conv", ["x", "k"], ["c"], name="conv", pads=[1, 1, 1, 1], kernel_shape=[3, 3]),
        make_node("BatchNormalization", ["c", "scale", "bias", "mean", "var"], ["n"], name="norm", epsilon=1e-4),
        make_node("Relu", ["n"], ["r"]),
        make_node("MaxPool", ["r"], ["m"], kernel_shape=[2, 2], strides=[2, 2]),
        make_node("Reshape", ["m", "shape"], ["f"], name="flat"),
        make_node("Gemm", ["f", "w", "b"], ["g"], alpha=0.5, transB=1),
        make_node("Softmax", ["g"], ["y"], axis=1),
    ]
    ones = [array(name, np.ones(4)) for name in ("scale", "bias", "mean", "var")]
    weights = [_some("k", 4, 3, 3, 3), *ones, array("shape", [1, -1], np.int64), _some("w", 5, 16), _some("b", 5)]
    return model(nodes, [info("x", (1, 3, 4, 4))], [info("y", (1, 5))], weights, opset=opset)


def attention() -> onnx.ModelProto:
    """One head of a transformer, with shape arithmetic in it."""
    nodes = [
        make_node("LayerNormalization", ["x", "scale", "bias"], ["n"], axis=-1),
        *(make_node("MatMul", ["n", f"w{part}"], [part]) for part in "qkv"),
        make_node("Transpose", ["k"], ["t"], perm=[0, 2, 1]),
        make_node("MatMul", ["q", "t"], ["scores"]),
        make_node("Shape", ["x"], ["extent"], start=2),
        make_node("Cast", ["extent"], ["width"], to=TensorProto.FLOAT),
        make_node("Sqrt", ["width"], ["root"]),
        make_node("Div", ["scores", "root"], ["scaled"]),
        make_node("Softmax", ["scaled"], ["p"], axis=-1),
        make_node("MatMul", ["p", "v"], ["o"]),
        make_node("Gelu", ["o"], ["g"], approximate="tanh"),
        make_node("Add", ["g", "x"], ["y"]),
    ]
    weights = [array("scale", np.ones(8)), array("bias", np.zeros(8)), *(_some(f"w{part}", 8, 8) for part in "qkv")]
    return model(nodes, [info("x", (1, 4, 8))], [info("y", (1, 4, 8))], weights)


def recurrent() -> onnx.ModelProto:
    """A GRU and what is read from its end."""
    nodes = [
        make_node("GRU", ["x", "w", "r", "b"], ["all", "last"], hidden_size=4, linear_before_reset=1),
        make_node("Squeeze", ["last", "axis"], ["y"]),
    ]
    weights = [_some("w", 1, 12, 3), _some("r", 1, 12, 4), _some("b", 1, 24), array("axis", [0], np.int64)]
    return model(nodes, [info("x", (5, 1, 3))], [info("y", (1, 4))], weights)


def scanned() -> onnx.ModelProto:
    """A running sum by `Scan`."""
    body = helper.make_graph(
        [make_node("Add", ["s", "i"], ["t"]), make_node("Identity", ["t"], ["o"])],
        "body",
        [info("s", (3,)), info("i", (3,))],
        [info("t", (3,)), info("o", (3,))],
    )
    nodes = [make_node("Scan", ["start", "x"], ["last", "y"], body=body, num_scan_inputs=1)]
    return model(nodes, [info("x", (2, 3))], [info("y", (2, 3))], [array("start", np.zeros(3))])


def quantised() -> onnx.ModelProto:
    """A layer between quantise and dequantise, its weights in 8 bits by channel."""
    nodes = [
        make_node("QuantizeLinear", ["x", "xs", "xz"], ["xq"]),
        make_node("DequantizeLinear", ["xq", "xs", "xz"], ["xd"]),
        make_node("DequantizeLinear", ["q", "s"], ["w"], axis=1),
        make_node("MatMul", ["xd", "w"], ["y"]),
    ]
    weights = [
        numpy_helper.from_array(np.random.default_rng(0).integers(-100, 100, (3, 4)).astype(np.int8), "q"),
        array("s", np.full(4, 0.1)),
        array("xs", 0.05),
        array("xz", 128, np.uint8),
    ]
    return model(nodes, outputs=[info("y", (2, 4))], weights=weights)


def texts() -> onnx.ModelProto:
    """Strings compared and chosen."""
    words = numpy_helper.from_array(np.array(["yes", "no"], object), "words")
    nodes = [make_node("Equal", ["x", "words"], ["e"]), make_node("Cast", ["e"], ["y"], to=TensorProto.FLOAT)]
    return model(nodes, [info("x", (2,), TensorProto.STRING)], [info("y", (2,))], [words])


def sequences() -> onnx.ModelProto:
    """A tensor cut into a sequence, and an element of that."""
    nodes = [
        make_node("SplitToSequence", ["x"], ["parts"], axis=0, keepdims=1),
        make_node("SequenceAt", ["parts", "one"], ["y"]),
    ]
    return model(nodes, outputs=[info("y", None)], weights=[array("one", 1, np.int64)])


def optionals() -> onnx.ModelProto:
    """A value put into an optional and taken out."""
    nodes = [make_node("Optional", ["x"], ["o"]), make_node("OptionalGetElement", ["o"], ["y"])]
    return model(nodes, outputs=[info("y")])


def resized() -> onnx.ModelProto:
    """Pictures made larger, padded and cut, all by constants."""
    nodes = [
        make_node("Resize", ["x", "", "scales"], ["r"], mode="linear", coordinate_transformation_mode="half_pixel"),
        make_node("Pad", ["r", "pads"], ["p"], mode="reflect"),
        make_node("Slice", ["p", "starts", "ends", "axes"], ["s"]),
        make_node("Tile", ["s", "times"], ["t"]),
        make_node("ReduceMean", ["t", "axes"], ["y"], keepdims=0),
    ]
    weights = [
        array("scales", [1, 1, 2, 2]),
        array("pads", [0, 0, 1, 1, 0, 0, 1, 1], np.int64),
        array("starts", [0, 0], np.int64),
        array("ends", [6, 6], np.int64),
        array("axes", [2, 3], np.int64),
        array("times", [1, 2, 1, 1], np.int64),
    ]
    return model(nodes, [info("x", (1, 2, 4, 4))], [info("y", (1, 4))], weights)


def folded() -> onnx.ModelProto:
    """Much that follows from constants alone."""
    nodes = [
        make_node("Constant", [], ["n"], value_ints=[2, 3]),
        make_node("ConstantOfShape", ["n"], ["c"], value=array("v", [2.0])),
        make_node("Range", ["zero", "six", "one"], ["r"]),
        make_node("Reshape", ["r", "n"], ["m"]),
        make_node("Cast", ["m"], ["f"], to=TensorProto.FLOAT),
        make_node("Expand", ["f", "n"], ["e"]),
        make_node("NonZero", ["e"], ["places"]),
        make_node("Shape", ["places"], ["count"]),
        make_node("Cast", ["count"], ["counted"], to=TensorProto.FLOAT),
        make_node("ReduceSum", ["counted"], ["total"], keepdims=0),
        make_node("Sum", ["x", "c", "e", "total"], ["y"]),
    ]
    numbers = {"zero": 0, "six": 6, "one": 1}
    return model(
        nodes, outputs=[info("y")], weights=[array(name, number, np.int64) for name, number in numbers.items()]
    )


def open_sizes() -> onnx.ModelProto:
    """A batch whose size is not stated, and a value that the caller may leave out."""
    made = sound()
    made.graph.input[0].CopyFrom(info("x", ("N", 3)))
    made.graph.output[0].CopyFrom(info("y", ("N", 4)))
    made.graph.input.append(info("w", (3, 4)))
    return made


def typed_fields() -> onnx.ModelProto:
    """Weights in the fields of their types, as older exporters write them, and of many types."""
    kinds = {"float_data": TensorProto.FLOAT, "int32_data": TensorProto.FLOAT16, "double_data": TensorProto.DOUBLE}
    nodes, weights, last = [], [], "x"
    for number, kind in enumerate(kinds.values()):
        weights.append(helper.make_tensor(f"w{number}", kind, [2, 3], [1.0] * 6))
        nodes.append(make_node("Cast", [f"w{number}"], [f"c{number}"], to=TensorProto.FLOAT))
        nodes.append(make_node("Mul", [last, f"c{number}"], [f"m{number}"]))
        last = f"m{number}"
    nodes[-1].output[0] = "y"
    return model(nodes, outputs=[info("y")], weights=weights)


def calls_in_calls() -> onnx.ModelProto:
    """Functions that call functions, one of them inside of a branch."""
    made = with_function()
    twice = helper.make_function(
        "own",
        "Twice",
        ["a", "b"],
        ["r"],
        [
            make_node("Scaled", ["a", "b"], ["h"], domain="own", alpha=0.25),
            make_node("Scaled", ["h", "b"], ["r"], domain="own", alpha=2.0),
        ],
        [helper.make_opsetid("", 21), helper.make_opsetid("own", 1)],
    )
    made.functions.append(twice)
    calls: tuple[tuple[str, str, dict[str, Any]], ...] = (("Twice", "own", {}), ("Scaled", "own", {"alpha": 1.0}))
    branches = [
        helper.make_graph(
            [make_node(op_type, ["x", "w"], ["v"], domain=domain, **attributes)], op_type, [], [info("v")]
        )
        for op_type, domain, attributes in calls
    ]
    made.graph.node[0].CopyFrom(make_node("If", ["c"], ["y"], then_branch=branches[0], else_branch=branches[1]))
    made.graph.input.append(info("c", (), TensorProto.BOOL))
    return made


EXTERNAL = "external"
"""The model that keeps its weights in a file beside it."""
DATA = "weights.data"


def external() -> onnx.ModelProto:
    """Weights in a file beside the model, `DATA`."""
    made = sound()
    offset = 0
    for tensor in made.graph.initializer:
        tensor.data_location = TensorProto.EXTERNAL
        facts = {"location": DATA, "offset": str(offset), "length": str(len(tensor.raw_data))}
        offset += len(tensor.raw_data)
        tensor.ClearField("raw_data")
        for key, value in facts.items():
            tensor.external_data.add(key=key, value=value)
    return made


def write_data(folder: Path) -> None:
    """The file that the weights of `external` are in."""
    (folder / DATA).write_bytes(b"".join(tensor.raw_data for tensor in sound().graph.initializer))


BASES: Mapping[str, Callable[[], onnx.ModelProto]] = MappingProxyType(
    {
        "dense": sound,
        "sparse": with_sparse,
        "if": with_branches,
        "loop": with_loop,
        "function": with_function,
        "cnn": convolutions,
        "cnn-9": lambda: convolutions(9),
        "transformer": attention,
        "gru": recurrent,
        "scan": scanned,
        "qdq": quantised,
        "texts": texts,
        "sequences": sequences,
        "optionals": optionals,
        "resize": resized,
        "folded": folded,
        "open": open_sizes,
        "typed": typed_fields,
        "calls": calls_in_calls,
        EXTERNAL: external,
    }
)
