"""Reads a model from wherever it is. Large external data is left in its file and mapped."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import numpy as np
import onnx
import onnx_ir as ir
from google.protobuf.message import DecodeError

from intarsia.errors import ModelError
from intarsia.graph.build import all_graphs
from intarsia.graph.inference import INFERENCE_ERRORS, root_of
from intarsia.graph.limits import LIMITS
from intarsia.graph.reading.external import settle_external
from intarsia.graph.reading.large_weights import LARGE_FILE, read_large_weights
from intarsia.graph.validation import check_model

ModelSource = str | os.PathLike[str] | bytes | onnx.ModelProto | ir.Model

_STARTS = (
    (
        b"PK\x03\x04",
        "a zip file, not an ONNX model. Is it an artifact? Then it is compiled already: run it by 'intarsia run'. "
        "Did PyTorch save it? Then export it by torch.onnx.export",
    ),
    (
        b"version https://git-lfs.github.com/spec/",
        "a pointer of Git LFS, and not the model itself: fetch that by 'git lfs pull'",
    ),
    (b"\x7fELF", "a program or a library, not an ONNX model"),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file, as Keras saves it, not an ONNX model: convert it by tf2onnx"),
    (b"\x1f\x8b", "compressed by gzip: unpack it first"),
    (b"\x28\xb5\x2f\xfd", "compressed by zstd: unpack it first"),
    (b"\xfd7zXZ\x00", "compressed by xz: unpack it first"),
    (b"BZh", "compressed by bzip2: unpack it first"),
    (b"GGUF", "a GGUF file, as llama.cpp reads it, not an ONNX model"),
    (b"\x80\x02", "a pickle, as PyTorch saved it long ago, not an ONNX model: export it by torch.onnx.export"),
)
_PAGES = (b"<!doctype html", b"<html", b"<?xml")
_TFLITE = b"TFL3"
"""At byte 4 of a file."""


def read_model(source: ModelSource) -> ir.Model:
    """The model, of which the caller owns everything but the tensors' content.

    Raises:
        ModelError: No such file, not ONNX, cut short, or external data missing or cut short.
    """
    where, folder = "the model", None
    large: dict[str, np.ndarray] = {}
    if isinstance(source, ir.Model):
        model = source.clone()
    else:
        if isinstance(source, onnx.ModelProto):
            proto = source
        else:
            content, where, folder = _located(source, large)
            proto = _parse(content, where)
        _check(proto, where)
        try:
            model = ir.from_proto(_without_sparse_weights(proto))
        except (ArithmeticError, AttributeError, LookupError, TypeError, *INFERENCE_ERRORS) as error:
            raise ModelError(f"{where} is not a sound ONNX model: {root_of(error)}") from error
        for name, array in large.items():
            model.graph.initializers[name].const_value = ir.Tensor(array, name=name)
    _forget_negative(model)
    settle_external(model, where, folder)
    return model


def parsed_model(source: str | os.PathLike[str] | bytes) -> tuple[onnx.ModelProto, bytes, Path | None]:
    """A model as its file says it, the content, and the folder of external data; a `ModelError` if it is not sound."""
    content, where, folder = _located(source)
    proto = _parse(content, where)
    _check(proto, where)
    return proto, content, folder


def _located(
    source: str | os.PathLike[str] | bytes, large: dict[str, np.ndarray] | None = None
) -> tuple[bytes, str, Path | None]:
    """A file's content, what messages call it, and its folder; its large weights apart, if they are wanted so."""
    if isinstance(source, bytes):
        return source, "the model", None
    path = Path(source)
    return _content(path, large), str(path), path.parent


