"""A model as ONNX Runtime saves it after optimising: read, and which of its tensors lie in the file beside it."""

from __future__ import annotations

from dataclasses import dataclass

import onnx

from intarsia.errors import ModelError
from intarsia.graph.dtypes import dtype_name


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTensor:
    """A tensor whose content the model keeps in a data file beside it.

    Attributes:
        name: What the model calls it.
        dtype: numpy or ml_dtypes name.
        shape: Its dimensions.
        offset: Where its bytes begin in the file.
        nbytes: How many there are.
    """

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
    found = []
    for tensor in parsed(content).graph.initializer:
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            facts = {entry.key: entry.value for entry in tensor.external_data}
            found.append(
                StoredTensor(
                    name=tensor.name,
                    dtype=dtype_name(tensor.data_type) or "uint8",
                    shape=tuple(tensor.dims),
                    offset=int(facts.get("offset", 0)),
                    nbytes=int(facts["length"]),
                )
            )
    return tuple(found)
