"""A model as ONNX Runtime saves it after optimising: read, and which of its tensors lie in the file beside it."""

from __future__ import annotations

from dataclasses import dataclass

import onnx

from intarsia.errors import ModelError
from intarsia.graph.dtypes import dtype_name


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
