"""Reads a model from wherever it is. Large external data is left in its file and mapped."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import onnx
import onnx_ir as ir
from google.protobuf.message import DecodeError

from intarsia.errors import ModelError
from intarsia.graph.external import check_external, settle_external

ModelSource = str | os.PathLike[str] | bytes | onnx.ModelProto | ir.Model

_ZIP = b"PK\x03\x04"


def read_model(source: ModelSource) -> ir.Model:
    """The model, of which the caller owns everything but the tensors' content.

    Raises:
        ModelError: No such file, not ONNX, cut short, or external data missing or cut short.
    """
    proto, where, folder = _proto(source)
    if proto is None:
        assert isinstance(source, ir.Model)
        model = source.clone()
    else:
        _check(proto, where)
        check_external(proto.graph, where)
        try:
            model = ir.from_proto(_without_sparse_weights(proto))
        except (ValueError, TypeError, KeyError, RuntimeError) as error:
            raise ModelError(f"{where} is not a sound ONNX model: {error}") from error
    settle_external(model, where, folder)
    return model


def parsed_model(source: str | os.PathLike[str] | bytes) -> tuple[onnx.ModelProto, bytes, Path | None]:
    """A model as its file says it, the file's content, and the folder that its external data is in.

    Raises:
        ModelError: No such file, not ONNX, or cut short.
    """
    where, content, folder = "the model", source, None
    if not isinstance(content, bytes):
        path = Path(content)
        where, content, folder = str(path), _content(path), path.parent
    proto = _parse(content, where)
    _check(proto, where)
    return proto, content, folder


def _proto(source: ModelSource) -> tuple[onnx.ModelProto | None, str, Path | None]:
    if isinstance(source, ir.Model):
        return None, "the model", None
    if isinstance(source, onnx.ModelProto):
        return source, "the model", None
    if isinstance(source, bytes):
        return _parse(source, "the model"), "the model", None
    path = Path(source)
    return _parse(_content(path), str(path)), str(path), path.parent


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise ModelError(f"there is no model file {path}") from error
    except IsADirectoryError as error:
        raise ModelError(f"{path} is a folder; name the .onnx file in it") from error
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}") from error


def _parse(content: bytes, where: str) -> onnx.ModelProto:
    if not content:
        raise ModelError(f"{where} is empty")
    proto = onnx.ModelProto()
    try:
        proto.ParseFromString(content)
    except DecodeError as error:
        if content.startswith(_ZIP):
            raise ModelError(
                f"{where} is a zip file, not an ONNX model. Is it an artifact? Then it is compiled already: run it by "
                "'intarsia run'. Did PyTorch save it? Then export it by torch.onnx.export"
            ) from error
        raise ModelError(f"{where} is not an ONNX model, or is cut short: it does not parse") from error
    return proto


def _check(proto: onnx.ModelProto, where: str) -> None:
    if not proto.HasField("graph") or not proto.ir_version:
        raise ModelError(f"{where} is not an ONNX model: it holds no graph")
    if not proto.graph.node and not proto.graph.output:
        raise ModelError(f"{where} holds an empty graph, without nodes and outputs")
    if not proto.opset_import and not proto.graph.node:
        raise ModelError(f"{where} says no operator-set version")
    for tensor in proto.graph.initializer:
        if not _is_whole(tensor):
            raise ModelError(
                f"{where} is cut short or damaged: weight {tensor.name!r} has fewer bytes than its shape says"
            )


def _without_sparse_weights(proto: onnx.ModelProto) -> onnx.ModelProto:
    """onnx_ir knows no sparse weights; few models have one, and engines make them dense themselves."""
    if not proto.graph.sparse_initializer:
        return proto
    dense = onnx.ModelProto()
    dense.CopyFrom(proto)
    for sparse in dense.graph.sparse_initializer:
        values, indices = (onnx.numpy_helper.to_array(tensor) for tensor in (sparse.values, sparse.indices))
        content = np.zeros(tuple(sparse.dims), dtype=values.dtype)
        places = indices if indices.ndim == 1 else np.ravel_multi_index(tuple(indices.T), tuple(sparse.dims))
        content.reshape(-1)[places] = values
        dense.graph.initializer.append(onnx.numpy_helper.from_array(content, sparse.values.name))
    dense.graph.ClearField("sparse_initializer")
    return dense


def _is_whole(tensor: onnx.TensorProto) -> bool:
    """Whether raw content has the size that the shape asks for. Typed fields are checked where they are read."""
    if not tensor.HasField("raw_data"):
        return True
    try:
        bits = ir.DataType(tensor.data_type).bitwidth
    except (TypeError, ValueError):
        return False
    count = int(np.prod(tensor.dims, dtype=np.int64))
    return len(tensor.raw_data) == (count * bits + 7) // 8
