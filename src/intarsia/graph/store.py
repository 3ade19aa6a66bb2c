"""Keeps a normalised graph on disk: a small structure, and a file of raw weights that is mapped into memory.

The two files together are an ordinary ONNX model with external data, but opening one here repeats no normalisation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from types import MappingProxyType

import numpy as np
import onnx
from google.protobuf.message import DecodeError

from intarsia.errors import ModelError
from intarsia.files import make_folder, replacing
from intarsia.graph.build import build
from intarsia.graph.dtypes import dtype_name, element_bytes, numpy_dtype
from intarsia.graph.export import ALIGNMENT, add_external, add_inline, is_mappable, raw, serialise
from intarsia.graph.fingerprint import weight_digest
from intarsia.graph.graph import Graph
from intarsia.graph.packed import PackedTensor, Place, add_packed, read_packed
from intarsia.graph.parts import ArrayTensor, MappedTensor, Tensor, Weight, map_file
from intarsia.graph.submodel import extract

STRUCTURE = "graph.onnx"
WEIGHTS = "weights.bin"
PackedPlaces = tuple[PackedTensor, Place, Place]
"""A weight in few bits, and where its codes and its scales are."""
_SMALL = 1024
"""Bytes up to which a weight is inside the structure."""


def weight_index(graph: Graph, without: Collection[str] = frozenset()) -> tuple[tuple[str, int, int], ...]:
    """``(name, offset, nbytes)`` of each weight that is in ``weights.bin``, aligned, equal content once.

    Weights ``without`` are left out.
    """
    if without:
        return tuple(_laid_out(graph, without))
    if "weight_index" not in graph.memo:
        graph.memo["weight_index"] = tuple(_laid_out(graph, without))
    index: tuple[tuple[str, int, int], ...] = graph.memo["weight_index"]
    return index


def structure(graph: Graph, packed: Mapping[str, PackedPlaces] = MappingProxyType({})) -> bytes:
    """The graph with small weights inside and the others by their place in ``weights.bin``.

    Args:
        graph: The graph.
        packed: Weights that are stored in few bits instead, by name.
    """
    inputs, outputs = (tuple(graph.values[name] for name in names) for names in (graph.inputs, graph.outputs))
    whole = replace(extract(graph, graph.position), inputs=inputs, outputs=outputs)
    model = whole.without_weights(graph.opsets.get(""), graph.ir_version)
    for key, text in graph.metadata.items():
        model.metadata_props.add(key=key, value=text)
    offsets = {name: offset for name, offset, _ in weight_index(graph, packed.keys())}
    for name, weight in graph.weights.items():
        if name in packed:
            add_packed(model, weight, *packed[name])
        elif name in offsets:
            add_external(model, weight, location=WEIGHTS, offset=offsets[name])
        else:
            add_inline(model, weight)
    return serialise(model)


def save_graph(graph: Graph, folder: str | Path) -> None:
    """Write both files into a folder, in place of any earlier graph there: the structure appears once all is written.

    Raises:
        OutputError: Nothing can be written there.
        DiskError: The disk is full.
    """
    folder = Path(folder)
    make_folder(folder)
    with replacing(folder / STRUCTURE, lasts=False) as described:
        described.write_bytes(structure(graph))
        with replacing(folder / WEIGHTS, lasts=False) as weights:
            with weights.open("wb") as stream:
                for name, offset, _ in weight_index(graph):
                    if offset >= stream.tell():
                        stream.write(bytes(offset - stream.tell()))
                        stream.write(raw(graph.weights[name]))
            (folder / STRUCTURE).unlink(missing_ok=True)  # an earlier one must not be read with other weights


def open_graph(
    structure: bytes, weights_file: Path, base_offset: int = 0, locate: Callable[[str], int] | None = None
) -> Graph:
    """The graph that `structure` described, over mapped weights.

    Args:
        weights_file: The file that holds the weights; it must not change while the graph is in use.
        base_offset: Where in that file ``weights.bin`` begins.
        locate: Where in that file another entry begins.

    Raises:
        ModelError: The structure does not parse, or the file is missing or too short for it.
    """
    model = onnx.ModelProto()
    try:
        model.ParseFromString(structure)
    except DecodeError as error:
        raise ModelError("the stored graph is damaged: it does not parse") from error
    tensors = list(model.graph.initializer)
    try:
        places = {tensor.name: _place(tensor) for tensor in tensors if tensor.external_data}
        file = _mapped(weights_file) if places else np.empty(0, np.uint8)
        weights = {}
        view = _Entries(file=file, base_offset=base_offset, locate=locate)
        for tensor in tensors:
            if (source := read_packed(tensor, view)) is not None:
                weights[tensor.name] = _weight(tensor, source)
                continue
            place = places.get(tensor.name)
            if place is not None and (min(place) < 0 or base_offset + sum(place) > file.size):
                raise ModelError(f"{weights_file} is cut short: weight {tensor.name!r} lies beyond its end")
            weight = _inline(tensor) if place is None else _external(tensor, file, base_offset + place[0])
            if min(weight.shape, default=0) < 0 or (place is not None and weight.nbytes != place[1]):
                raise ModelError(f"the stored graph is damaged: the weight {tensor.name!r} is not as long as its shape")
            weights[tensor.name] = weight
        model.graph.ClearField("initializer")
        graph = build(model, weights)
    except ModelError:
        raise
    except Exception as raised:  # of a graph that nobody checked, the libraries for ONNX raise whatever comes of it
        raise ModelError(f"the stored graph is damaged: {raised or type(raised).__name__}") from raised
    plain = {name: place for name, place in places.items() if not isinstance(weights[name].source, PackedTensor)}
    if len(plain) == len(places):
        graph.memo["weight_index"] = tuple((name, *place) for name, place in plain.items())
    return graph


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entries:
    """The bytes at places of a file, of which ``weights.bin`` is a part."""

    file: np.ndarray
    base_offset: int
    locate: Callable[[str], int] | None

    def __call__(self, place: Place, nbytes: int) -> np.ndarray:
        base = self.base_offset if place.location == WEIGHTS or self.locate is None else self.locate(place.location)
        start = base + place.offset
        if place.offset < 0 or start + nbytes > self.file.size:
            raise ModelError(f"the stored graph is damaged: there is no {place.location} of {nbytes} bytes")
        return self.file[start : start + nbytes]


def _laid_out(graph: Graph, without: Collection[str]) -> list[tuple[str, int, int]]:
    several = (weight for name, weight in graph.weights.items() if name not in without)
    large = [weight for weight in several if weight.nbytes > _SMALL and is_mappable(weight)]
    sizes = Counter(weight.nbytes for weight in large)
    places: dict[tuple[int, bytes], int] = {}
    index = []
    end = 0
    for weight in large:
        alone = sizes[weight.nbytes] == 1
        key = (weight.nbytes, weight.name.encode() if alone else weight_digest(graph, weight))
        if key not in places:
            places[key] = end + -end % ALIGNMENT
            end = places[key] + weight.nbytes
        index.append((weight.name, places[key], weight.nbytes))
    return index


def _place(tensor: onnx.TensorProto) -> tuple[int, int]:
    entries = {entry.key: entry.value for entry in tensor.external_data}
    return int(entries.get("offset", 0)), int(entries.get("length", 0))


def _mapped(path: Path) -> np.ndarray:
    try:
        return map_file(path)
    except (OSError, ValueError) as error:  # missing, or empty
        raise ModelError(f"the weights of the stored graph are not in {path}: {error}") from error


def _inline(tensor: onnx.TensorProto) -> Weight:
    return _weight(tensor, ArrayTensor(content=onnx.numpy_helper.to_array(tensor)))


def _external(tensor: onnx.TensorProto, file: np.ndarray, offset: int) -> Weight:
    dtype = numpy_dtype(dtype_name(tensor.data_type) or "")
    return _weight(tensor, MappedTensor(file=file, offset=offset, dtype=dtype, shape=tuple(tensor.dims)))


def _weight(tensor: onnx.TensorProto, source: Tensor) -> Weight:
    dtype = dtype_name(tensor.data_type) or ""
    shape = tuple(tensor.dims)
    return Weight(name=tensor.name, dtype=dtype, shape=shape, nbytes=prod(shape) * element_bytes(dtype), source=source)
