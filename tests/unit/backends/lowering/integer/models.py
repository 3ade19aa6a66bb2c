"""Small quantised models, node by node, and what their integers compute."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from intarsia.backends.lowering.integer.lower import lower_integers
from intarsia.backends.lowering.integer.reference import REFERENCES, computed
from intarsia.backends.lowering.program import Program
from intarsia.graph import load_model
from intarsia.graph.reference.reference import evaluate
from intarsia.graph.submodel import extract
from tests.unit.backends.lowering.numpy_kernels import kernel_of

TYPES = {"int8": TensorProto.INT8, "uint8": TensorProto.UINT8, "int16": TensorProto.INT16}


class Sketch:
    """A model in the making, with one input ``x`` in float32 that is quantised first."""

    def __init__(self, shape: tuple[int, ...], dtype: str = "int8", seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        self.shape = shape
        self.dtype = dtype
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self.more: list[onnx.ValueInfoProto] = []
        self.x = self.through("x", 0.02)

    def node(self, op_type: str, *inputs: str, outputs: int = 1, **attributes: Any) -> str:
        """A node; the name of its first output."""
        label = f"n{len(self.nodes)}"
        names = [label, *(f"{label}.{place}" for place in range(1, outputs))]
        self.nodes.append(helper.make_node(op_type, inputs, names, label, **attributes))
        return label

    def weight(self, array: np.ndarray) -> str:
        """A constant."""
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def ints(self, *numbers: int) -> str:
        """A constant list."""
        return self.weight(np.array(numbers, np.int64))

    def scale(self, step: float, zero: int | None = None, dtype: str | None = None) -> tuple[str, str]:
        """Scale and zero point of an activation."""
        kind = dtype or self.dtype
        point = (int(self.rng.integers(-20, 20)) + (128 if kind == "uint8" else 0)) if zero is None else zero
        return self.weight(np.array(step * self.rng.uniform(0.9, 1.1), np.float32)), self.weight(np.array(point, kind))

    def quantised(self, name: str, step: float, zero: int | None = None) -> tuple[str, tuple[str, str]]:
        """Behind a quantiser, and what that was told."""
        attrs = self.scale(step, zero)
        return self.node("QuantizeLinear", name, *attrs), attrs

    def through(self, name: str, step: float, zero: int | None = None) -> str:
        """Quantised and back."""
        made, attrs = self.quantised(name, step, zero)
        return self.node("DequantizeLinear", made, *attrs)

    def constant(self, shape: tuple[int, ...], axis: int | None, dtype: str = "int8", zero: int = 0) -> str:
        """Weights in 8 bits, one scale or one a slice."""
        low, high = (-127, 128) if dtype == "int8" else (0, 256)
        whole = self.weight(self.rng.integers(low, high, shape).astype(dtype))
        count = () if axis is None else (shape[axis],)
        scales = self.weight(self.rng.uniform(0.002, 0.004, count).astype(np.float32))
        zeros = self.weight(np.full(count, zero, dtype))
        return self.node("DequantizeLinear", whole, scales, zeros, **({} if axis is None else {"axis": axis}))

    def model(self, *outputs: tuple[str, str]) -> onnx.ModelProto:
        """The finished model, with outputs of these names and types."""
        ends = [
            helper.make_tensor_value_info(name, TYPES.get(dtype, TensorProto.FLOAT), None) for name, dtype in outputs
        ]
        source = helper.make_tensor_value_info("x", TensorProto.FLOAT, self.shape)
        graph = helper.make_graph(self.nodes, "sketch", [source, *self.more], ends, self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_operatorsetid("", 21)], ir_version=10)


def program_of(model: onnx.ModelProto) -> Program:
    graph = load_model(model)
    return lower_integers(extract(graph, graph.position))


def names_of(model: onnx.ModelProto) -> Counter[str]:
    """How often each instruction is there, leaves aside."""
    leaves = {"input", "weight", "constant"}
    return Counter(each.name for each in program_of(model).instructions if each.name not in leaves)


def answers(model: onnx.ModelProto, feeds: dict[str, np.ndarray]) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """What the integers compute, and what the model says."""
    graph = load_model(model)
    sub = extract(graph, graph.position)
    program = lower_integers(sub)
    values: list[np.ndarray] = []
    for each in program.instructions:
        reads = [values[number] for number in each.reads]
        if each.name == "input":
            made = feeds[each.attributes["name"]]
        elif each.name == "weight":
            made = sub.weights[each.attributes["name"]].array()
        elif each.name == "constant":
            made = program.constants[each.attributes["name"]]
        elif each.name in REFERENCES:
            made = computed(each.name, reads, each.attributes).reshape(each.shape)
        else:
            made = kernel_of(each, [program.instructions[number] for number in each.reads])(*reads)
        assert (made.dtype.name, made.shape) == (each.dtype, tuple(each.shape)), each
        values.append(made)
    expected = evaluate(graph, feeds)
    return [values[place] for place in program.outputs.values()], [expected[name] for name in program.outputs]


def agree(model: onnx.ModelProto, seed: int = 0) -> None:
    """At most one step off, and seldom."""
    rng = np.random.default_rng(seed)
    (source,) = load_model(model).inputs
    shape = [dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim]
    found, expected = answers(model, {source: rng.normal(0, 1, shape).astype(np.float32)})
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.dtype in (np.int8, np.uint8)
        assert ours.dtype == theirs.dtype
        difference = np.abs(ours.astype(np.int64) - theirs.astype(np.int64))
        assert difference.max() <= 1
        assert (difference > 0).mean() <= 0.005 or (difference > 0).sum() <= 1
        assert len(np.unique(theirs)) > 4
