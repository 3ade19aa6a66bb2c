"""Bodies of inference requests and answers over HTTP: JSON, and behind it the tensors that are sent as bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson

from intarsia.serving.metadata import ModelMetadata, TensorMetadata
from intarsia.serving.statuses import bad
from intarsia.serving.tensors.binary_data import from_binary, to_binary
from intarsia.serving.tensors.json_data import from_json, to_json

_MOST_REMEMBERED = 2**14
"""Bytes of JSON that are remembered."""
HEADER_LENGTH = "inference-header-content-length"
"""The header that says how many bytes of a body are JSON; tensors follow (the binary tensor extension)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """How a request wants its answer.

    Attributes:
        id: What the answer repeats; ``None`` where the request has none.
        outputs: The outputs, and whether each comes as bytes.
    """

    id: str | None
    outputs: tuple[tuple[TensorMetadata, bool], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Header:
    """The JSON of a request whose tensors all come as bytes behind it, as it was understood.

    Attributes:
        content: The JSON.
        metadata: The model that it was for.
        tensors: The name, datatype and shape of each, and where its bytes begin and end.
        wanted: How the answer is to come.
    """

    content: bytes
    metadata: ModelMetadata
    tensors: tuple[tuple[str, str, tuple[int, ...], int, int], ...]
    wanted: Wanted


class Decoder:
    """Decodes bodies. It remembers the last JSON of each model, since a client sends tensor after tensor behind it."""

    def __init__(self) -> None:
        self._last: dict[str, _Header] = {}

    def __call__(
        self, metadata: ModelMetadata, body: bytes, header_length: str | None
    ) -> tuple[dict[str, np.ndarray], Wanted]:
        """The inputs of a request, and how it wants its answer.

        Raises:
            RequestError: It is not well formed, or not what the model takes.
        """
        size = len(body) if header_length is None else _length(header_length, len(body))
        content = body[:size] if size < len(body) else body
        binary = memoryview(body)[size:]
        last = self._last.get(metadata.name)
        if (
            last is None
            or last.content != content
            or last.metadata is not metadata
            or last.tensors[-1][-1] != len(binary)
        ):
            feeds, wanted, tensors = _understood(metadata, _object(content), binary)
            if tensors and size <= _MOST_REMEMBERED:
                self._last[metadata.name] = _Header(content=content, metadata=metadata, tensors=tensors, wanted=wanted)
            return feeds, wanted
        return {
            name: from_binary(binary[begin:end], datatype, shape, f"inputs[{place}]")
            for place, (name, datatype, shape, begin, end) in enumerate(last.tensors)
        }, last.wanted


def encode(metadata: ModelMetadata, wanted: Wanted, results: Mapping[str, np.ndarray]) -> tuple[bytes, int | None]:
    """The body of an answer, and how many bytes of it are JSON where others follow.

    Raises:
        RequestError: JSON has no form for an element of an output.
    """
    rows: list[dict[str, Any]] = []
    tensors: list[bytes] = []
    for output, is_binary in wanted.outputs:
        array = results[output.name]
        row: dict[str, Any] = {"name": output.name, "datatype": output.datatype, "shape": list(array.shape)}
        if is_binary:
            tensors.append(to_binary(array))
            row["parameters"] = {"binary_data_size": len(tensors[-1])}
        else:
            row["data"] = to_json(array, output.datatype, f"output {output.name!r}")
        rows.append(row)
    answer: dict[str, Any] = {"model_name": metadata.name, "model_version": metadata.version, "outputs": rows}
    if wanted.id is not None:
        answer["id"] = wanted.id
    header = orjson.dumps(answer, option=orjson.OPT_SERIALIZE_NUMPY)
    return (b"".join((header, *tensors)), len(header)) if tensors else (header, None)


def _understood(
    metadata: ModelMetadata, request: Mapping[str, Any], binary: memoryview
) -> tuple[dict[str, np.ndarray], Wanted, tuple[tuple[str, str, tuple[int, ...], int, int], ...]]:
    """The inputs and what is wanted; and where each tensor is, if all of them are bytes."""
    identifier = request.get("id")
    if identifier is not None and not isinstance(identifier, str):
        raise bad("id: a text")
    feeds: dict[str, np.ndarray] = {}
    tensors = []
    rows = _rows(request, "inputs", required=True)
    metadata.check_inputs([_name(row, f"inputs[{place}]") for place, row in enumerate(rows)])
    begin = 0
    for place, row in enumerate(rows):
        array, used = _tensor(metadata, row, f"inputs[{place}]", binary[begin:])
        feeds[row["name"]] = array
        if "data" not in row:
            tensors.append((row["name"], row["datatype"], tuple(row["shape"]), begin, begin + used))
        begin += used
    if begin < len(binary):
        raise bad(f"{len(binary) - begin} bytes are left over behind the tensors that the request names")
    wanted = Wanted(id=identifier, outputs=_outputs(metadata, request))
    return feeds, wanted, tuple(tensors) if len(tensors) == len(rows) else ()


def _length(text: str, most: int) -> int:
    if not (text.isascii() and text.isdigit()) or len(text) > 18 or int(text) > most:
        raise bad(
            f"Inference-Header-Content-Length: {text[:32]!r} is no number of bytes from 0 to {most}, the body's size"
        )
    return int(text)


def _object(content: bytes) -> dict[str, Any]:
    try:
        request = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise bad(f"the body is not JSON: {error}") from None
    if not isinstance(request, dict):
        raise bad("the body is not an object of JSON")
    _parameters(request, "")
    return request


def _rows(request: Mapping[str, Any], name: str, *, required: bool = False) -> list[dict[str, Any]]:
    rows = request.get(name)
    if rows is None and not required:
        return []
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise bad(f"{name}: a list of objects")
    return rows


def _name(row: Mapping[str, Any], where: str) -> str:
    name = row.get("name")
    if not isinstance(name, str):
        raise bad(f"{where}.name: a text")
    return name


def _parameters(row: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    found = row.get("parameters")
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise bad(f"{where}parameters: an object")
    return found


def _flag(parameters: Mapping[str, Any], name: str, where: str, default: bool) -> bool:
    value = parameters.get(name, default)
    if not isinstance(value, bool):
        raise bad(f"{where}parameters.{name}: true or false")
    return value


def _tensor(metadata: ModelMetadata, row: Mapping[str, Any], where: str, binary: memoryview) -> tuple[np.ndarray, int]:
    """The array of an input, and how many of the bytes it took."""
    datatype, sizes = row.get("datatype"), row.get("shape")
    if not isinstance(datatype, str):
        raise bad(f"{where}.datatype: a text")
    if not isinstance(sizes, list) or not all(type(size) is int for size in sizes):
        raise bad(f"{where}.shape: a list of whole numbers")
    shape = metadata.check_input(row["name"], datatype, sizes)
    used = _parameters(row, f"{where}.").get("binary_data_size")
    if used is None:
        if "data" not in row:
            raise bad(f"{where}: neither data nor parameters.binary_data_size")
        return from_json(row["data"], datatype, shape, f"{where}.data"), 0
    if "data" in row:
        raise bad(f"{where}: data and parameters.binary_data_size; give one of them")
    if type(used) is not int or not 0 <= used <= len(binary):
        raise bad(f"{where}.parameters.binary_data_size: {used!r}, and {len(binary)} bytes are left behind the JSON")
    return from_binary(binary[:used], datatype, shape, where), used


def _outputs(metadata: ModelMetadata, request: Mapping[str, Any]) -> tuple[tuple[TensorMetadata, bool], ...]:
    default = _flag(_parameters(request, ""), "binary_data_output", "", False)
    rows = _rows(request, "outputs")
    outputs = metadata.wanted_outputs([_name(row, f"outputs[{place}]") for place, row in enumerate(rows)])
    if not rows:
        return tuple((output, default) for output in outputs)
    flags = (
        _flag(_parameters(row, f"outputs[{place}]."), "binary_data", f"outputs[{place}].", default)
        for place, row in enumerate(rows)
    )
    return tuple(zip(outputs, flags, strict=True))
