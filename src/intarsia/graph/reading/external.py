"""Tensors whose content a model keeps in files beside itself: which file is meant, whether it may be read, and whether
the content is in it.

The model says where in a text, and such a text never leads out of the model's folder: a model that somebody else made
must not read other files. Links on the disk are the user's own and are followed, so a model may lie in the cache of
Hugging Face, where each file is a link, or on a disk where files are linked together to save space.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import onnx_ir as ir

from intarsia.errors import ModelError
from intarsia.graph.dtypes import dtype_name

_SMALL = 1024
"""Bytes up to which external data is read into memory: shapes and axes, which inference must see."""


def settle_external(model: ir.Model, where: str, folder: Path | None) -> None:
    """Point external tensors to their files, check that their bytes are there, and read the small ones.

    Args:
        model: It is changed.
        where: What messages call it: its path, if it was read from a file.
        folder: The folder of that file; ``None`` for a model from memory.

    Raises:
        ModelError: A text leads out of the folder, a file is missing or is none, or is too short.
    """
    folders = None if folder is None else model_folders(Path(where))
    for graph in model.graphs():
        for value in graph.initializers.values():
            if isinstance(value.const_value, ir.ExternalTensor):
                value.const_value = _settled(value.const_value, where, folders)
    for node in _nodes(model):
        for attribute in [each for each in node.attributes.values() if not each.is_ref()]:
            _settle_attribute(node, attribute, where, folders)


def external_file(place: str, folders: Iterable[Path], where: str, weight: str = "") -> Path:
    """The file that a model means by a place that it names, in the first of these folders that has it.

    Raises:
        ModelError: The place is outside of the model's folder, or no file is there.
    """
    said = f"{where} keeps weight {weight!r} in {place!r}" if weight else f"{where} keeps weights in {place!r}"
    inner = os.path.normpath(place) if place else ""
    if not inner or "\0" in place or os.path.isabs(place) or inner == ".." or inner.startswith(f"..{os.sep}"):
        raise ModelError(
            f"{said}, which is no file in the model's folder, and none outside of it is read; put the file beside the "
            "model, or a link to it, and name it so in the model"
        )
    candidates = [folder / place for folder in folders]
    path = next((each for each in candidates if os.path.lexists(each)), candidates[0])
    try:
        mode = path.stat().st_mode
    except OSError as error:
        target = f", a link to {os.readlink(path)}" if path.is_symlink() else ""
        held = f"{where} keeps weight {weight!r}" if weight else f"{where} keeps weights"
        why = "which is missing" if isinstance(error, FileNotFoundError) else f"which cannot be read: {error.strerror}"
        raise ModelError(f"{held} in {path}{target}, {why}; fetch all files of the model") from error
    if not stat.S_ISREG(mode):
        raise ModelError(f"{said}, and {path} is no file of data")
    return path


def model_folders(path: Path) -> tuple[Path, ...]:
    """The folders that a model's other files may be in: its own; if the model is a link, then that of its target."""
    return tuple(dict.fromkeys((path.parent, path.resolve().parent)))


def _settled(tensor: ir.ExternalTensor, where: str, folders: tuple[Path, ...] | None) -> ir.TensorProtocol:
    """The tensor by the path of its file, which onnx_ir then takes as it is; a small one in memory."""
    own = (Path(tensor.base_dir),) if folders is None else folders
    path = external_file(os.fspath(tensor.location), own, where, tensor.name or "")
    _check(tensor, path, where)
    found = ir.ExternalTensor(
        path.absolute(),
        tensor.offset,
        tensor.length,
        tensor.dtype,
        shape=tensor.shape,
        name=tensor.name or "",
        doc_string=tensor.doc_string,
        metadata_props=dict(tensor.metadata_props),
    )
    if found.nbytes > _SMALL:
        return found
    return ir.Tensor(np.array(found.numpy()), dtype=tensor.dtype, name=tensor.name)


def _check(tensor: ir.ExternalTensor, path: Path, where: str) -> None:
    if dtype_name(int(tensor.dtype)) is None or tensor.dtype == ir.DataType.STRING:
        raise ModelError(f"{where} keeps weight {tensor.name!r} in {path}, where no {tensor.dtype.name} can be")
    if tensor.size < 0 or (tensor.offset or 0) < 0:
        raise ModelError(f"{where} keeps weight {tensor.name!r} in {path} at a place or of a size below 0")
    if tensor.length is not None and tensor.length != tensor.nbytes:
        raise ModelError(
            f"{where} keeps weight {tensor.name!r} in {path} as {tensor.length} bytes, and its shape {tensor.shape} of "
            f"{tensor.dtype.name} has {tensor.nbytes}"
        )
    size, end = path.stat().st_size, (tensor.offset or 0) + tensor.nbytes
    if size < end:
        raise ModelError(f"{path} is cut short: weight {tensor.name!r} of {where} ends at byte {end} of {size}")


def _settle_attribute(node: ir.Node, attribute: ir.Attr, where: str, folders: tuple[Path, ...] | None) -> None:
    if attribute.type == ir.AttributeType.TENSOR and isinstance(attribute.value, ir.ExternalTensor):
        node.attributes.add(ir.AttrTensor(attribute.name, _settled(attribute.value, where, folders)))
    elif attribute.type == ir.AttributeType.TENSORS:
        tensors = [
            _settled(each, where, folders) if isinstance(each, ir.ExternalTensor) else each for each in attribute.value
        ]
        node.attributes.add(ir.AttrTensors(attribute.name, tensors))


def _nodes(model: ir.Model) -> Iterator[ir.Node]:
    yield from model.graph.all_nodes()
    for function in model.functions.values():
        yield from function.all_nodes()
