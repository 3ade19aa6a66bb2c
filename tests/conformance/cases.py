"""What a conformance case is, and how its model and its inputs are made. The tables are beside this file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

import numpy as np
import onnx
from onnx import helper, numpy_helper

OPSET = 21
TOLERANCE = {"float32": 1e-4, "float16": 5e-3, "bfloat16": 1e-2}
"""Of the largest difference, relative to the largest value; other types must be equal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    """How an input's values are drawn: evenly from ``low`` to ``high``, integers without ``high``."""

    shape: tuple[int, ...]
    dtype: str = "float32"
    low: float = -2.0
    high: float = 2.0

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """One array of it."""
        dtype = np.dtype(self.dtype)
        if dtype.kind == "b":
            return rng.random(self.shape) < 0.5
        if dtype.kind in "iu":
            return rng.integers(int(self.low), int(self.high), self.shape).astype(dtype)
        return (rng.random(self.shape) * (self.high - self.low) + self.low).astype(dtype)


Content = Feed | np.ndarray | tuple[int, ...]
"""What a node reads: drawn anew for each run, a constant, or the shape of a constant to fill."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A small model.

    Attributes:
        name: Unique; what a failure is reported under.
        nodes: The operators.
        inputs: How each input is drawn.
        weights: Constants: an array as it is, or a shape to fill with values of a sensible size.
        outputs: Names of the outputs.
    """

    name: str
    nodes: tuple[onnx.NodeProto, ...]
    inputs: Mapping[str, Feed]
    weights: Mapping[str, np.ndarray | tuple[int, ...]] = field(default_factory=dict)
    outputs: tuple[str, ...] = ("y",)

    def model(self) -> bytes:
        """The ONNX file."""
        rng = self._rng("weights")
        graph = helper.make_graph(
            list(self.nodes),
            self.name,
            [
                helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(feed.dtype)), feed.shape)
                for name, feed in self.inputs.items()
            ],
            [onnx.ValueInfoProto(name=name) for name in self.outputs],
            [numpy_helper.from_array(_filled(content, rng), name) for name, content in self.weights.items()],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)
        typed = onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
        content: bytes = typed.SerializeToString()
        return content

    def feeds(self, turn: str) -> dict[str, np.ndarray]:
        """Inputs, other ones for another ``turn``."""
        rng = self._rng(turn)
        return {name: feed.draw(rng) for name, feed in self.inputs.items()}

    def _rng(self, use: str) -> np.random.Generator:
        return np.random.default_rng(crc32(f"{self.name}/{use}".encode()))


def node(op_type: str, inputs: str, outputs: str = "y", /, **attributes: Any) -> onnx.NodeProto:
    """A node from blank-separated names; ``-`` leaves an input out."""
    return helper.make_node(op_type, [name.replace("-", "") for name in inputs.split()], outputs.split(), **attributes)


def f32(*shape: int, low: float = -2.0, high: float = 2.0) -> Feed:
    """A float32 input."""
    return Feed(shape=shape, low=low, high=high)


def i64(*numbers: int) -> np.ndarray:
    """A constant list of int64."""
    return np.array(numbers, np.int64)


def scalar(number: float, dtype: str = "float32") -> np.ndarray:
    """A constant without dimensions."""
    return np.array(number, dtype)


def one(op_type: str, name: str, inputs: Mapping[str, Content], **attributes: Any) -> Case:
    """A case of one node with one output: feeds are its inputs, all else its constants, in the order given."""
    return Case(
        name=f"{op_type}-{name}",
        nodes=(node(op_type, " ".join(inputs), **attributes),),
        inputs={name: content for name, content in inputs.items() if isinstance(content, Feed)},
        weights={name: content for name, content in inputs.items() if not isinstance(content, Feed)},
    )


def _filled(content: np.ndarray | tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    if isinstance(content, np.ndarray):
        return content
    reads = int(np.prod(content[1:])) or 1
    filled: np.ndarray = rng.standard_normal(content) * np.sqrt(2 / reads)
    return filled.astype(np.float32)
