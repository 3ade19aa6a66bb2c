"""Element types and shapes by inference: operators take what they read, and what is declared comes out."""

from __future__ import annotations

import re

import onnx
import onnx_ir as ir

from intarsia.errors import ModelError
from intarsia.graph.build import all_graphs
from intarsia.graph.inference import INFERENCE_ERRORS
from intarsia.graph.normalisation.detached import detached

_PLACE = re.compile(r"\(op_type: ?(?P<op>[^,)]*)(?:, node name: (?P<node>.*?))?\): (?P<why>.*)")
_TAG = re.compile(r"\[(?:Shape|Type)InferenceError\] (?:Inference error\(s\): )?")
_TYPES = re.compile(r"\((\d+)\) vs \((\d+)\)")
_UNKNOWN = frozenset({"GroupNormalization", "MeanVarianceNormalization"})
"""Operators that ONNX defines by a function, which its own inference (onnx 1.23.2) cannot follow."""


def check_types(model: ir.Model) -> None:
    """Infer every type as strictly as ONNX Runtime does, which means: at the operator set that the model is written in.

    Shapes that the file declares for what it computes are not held against it: exporters leave stale ones behind.

    Raises:
        ModelError: An operator cannot take what it is given, or a value is not of the type that is declared.
    """
    with detached(model) as proto:
        _forget_shapes(proto.graph)
        faults = _faults(proto, check_type=True)
        # What is declared wrongly is told where it is made, rather than where it is read.
        faults = (faults and _faults(proto, check_type=False)) or faults
    if faults:
        raise ModelError(_told(faults[0]))


def _faults(proto: onnx.ModelProto, *, check_type: bool) -> list[str]:
    """What inference says against the nodes, a line each."""
    try:
        onnx.shape_inference.infer_shapes(proto, check_type=check_type, strict_mode=True)
    except INFERENCE_ERRORS as error:
        lines = [_TAG.sub("", line).strip() for line in str(error).splitlines()]
        found = [(line, _PLACE.match(line)) for line in lines if line]
        return [line for line, place in found if place is None or place["op"] not in _UNKNOWN]
    return []


def _forget_shapes(main: onnx.GraphProto) -> None:
    """Drop every declared shape but those of the main graph's inputs and of weights."""
    for graph in all_graphs(main):
        weights = {tensor.name for tensor in graph.initializer}
        for value in (*graph.value_info, *graph.output, *(() if graph is main else graph.input)):
            if value.type.HasField("tensor_type") and value.name not in weights:
                value.type.tensor_type.ClearField("shape")


def _type_text(number: str) -> str:
    known = onnx.TensorProto.DataType
    return str(known.Name(int(number))) if int(number) in known.values() else number


def _told(fault: str) -> str:
    """A fault in a line of ours: which node, and why."""
    place = _PLACE.match(fault)
    if place is None:
        return f"the model's types do not fit together: {fault}"
    named = f"node {place['node']!r} ({place['op']})" if place["node"] else f"a node without a name ({place['op']})"
    why = _TYPES.sub(lambda found: " vs ".join(map(_type_text, found.groups())), place["why"])
    return f"{named} does not fit what it is given, or what is declared: {why}"
