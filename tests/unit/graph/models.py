"""Tiny models for the tests of graph/: built by hand, and random DAGs of operators that keep one shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

SHAPE = (2, 3)
_UNARY = ("Relu", "Neg", "Sigmoid", "Tanh", "Abs")
_BINARY = ("Add", "Sub", "Mul", "Max")


def info(name: str, shape: Sequence[int | str | None] | None = SHAPE, dtype: int = TensorProto.FLOAT) -> Any:
    """A value's type and shape."""
    return helper.make_tensor_value_info(name, dtype, shape)


def model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[onnx.ValueInfoProto],
    outputs: Sequence[onnx.ValueInfoProto],
    weights: Mapping[str, Any] | None = None,
    *,
    opset: int = 21,
    ir_version: int = 10,
    domains: Mapping[str, int] | None = None,
) -> onnx.ModelProto:
    """A model with weights, arrays or numbers, by name."""
    tensors = [numpy_helper.from_array(np.asarray(array), name) for name, array in (weights or {}).items()]
    graph = helper.make_graph(list(nodes), "test", list(inputs), list(outputs), tensors)
    imports = [helper.make_opsetid(domain, version) for domain, version in {"": opset, **(domains or {})}.items()]
    return helper.make_model(graph, opset_imports=imports, ir_version=ir_version)


def two_layers(seed: int = 0, *, prefix: str = "") -> onnx.ModelProto:
    """Two equal blocks, MatMul and Relu, with other weights of one kind; ``prefix`` goes before each name."""
    rng = np.random.default_rng(seed)
    weights = {f"{prefix}w{i}": rng.standard_normal((32, 32)).astype(np.float32) for i in range(2)}
    names = [f"{prefix}{name}" for name in ("x", "a", "b", "c", "y")]
    nodes = [
        helper.make_node("MatMul", [names[0], f"{prefix}w0"], [names[1]], name=f"{prefix}first"),
        helper.make_node("Relu", [names[1]], [names[2]], name=f"{prefix}relu"),
        helper.make_node("MatMul", [names[2], f"{prefix}w1"], [names[3]]),
        helper.make_node("Relu", [names[3]], [names[4]]),
    ]
    return model(nodes, [info(names[0], (4, 32))], [info(names[4], (4, 32))], weights)


def branching(opset: int = 21) -> onnx.ModelProto:
    """An `If` and a `Loop` that capture values from around them; the `If` holds large weights of one name twice."""
    rng = np.random.default_rng(0)
    weights = [numpy_helper.from_array(rng.standard_normal((3, 200)).astype(np.float32), "w") for _ in range(2)]
    then = helper.make_graph(
        [helper.make_node("MatMul", ["z", "w"], ["t"])], "then", [], [info("t", None)], weights[:1]
    )
    constant = helper.make_node("Constant", [], ["w"], value=weights[1])
    otherwise = helper.make_graph(
        [constant, helper.make_node("MatMul", ["z", "w"], ["e"])], "else", [], [info("e", None)]
    )
    body = helper.make_graph(
        [
            helper.make_node("Mul", ["state", "factor"], ["next"]),
            helper.make_node("Identity", ["going"], ["still"]),
            helper.make_node("ReduceMax", ["next"], ["peak"], keepdims=0),
        ],
        "body",
        [info("i", [], TensorProto.INT64), info("going", [], TensorProto.BOOL), info("state", (2, 200))],
        [info("still", [], TensorProto.BOOL), info("next", (2, 200)), info("peak", [])],
    )
    nodes = [
        helper.make_node("Neg", ["x"], ["z"]),
        helper.make_node("ReduceSum", ["z"], ["sum"], keepdims=0),
        helper.make_node("Greater", ["sum", "zero"], ["positive"]),
        helper.make_node("If", ["positive"], ["y"], then_branch=then, else_branch=otherwise),
        helper.make_node("Loop", ["three", "", "y"], ["last", "peaks"], body=body),
    ]
    constants = {"zero": np.float32(0), "three": np.int64(3), "factor": np.float32(2)}
    return model(nodes, [info("x")], [info("last", None), info("peaks", None)], constants, opset=opset)


@st.composite
def random_dags(draw: st.DrawFn) -> onnx.ModelProto:
    """Up to twelve element-wise nodes over one or two inputs and a weight; whatever nobody reads is an output."""
    names = [f"in{i}" for i in range(draw(st.integers(1, 2)))]
    inputs = [info(name) for name in names]
    names.append("weight")
    nodes = []
    for index in range(draw(st.integers(1, 12))):
        op_type = draw(st.sampled_from((*_UNARY, *_BINARY)))
        reads = [draw(st.sampled_from(names)) for _ in range(1 if op_type in _UNARY else 2)]
        if set(reads) == {"weight"}:
            reads[0] = "in0"  # or it would be folded away
        nodes.append(helper.make_node(op_type, reads, [f"v{index}"]))
        names.append(f"v{index}")
    read = {name for node in nodes for name in node.input}
    outputs = [info(node.output[0]) for node in nodes if node.output[0] not in read]
    weight = np.linspace(-1, 1, 6, dtype=np.float32).reshape(SHAPE)
    return model(nodes, inputs, outputs, {"weight": weight})


def renamed(source: onnx.ModelProto) -> onnx.ModelProto:
    """The same model with every value, node and weight called otherwise."""
    copy = onnx.ModelProto()
    copy.CopyFrom(source)
    graph = copy.graph
    for value in (*graph.input, *graph.output, *graph.initializer, *graph.value_info):
        value.name = f"other/{value.name}"
    for number, node in enumerate(graph.node):
        node.name = f"node{number}"
        for names in (node.input, node.output):
            names[:] = [f"other/{name}" if name else "" for name in names]
    return copy


def feeds_of(source: onnx.ModelProto, seed: int = 0) -> dict[str, np.ndarray]:
    """A random array for each float input."""
    rng = np.random.default_rng(seed)
    return {
        value.name: rng.standard_normal([dim.dim_value for dim in value.type.tensor_type.shape.dim]).astype(np.float32)
        for value in source.graph.input
    }
