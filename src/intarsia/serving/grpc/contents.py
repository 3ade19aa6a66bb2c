"""Tensors in the protocol's messages for gRPC: as bytes beside the message, or typed inside it, never both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from intarsia.runtime.dtypes import numpy_dtype
from intarsia.serving.grpc.messages import messages
from intarsia.serving.metadata import ModelMetadata, TensorMetadata
from intarsia.serving.statuses import bad
from intarsia.serving.tensors.binary_data import decoded, from_binary, to_binary
from intarsia.serving.tensors.datatypes import BY_DATATYPE, BYTES
from intarsia.wording import counted

CONTENTS: Mapping[str, str] = {
    "BOOL": "bool_contents",
    "INT8": "int_contents",
    "INT16": "int_contents",
    "INT32": "int_contents",
    "INT64": "int64_contents",
    "UINT8": "uint_contents",
    "UINT16": "uint_contents",
    "UINT32": "uint_contents",
    "UINT64": "uint64_contents",
    "FP32": "fp32_contents",
    "FP64": "fp64_contents",
    BYTES: "bytes_contents",
}
"""The field for typed elements of each datatype; the floats of 16 bits have none, and come as bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """How a request wants its answer.

    Attributes:
        id: What the answer repeats.
        outputs: The outputs.
        is_typed: Whether its own tensors are typed, and so those of the answer where they can be.
    """

    id: str
    outputs: tuple[TensorMetadata, ...]
    is_typed: bool


def decode(metadata: ModelMetadata, request: Any) -> tuple[dict[str, np.ndarray], Wanted]:
    """The inputs of a request, and how it wants its answer.

    Raises:
        RequestError: It is not well formed, or not what the model takes.
    """
    raw = request.raw_input_contents
    if raw and len(raw) != len(request.inputs):
        raise bad(f"raw_input_contents: {len(raw)} of them, for {counted(len(request.inputs), 'input')}")
    metadata.check_inputs([tensor.name for tensor in request.inputs])
    feeds = {}
    for place, tensor in enumerate(request.inputs):
        where = f"inputs[{place}]"
        shape = metadata.check_input(tensor.name, tensor.datatype, tensor.shape)
        if not raw:
            feeds[tensor.name] = _typed(tensor, shape, where)
        elif tensor.HasField("contents"):
            raise bad(f"{where}: contents and raw_input_contents; give one of them")
        else:
            feeds[tensor.name] = from_binary(raw[place], tensor.datatype, shape, where)
    outputs = metadata.wanted_outputs([each.name for each in request.outputs])
    return feeds, Wanted(id=request.id, outputs=outputs, is_typed=not raw and bool(feeds))


def encode(metadata: ModelMetadata, wanted: Wanted, results: Mapping[str, np.ndarray]) -> bytes:
    """The message of an answer."""
    response = messages().ModelInferResponse(model_name=metadata.name, model_version=metadata.version, id=wanted.id)
    is_typed = wanted.is_typed and all(output.datatype in CONTENTS for output in wanted.outputs)
    for output in wanted.outputs:
        array = results[output.name]
        tensor = response.outputs.add(name=output.name, datatype=output.datatype, shape=array.shape)
        if is_typed:
            elements = array.ravel().tolist()
            if output.datatype == BYTES:
                elements = [each if isinstance(each, bytes) else str(each).encode() for each in elements]
            getattr(tensor.contents, CONTENTS[output.datatype]).extend(elements)
        else:
            response.raw_output_contents.append(to_binary(array))
    encoded: bytes = response.SerializeToString()
    return encoded


def _typed(tensor: Any, shape: tuple[int, ...], where: str) -> np.ndarray:
    field = CONTENTS.get(tensor.datatype)
    if field is None:
        raise bad(f"{where}: {tensor.datatype} has no typed contents; send it in raw_input_contents")
    for other, values in tensor.contents.ListFields():
        if other.name != field and len(values):
            raise bad(f"{where}: the elements of {tensor.datatype} are in contents.{field}, and not in {other.name}")
    elements = list(getattr(tensor.contents, field))  # numpy takes the field itself too, and lets numbers wrap around
    if len(elements) != prod(shape):
        raise bad(f"{where}: {len(elements)} elements, but the shape {list(shape)} takes {prod(shape)}")
    if tensor.datatype == BYTES:
        array = np.empty(len(elements), object)
        array[:] = [decoded(each, where) for each in elements]
        return array.reshape(shape)
    try:
        return np.array(elements, numpy_dtype(BY_DATATYPE[tensor.datatype])).reshape(shape)
    except OverflowError:
        raise bad(f"{where}: a number is outside of the range of {tensor.datatype}") from None