def _content(path: Path, large: dict[str, np.ndarray] | None) -> bytes:
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            if stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode):
                raise ModelError(f"{path} is a device; name the .onnx file")
            if large is not None and LARGE_FILE <= status.st_size <= LIMITS.file_bytes:
                parts = read_large_weights(file)
                if parts is not None:
                    large |= parts.arrays
                    return parts.message
                file.seek(0)
            content = file.read(LIMITS.file_bytes + 1) if status.st_size <= LIMITS.file_bytes else None
    except FileNotFoundError as error:
        raise ModelError(f"there is no model file {path}") from error
    except IsADirectoryError as error:
        raise ModelError(f"{path} is a folder; name the .onnx file in it") from error
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:  # a zero byte in a name
        raise ModelError(f"{str(path)!r} is no name of a file: {error}") from error
    if content is None or len(content) > LIMITS.file_bytes:
        raise ModelError(
            f"{path} has more than {LIMITS.file_bytes} bytes, which no ONNX file may have: save its weights beside it, "
            "by onnx.save(model, path, save_as_external_data=True)"
        )
    return content


def _parse(content: bytes, where: str) -> onnx.ModelProto:
    if not content:
        raise ModelError(f"{where} is empty")
    proto = onnx.ModelProto()
    try:
        proto.ParseFromString(content)
    except DecodeError as error:
        what = recognised(content)
        if what is not None:
            raise ModelError(f"{where} is {what}") from error
        raise ModelError(f"{where} is not an ONNX model, or is cut short: it does not parse") from error
    if not proto.HasField("graph") and (what := recognised(content)) is not None:
        raise ModelError(f"{where} is {what}")
    return proto


def _check(proto: onnx.ModelProto, where: str) -> None:
    if not proto.HasField("graph") or not proto.ir_version:
        raise ModelError(f"{where} is not an ONNX model: it holds no graph")
    if not proto.graph.node and not proto.graph.output:
        raise ModelError(f"{where} holds an empty graph, without nodes and outputs")
    check_model(proto, where)


def _without_sparse_weights(proto: onnx.ModelProto) -> onnx.ModelProto:
    """onnx_ir knows no sparse weights; few models have one, and engines make them dense themselves."""
    if not any(graph.sparse_initializer for graph in all_graphs(proto.graph)):
        return proto
    dense = onnx.ModelProto()
    dense.CopyFrom(proto)
    for graph in all_graphs(dense.graph):
        for sparse in graph.sparse_initializer:
            graph.initializer.append(_densified(sparse))
        graph.ClearField("sparse_initializer")
    return dense


def _densified(sparse: onnx.SparseTensorProto) -> onnx.TensorProto:
    values = onnx.numpy_helper.to_array(sparse.values)
    content = np.zeros(tuple(sparse.dims), dtype=values.dtype)
    if sparse.HasField("indices"):
        indices = onnx.numpy_helper.to_array(sparse.indices)
        places = indices if indices.ndim == 1 else np.ravel_multi_index(tuple(indices.T), tuple(sparse.dims))
        content.reshape(-1)[places] = values
    return onnx.numpy_helper.from_array(content, sparse.values.name)


def _forget_negative(model: ir.Model) -> None:
    """A dimension of -1 is how some exporters write one that is not known."""
    for graph in model.graphs():
        for value in (*graph.inputs, *graph.outputs, *(output for node in graph for output in node.outputs)):
            if value.shape is not None and any(isinstance(dim, int) and dim < 0 for dim in value.shape):
                value.shape = ir.Shape([None if isinstance(dim, int) and dim < 0 else dim for dim in value.shape])


def recognised(content: bytes) -> str | None:
    """What a file with this content is, to follow the word ``is`` in a message; ``None`` if unknown."""
    for start, what in _STARTS:
        if content.startswith(start):
            return what
    if content[:512].lstrip().lower().startswith(_PAGES):
        return "a web page, not an ONNX model: the download got an error or a login instead; look at it with a browser"
    if content[4:8] == _TFLITE:
        return "a TensorFlow Lite model, not an ONNX model: convert it by tf2onnx"
    if content[8:10] == b'{"' and b'"dtype"' in content[:4096]:
        return "a safetensors file, which holds weights without a network: export the model by torch.onnx.export"
    return None
