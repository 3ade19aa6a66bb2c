"""Reads a model's declared inputs, outputs and origin without normalising it, and computes its digest."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import onnx
import onnx_ir as ir
import xxhash
from google.protobuf.message import EncodeError

from intarsia.errors import ModelError
from intarsia.graph.build import all_graphs
from intarsia.graph.dtypes import dtype_name
from intarsia.graph.inference import INFERENCE_ERRORS
from intarsia.graph.reading.external import external_file, model_folders
from intarsia.graph.reading.read import ModelSource, parsed_model

_IN_MEMORY = "model.onnx"
"""What a model is called that is in no file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """One input or output.

    Attributes:
        type: In the notation of ONNX: ``tensor(float)``, ``seq(tensor(int64))``.
        dtype: numpy or ml_dtypes name of a tensor's elements, or ``"string"``; ``None`` for what is no tensor.
        dims: A number, a name, or ``None`` for each dimension; ``None`` where not even their number is known.
    """

    name: str
    type: str
    dtype: str | None
    dims: tuple[int | str | None, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Interface:
    """A model as its file describes it.

    Attributes:
        inputs: Those that the caller must feed.
        overridable: Inputs with a value of their own, which older models list among the inputs.
    """

    inputs: tuple[End, ...]
    overridable: tuple[End, ...]
    outputs: tuple[End, ...]
    name: str
    producer: str
    domain: str
    description: str
    graph_description: str
    version: int
    metadata: Mapping[str, str] = field(hash=False)


def interface_of(source: str | os.PathLike[str] | bytes) -> Interface:
    """Read a model's file, or its bytes; weights outside are not looked at, and what is no model is a `ModelError`."""
    proto, _, _ = parsed_model(source)
    graph = proto.graph
    owned = {tensor.name for tensor in graph.initializer}
    owned |= {tensor.values.name for tensor in graph.sparse_initializer}
    return Interface(
        inputs=_ends(value for value in graph.input if value.name not in owned),
        overridable=_ends(value for value in graph.input if value.name in owned),
        outputs=_ends(_inferred(proto)),
        name=graph.name,
        producer=proto.producer_name,
        domain=proto.domain,
        description=proto.doc_string,
        graph_description=graph.doc_string,
        version=proto.model_version,
        metadata={entry.key: entry.value for entry in proto.metadata_props},
    )


def files_of(source: ModelSource) -> Mapping[str, Path | bytes]:
    """The files of a model, the model first, each by its path in the model's folder; what is only in memory as bytes.

    Raises:
        ModelError: It is no model, a file is missing, or what is in memory is too large for one file.
    """
    if isinstance(source, onnx.ModelProto | ir.Model):
        return {_IN_MEMORY: _serialised(source)}
    proto, content, folder = parsed_model(source)
    if folder is None or isinstance(source, bytes):
        return {_IN_MEMORY: content}
    path = Path(source)
    places = sorted(set(_external(proto.graph)))
    return {path.name: path, **{place: external_file(place, model_folders(path), str(path)) for place in places}}


def _serialised(model: onnx.ModelProto | ir.Model) -> bytes:
    try:
        proto = (
            model if isinstance(model, onnx.ModelProto) else ir.to_proto(ir.external_data.load_to_model(model.clone()))
        )
        content: bytes = proto.SerializeToString()
    except (EncodeError, ValueError, OSError) as error:
        raise ModelError(
            f"the model in memory cannot be written as one file ({error}); save it, and name the file"
        ) from error
    return content


def digest_of(source: str | os.PathLike[str] | bytes) -> str:
    """Hex digest of a model's file and of those with its weights; a `ModelError` where one is none, or missing."""
    proto, content, folder = parsed_model(source)
    digest = xxhash.xxh3_128(content)
    folders = (Path(),) if folder is None or isinstance(source, bytes) else model_folders(Path(source))
    for place in sorted(set(_external(proto.graph))):
        path = external_file(place, folders, "the model")
        try:
            with path.open("rb") as file:
                while chunk := file.read(1 << 20):
                    digest.update(chunk)
        except OSError as error:
            raise ModelError(f"the model keeps weights in {path}, which cannot be read: {error.strerror}") from error
    return digest.hexdigest()


def tensor_type(elem_type: int) -> str:
    """``tensor(float)``: a tensor with elements of one of ONNX's types, as ONNX writes it."""
    return f"tensor({_element(elem_type)})"


def _ends(values: Iterable[onnx.ValueInfoProto]) -> tuple[End, ...]:
    return tuple(
        End(
            name=value.name,
            type=_type_text(value.type),
            dtype=dtype_name(value.type.tensor_type.elem_type) if value.type.HasField("tensor_type") else None,
            dims=_dims(value.type),
        )
        for value in values
    )


def _inferred(proto: onnx.ModelProto) -> list[onnx.ValueInfoProto]:
    """The outputs, with the shapes that follow from the rest where the file states none."""
    outputs = list(proto.graph.output)
    if all(map(_is_described, outputs)):
        return outputs
    try:
        inferred = onnx.shape_inference.infer_shapes(proto, data_prop=True).graph.output
    except INFERENCE_ERRORS:  # too large for one message, or unsound
        return outputs
    return [own if _is_described(own) else found for own, found in zip(outputs, inferred, strict=True)]


def _is_described(value: onnx.ValueInfoProto) -> bool:
    return value.type.tensor_type.HasField("shape") or not value.type.HasField("tensor_type")


def _type_text(type_: onnx.TypeProto) -> str:
    kind = type_.WhichOneof("value")
    match kind:
        case "tensor_type" | "sparse_tensor_type":
            return ("sparse_" if kind == "sparse_tensor_type" else "") + tensor_type(getattr(type_, kind).elem_type)
        case "sequence_type":
            return f"seq({_type_text(type_.sequence_type.elem_type)})"
        case "optional_type":
            return f"optional({_type_text(type_.optional_type.elem_type)})"
        case "map_type":
            return f"map({_element(type_.map_type.key_type)},{_type_text(type_.map_type.value_type)})"
        case _:
            return "unknown"


def _element(elem_type: int) -> str:
    name: str = onnx.TensorProto.DataType.Name(elem_type)
    return name.lower()


def _dims(type_: onnx.TypeProto) -> tuple[int | str | None, ...] | None:
    if not type_.tensor_type.HasField("shape"):
        return None
    dims = type_.tensor_type.shape.dim
    return tuple(dim.dim_value if dim.HasField("dim_value") else dim.dim_param or None for dim in dims)


def _external(graph: onnx.GraphProto) -> Iterator[str]:
    """The files that hold weights, of nested graphs too."""
    graphs = list(all_graphs(graph))
    attributes = [attribute for each in graphs for node in each.node for attribute in node.attribute]
    held = (tensor for attribute in attributes for tensor in (attribute.t, *attribute.tensors))
    for tensor in (*(tensor for each in graphs for tensor in each.initializer), *held):
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            yield from (entry.value for entry in tensor.external_data if entry.key == "location")
