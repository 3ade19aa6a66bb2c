"""Parts of an ONNX model file: structure without weights, and each way in which a weight can be added."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnx
from google.protobuf.message import EncodeError

from intarsia.errors import ModelError
from intarsia.files import make_folder, replace_file, replacing
from intarsia.graph.dtypes import STRING, elem_type_of, is_packed
from intarsia.graph.legalise import written

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from intarsia.graph.parts import Value, Weight
    from intarsia.graph.submodel import SubModel

MESSAGE_LIMIT = (1 << 31) - 1
"""Bytes in one protobuf message."""
_TOO_LARGE = "the model is larger than 2 GB with its weights inside; keep the weights outside"
INLINE_LIMIT = 1_500_000_000
"""Bytes of weights from which a stand-alone model gets a data file."""
ALIGNMENT = 64
"""Of a weight inside a data file: a cache line, and what vector loads want."""


def skeleton(
    model: SubModel, opset: int | None, ir_version: int, legalise: Collection[str] = frozenset()
) -> onnx.ModelProto:
    """Everything but the weights.

    Args:
        model: The partition.
        opset: Version to write for ONNX's own operators; ``None`` where none is in use.
        ir_version: Version to write.
        respell: Ids of nodes to write as other operators.
    """
    graph = model.graph
    proto = onnx.ModelProto(ir_version=ir_version, producer_name="intarsia")
    used = _domains(node.proto for node in model.nodes)
    for domain, version in graph.opsets.items():
        if domain in used or domain == "":
            number = opset if domain == "" and opset is not None else version
            proto.opset_import.add(domain=domain, version=number)
    for domain in sorted(used - graph.opsets.keys() - {""}):  # nodes of our own making
        proto.opset_import.add(domain=domain, version=1)
    proto.graph.name = graph.name
    proto.graph.node.extend(written(model.nodes, graph, legalise))
    proto.graph.input.extend(map(_info, model.inputs))
    proto.graph.output.extend(map(_info, model.outputs))
    border = {value.name for value in model.outputs}
    inner = (graph.values[name] for node in model.nodes for name in node.outputs if name and name not in border)
    proto.graph.value_info.extend(_info(value) for value in inner if value.type_proto is not None)
    return proto


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
    """Refuse weights that one message cannot hold, before they are copied into it.

    Raises:
        ModelError: They are larger than protobuf allows.
    """
    if sum(weight.nbytes for weight in weights) > MESSAGE_LIMIT:
        raise ModelError(_TOO_LARGE)


def serialise(model: onnx.ModelProto) -> bytes:
    """The message's bytes: equal models, equal bytes.

    Raises:
        ModelError: It is larger than protobuf allows.
    """
    try:
        return bytes(model.SerializeToString(deterministic=True))
    except (EncodeError, ValueError) as error:
        raise ModelError(_TOO_LARGE) from error


def write(model: SubModel, path: Path, proto: onnx.ModelProto) -> None:
    """Finish ``proto`` with the weights of ``model`` and write it; each file appears whole or not at all."""
    make_folder(path.parent)
    if sum(weight.nbytes for weight in model.weights.values()) <= INLINE_LIMIT:
        for weight in model.weights.values():
            add_inline(proto, weight)
    else:
        _write_data(model, path.with_name(path.name + ".data"), proto)
    replace_file(path, serialise(proto))


def _write_data(model: SubModel, path: Path, proto: onnx.ModelProto) -> None:
    with replacing(path) as draft, draft.open("wb") as stream:
        for weight in model.weights.values():
            if weight.nbytes == 0 or not is_mappable(weight):
                add_inline(proto, weight)
                continue
            stream.write(bytes(-stream.tell() % ALIGNMENT))
            add_external(proto, weight, location=path.name, offset=stream.tell())
            stream.write(raw(weight))


def raw(weight: Weight) -> memoryview:
    """A mappable weight's bytes, without a copy."""
    return weight.array().reshape(-1).view(np.uint8).data


def _info(value: Value) -> onnx.ValueInfoProto:
    return onnx.ValueInfoProto(name=value.name, type=value.type_proto)


def _domains(nodes: Iterable[onnx.NodeProto]) -> set[str]:
    """Operator domains in use, nested graphs included."""
    found = set()
    for node in nodes:
        found.add(node.domain)
        for attribute in node.attribute:
            for graph in (attribute.g, *attribute.graphs):
                found |= _domains(graph.node)
    return found
