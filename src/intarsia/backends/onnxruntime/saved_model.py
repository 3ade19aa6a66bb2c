"""A model as ONNX Runtime saves it after optimising: read, and which of its tensors lie in the file beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import onnx

from intarsia.errors import ModelError
from intarsia.graph.dtypes import dtype_name

BLOCKED = "com.microsoft.nchwc"
"""The domain of ONNX Runtime's own operators on blocks of channels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTensor:
    """A tensor whose bytes are in a data file beside the model; ``dtype`` is a numpy or ml_dtypes name."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int
    nbytes: int


def parsed(content: bytes) -> onnx.ModelProto:
    """The model, to be changed.

    Raises:
        ModelError: The file is not ONNX.
    """
    model = onnx.ModelProto()
    try:
        model.ParseFromString(content)
    except Exception as raised:  # which class protobuf raises depends on its implementation
        raise ModelError(f"not an ONNX model: {raised}") from raised
    return model


def attributes_of(node: onnx.NodeProto) -> dict[str, Any]:
    """By name, with text as text and lists as tuples."""
    return {attribute.name: _value(attribute) for attribute in node.attribute}


def reorders(node: onnx.NodeProto, way: str) -> bool:
    """Whether a node is that operator, ``ReorderInput`` or ``ReorderOutput``, with channels first outside of blocks."""
    return (node.domain, node.op_type) == (BLOCKED, way) and not attributes_of(node).get("channels_last", 0)


def constant_of(graph: onnx.GraphProto, number: float, count: int) -> str:
    """The name of a constant of so many equal numbers, which is added if the graph has none yet."""
    name = f"intarsia/{number:g}x{count}"
    return added(graph, onnx.helper.make_tensor(name, onnx.TensorProto.FLOAT, [count], [number] * count))


def added(graph: onnx.GraphProto, made: onnx.TensorProto) -> str:
    """The name of a constant, which is added if the graph has none that is the same."""
    held = {tensor.name: tensor for tensor in graph.initializer}
    values = {name for node in graph.node for name in node.output}
    while made.name in values or held.get(made.name, made) != made:
        made.name += "_"
    if made.name not in held:
        graph.initializer.append(made)
    return made.name


def stored_tensors(content: bytes) -> tuple[StoredTensor, ...]:
    """The tensors of a model that lie in its data file.

    Raises:
        ModelError: The file is not ONNX.
    """
    tensors = parsed(content).graph.initializer
    return tuple(_stored(tensor) for tensor in tensors if tensor.data_location == onnx.TensorProto.EXTERNAL)


def _stored(tensor: onnx.TensorProto) -> StoredTensor:
    facts = {entry.key: entry.value for entry in tensor.external_data}
    return StoredTensor(
        name=tensor.name,
        dtype=dtype_name(tensor.data_type) or "uint8",
        shape=tuple(tensor.dims),
        offset=int(facts.get("offset", 0)),
        nbytes=int(facts["length"]),
    )


def _value(attribute: onnx.AttributeProto) -> Any:
    value = onnx.helper.get_attribute_value(attribute)
    if isinstance(value, bytes):
        return value.decode()
    return tuple(value) if isinstance(value, Sequence) else value
