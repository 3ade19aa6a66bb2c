"""The cases of the onnx package's own backend test generator: one or a few operators each, with the right answers."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases

from intarsia.graph.dtypes import dtype_name
from tests.conformance.judge import differences


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeCase:
    """A small model with inputs and outputs.

    Attributes:
        name: Unique, as the package calls it, without ``test_``.
        operators: What the model is made of, most of them once.
        model: The ONNX file.
        inputs: In the model's order; ``None`` if one of them is no tensor.
        outputs: Likewise.
    """

    name: str
    operators: tuple[str, ...]
    model: bytes
    inputs: dict[str, np.ndarray] | None
    outputs: dict[str, np.ndarray] | None

    @property
    def is_numeric(self) -> bool:
        """Whether all that goes in and comes out is a tensor of numbers."""
        return (
            self.inputs is not None
            and self.outputs is not None
            and all(array.dtype != object for array in (*self.inputs.values(), *self.outputs.values()))
        )

    def faults(self, results: dict[str, np.ndarray]) -> list[str]:
        """What is wrong with an engine's outputs."""
        outputs = self.outputs or {}
        return [f"{name}: {fault}" for name, want in outputs.items() for fault in _differences(results[name], want)]


RTOL, ATOL = 1e-3, 1e-7
"""Of each element: what every case of the package states."""


def _differences(got: np.ndarray, want: np.ndarray) -> list[str]:
    """By the package's tolerance of each element, or ours of the whole, which forgives rounding where terms cancel."""
    found = differences(got, want)
    if not found or got.shape != want.shape or got.dtype != want.dtype or want.dtype == object:
        return found
    exact, near = (array.astype(np.complex128 if array.dtype.kind == "c" else np.float64) for array in (want, got))
    return [] if np.allclose(near, exact, rtol=RTOL, atol=ATOL, equal_nan=True) else found


@cache
def node_cases() -> tuple[NodeCase, ...]:
    """All of them, by name. Making them takes some ten seconds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they divide by zero on purpose
        found = collect_testcases(None)
    return tuple(sorted((_case(each) for each in found), key=lambda case: case.name))


def _case(found: Any) -> NodeCase:
    ((inputs, outputs),) = found.data_sets
    graph = found.model.graph
    weights = {weight.name for weight in graph.initializer}
    return NodeCase(
        name=found.name.removeprefix("test_"),
        operators=tuple(dict.fromkeys(_operator(node) for node in graph.node)),
        model=found.model.SerializeToString(),
        inputs=_arrays([value for value in graph.input if value.name not in weights], inputs),
        outputs=_arrays(graph.output, outputs),
    )


def _operator(node: onnx.NodeProto) -> str:
    return f"{node.domain}.{node.op_type}" if node.domain not in ("", "ai.onnx") else node.op_type


def _arrays(values: Sequence[onnx.ValueInfoProto], contents: Sequence[Any]) -> dict[str, np.ndarray] | None:
    found = {}
    for value, content in zip(values, contents, strict=False):
        if not value.type.HasField("tensor_type") or content is None or isinstance(content, list):
            return None
        array = numpy_helper.to_array(content) if isinstance(content, onnx.TensorProto) else np.asarray(content)
        name = dtype_name(value.type.tensor_type.elem_type)
        found[value.name] = array.astype(object) if name == "string" else array
    return found
