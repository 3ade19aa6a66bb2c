"""Writes ONNX models: adds weights to a model without any, inside it or outside, and writes the file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import onnx
from google.protobuf.message import EncodeError

from intarsia.errors import ModelError
from intarsia.files import make_folder, replace_file, replacing
from intarsia.graph.dtypes import STRING, elem_type_of, is_packed
from intarsia.graph.parts import Weight

MESSAGE_LIMIT = (1 << 31) - 1
"""Bytes in one protobuf message."""
_TOO_LARGE = "the model is larger than 2 GB with its weights inside; keep the weights outside"
INLINE_LIMIT = 1_500_000_000
"""Bytes of weights from which a stand-alone model gets a data file."""
ALIGNMENT = 64
"""Of a weight inside a data file: a cache line, and what vector loads want."""


def add_inline(model: onnx.ModelProto, weight: Weight) -> None:
    """Add a weight with its content."""
    tensor = model.graph.initializer.add(name=weight.name, data_type=elem_type_of(weight.dtype), dims=weight.shape)
    array = weight.array()
    if weight.dtype == STRING:
        tensor.string_data.extend(item.encode("utf-8", errors="surrogateescape") for item in array.flat)
    elif is_packed(weight.dtype):
        tensor.CopyFrom(onnx.numpy_helper.from_array(array, weight.name))
    else:
        tensor.raw_data = array.tobytes()


def add_external(
    model: onnx.ModelProto, weight: Weight, *, location: str, offset: int = 0, nbytes: int | None = None
) -> None:
    """Add a weight whose content is elsewhere."""
    tensor = model.graph.initializer.add(name=weight.name, data_type=elem_type_of(weight.dtype), dims=weight.shape)
    tensor.data_location = onnx.TensorProto.EXTERNAL
    length = weight.nbytes if nbytes is None else nbytes
    for key, text in (("location", location), ("offset", str(offset)), ("length", str(length))):
        tensor.external_data.add(key=key, value=text)


def add_input(model: onnx.ModelProto, weight: Weight) -> None:
    """Add a weight as an input that the caller feeds."""
    model.graph.input.append(onnx.helper.make_tensor_value_info(weight.name, elem_type_of(weight.dtype), weight.shape))


def is_mappable(weight: Weight) -> bool:
    """Whether the content in memory is, byte for byte, what ONNX stores, so that a file of it can be mapped."""
    return weight.dtype != STRING and not is_packed(weight.dtype)


def check_fits(weights: Iterable[Weight]) -> None:
    """Raise a `ModelError` for weights that one message cannot hold, before they are copied into it."""
    if sum(weight.nbytes for weight in weights) > MESSAGE_LIMIT:
        raise ModelError(_TOO_LARGE)


def serialise(model: onnx.ModelProto) -> bytes:
    """The message's bytes: equal models, equal bytes; a `ModelError` if it is larger than protobuf allows."""
    try:
        return bytes(model.SerializeToString(deterministic=True))
    except (EncodeError, ValueError) as error:
        raise ModelError(_TOO_LARGE) from error


def write(proto: onnx.ModelProto, weights: Sequence[Weight], path: Path) -> None:
    """Finish ``proto`` with its weights and write it; each file appears whole or not at all."""
    make_folder(path.parent)
    if sum(weight.nbytes for weight in weights) <= INLINE_LIMIT:
        for weight in weights:
            add_inline(proto, weight)
    else:
        _write_data(proto, weights, path.with_name(path.name + ".data"))
    replace_file(path, serialise(proto))


def _write_data(proto: onnx.ModelProto, weights: Sequence[Weight], path: Path) -> None:
    with replacing(path) as draft, draft.open("wb") as stream:
        for weight in weights:
            if weight.nbytes == 0 or not is_mappable(weight):
                add_inline(proto, weight)
                continue
            stream.write(bytes(-stream.tell() % ALIGNMENT))
            add_external(proto, weight, location=path.name, offset=stream.tell())
            stream.write(raw(weight))


def raw(weight: Weight) -> memoryview:
    """A mappable weight's bytes, without a copy."""
    return weight.array().reshape(-1).view(np.uint8).data
