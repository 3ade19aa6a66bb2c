"""One operator, computed by ONNX's own reference implementation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

from intarsia.graph.inference import INFERENCE_ERRORS
from intarsia.graph.reference.contrib_ops import CONTRIB_OPS
from intarsia.graph.reference.operators import REPLACEMENTS

EVALUATION_ERRORS = (
    *INFERENCE_ERRORS,  # of operators that are defined by a function
    *(ArithmeticError, AssertionError, AttributeError, ImportError, LookupError, MemoryError, TypeError),
)
"""What the reference implementation raises for input it does not take, or does not know."""


def evaluate_node(
    node: onnx.NodeProto,
    opsets: Mapping[str, int],
    feeds: Mapping[str, Any],
    types: Mapping[str, onnx.TypeProto | None],
) -> Sequence[Any]:
    """The node's outputs by position.

    Args:
        node: The operator, with any nested graphs.
        opsets: Version of each domain.
        feeds: Every value it reads, captured ones included.
        types: Types of the values it reads; some operators are defined through functions that depend on them.
    """
    outputs = [name for name in node.output if name]
    graph = onnx.GraphProto(name="node")
    graph.node.append(node)
    graph.input.extend(onnx.ValueInfoProto(name=name, type=types.get(name)) for name in feeds)
    graph.output.extend(onnx.ValueInfoProto(name=name) for name in outputs)
    evaluator = ReferenceEvaluator(graph, opsets={"": 1, **opsets}, new_ops=[*REPLACEMENTS, *CONTRIB_OPS])
    with np.errstate(all="ignore"):
        results = dict(zip(outputs, evaluator.run(outputs, dict(feeds)), strict=True))
    return [results.get(name) for name in node.output]
