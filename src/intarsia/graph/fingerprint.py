"""What a model is, apart from its names: a digest of structure and weight classes, and one of the whole content.

Measurements are keyed by the first, so that equal blocks of a network, or one network with other weights, are measured
once; artifacts and verification by the second.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count
from math import prod
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import onnx
from xxhash import xxh3_128

from intarsia.graph.build import nested_graphs
from intarsia.graph.dtypes import STRING, numpy_dtype
from intarsia.graph.export import serialise, skeleton
from intarsia.graph.sizes import sizes_text

if TYPE_CHECKING:
    from intarsia.graph.graph import Graph
    from intarsia.graph.parts import Node, Weight
    from intarsia.graph.submodel import SubModel

_TINY_ELEMENTS = 16
"""Floating-point constants up to this size are structure: scales, bounds, epsilons."""
_SMALL_BYTES = 1024
"""Other constants up to this size are structure: shapes, axes, indices."""
_CHUNK = 1 << 20
"""Elements looked at in one go."""


def fingerprint(model: SubModel) -> str:
    """Hex digest of a piece of a graph; see `SubModel.fingerprint`."""
    sizes = sizes_text(model.graph)  # what is measured at other sizes is another record
    key = ("fingerprint", sizes, model.nodes[0].index, tuple(node.index for node in model.nodes))
    memo = model.graph.memo
    if key not in memo:
        text = repr(tuple(_Canonical(model).records())) + sizes
        memo[key] = xxh3_128(text.encode("utf-8", "surrogateescape")).hexdigest()
    return str(memo[key])


def content_hash(graph: Graph) -> str:
    """Hex digest of structure, names and all weight bytes; see `Graph.content_hash`."""
    sizes = sizes_text(graph)
    key = ("content", sizes)
    if key not in graph.memo:
        whole = graph.extract(graph.position)
        digest = xxh3_128(serialise(skeleton(whole, graph.opsets.get(""), graph.ir_version)) + sizes.encode())
        for name in sorted(graph.weights):
            weight = graph.weights[name]
            digest.update(repr((name, weight.dtype, weight.shape)).encode("utf-8", "surrogateescape"))
            digest.update(weight_digest(graph, weight))
        graph.memo[key] = digest.hexdigest()
    return str(graph.memo[key])


def weight_digest(graph: Graph, weight: Weight) -> bytes:
    """Digest of a weight's bytes, computed once."""
    key = ("digest", weight.name)
    if key not in graph.memo:
        graph.memo[key] = xxh3_128(_content(weight)).digest()
    return bytes(graph.memo[key])


class _Canonical:
    """Numbers the values of a piece in an order that only its wiring decides: depth first, back from the outputs."""

    def __init__(self, model: SubModel) -> None:
        self._model = model
        self._graph = model.graph
        self._producer = {name: node for node in model.nodes for name in node.outputs if name}
        self._inputs = {value.name: position for position, value in enumerate(model.inputs)}
        self._number: dict[str, int] = {}

    def records(self) -> Iterator[tuple[Any, ...]]:
        """What is hashed: one record per input, weight and node, then the outputs."""
        for value in self._model.outputs:
            yield from self._reach(value.name)
        for node in self._model.nodes:  # what no output depends on
            yield from self._reach(next(name for name in node.outputs if name))
        yield "outputs", tuple(self._number[value.name] for value in self._model.outputs), len(self._inputs)

    def _reach(self, name: str) -> Iterator[tuple[Any, ...]]:
        pending = [name]
        while pending:
            current = pending[-1]
            if current in self._number:
                pending.pop()
                continue
            node = self._producer.get(current)
            missing = [read for read in reversed(node.reads) if read not in self._number] if node else []
            if missing:
                pending.extend(missing)
                continue
            pending.pop()
            yield self._leaf(current) if node is None else self._node(node)

    def _leaf(self, name: str) -> tuple[Any, ...]:
        self._number[name] = len(self._number)
        weight = self._model.weights.get(name)
        if weight is not None:
            return "weight", _weight_class(self._graph, weight)
        value = self._graph.values[name]
        return "input", self._inputs[name], value.dtype, value.shape

    def _node(self, node: Node) -> tuple[Any, ...]:
        values = [self._graph.values[name] if name else None for name in node.outputs]
        record = (
            node.domain,
            node.op_type,
            self._graph.opsets.get(node.domain),
            _attributes(self._graph, node),
            tuple(self._number[name] if name else None for name in node.inputs),
            tuple(self._number[name] for name in node.reads),
            tuple((value.dtype, value.shape) if value else None for value in values),
        )
        for name in node.outputs:
            if name:
                self._number[name] = len(self._number)
        return record


def _attributes(graph: Graph, node: Node) -> tuple[Any, ...]:
    key = ("attributes", node.index)
    if key not in graph.memo:
        outer = {name: ("outer", position) for position, name in enumerate(node.reads)}
        graph.memo[key] = _attribute_records(node.proto, outer)
    record: tuple[Any, ...] = graph.memo[key]
    return record


def _attribute_records(node: onnx.NodeProto, scope: Mapping[str, Any]) -> tuple[Any, ...]:
    records = []
    for attribute in sorted(node.attribute, key=lambda each: each.name):
        graphs = nested_graphs(attribute)
        if graphs:
            records.append((attribute.name, tuple(_nested(graph, scope) for graph in graphs)))
        else:
            bare = onnx.AttributeProto()
            bare.CopyFrom(attribute)
            bare.ClearField("doc_string")
            if bare.HasField("t"):
                bare.t.ClearField("name")
            records.append((attribute.name, bare.SerializeToString(deterministic=True)))
    return tuple(records)


def _nested(graph: onnx.GraphProto, scope: Mapping[str, Any]) -> tuple[Any, ...]:
    """A nested graph with its own names replaced by numbers."""
    names: dict[str, Any] = dict(scope)
    numbers = count()

    def own(name: str) -> None:
        names[name] = ("own", next(numbers))

    records: list[Any] = []
    for value in graph.input:
        own(value.name)
        records.append(("input", value.type.SerializeToString(deterministic=True)))
    for tensor in graph.initializer:
        own(tensor.name)
        bare = onnx.TensorProto()
        bare.CopyFrom(tensor)
        bare.ClearField("name")
        records.append(("weight", bare.SerializeToString(deterministic=True)))
    for node in graph.node:
        inputs = tuple(names.get(name) if name else None for name in node.input)
        records.append((node.domain, node.op_type, inputs, _attribute_records(node, names), len(node.output)))
        for name in filter(None, node.output):
            own(name)
    records.append(("outputs", tuple(names.get(value.name) for value in graph.output)))
    return tuple(records)


def _weight_class(graph: Graph, weight: Weight) -> tuple[Any, ...]:
    key = ("class", weight.name)
    if key not in graph.memo:
        graph.memo[key] = (weight.dtype, weight.shape, _described(weight))
    record: tuple[Any, ...] = graph.memo[key]
    return record


def _described(weight: Weight) -> bytes | tuple[bool, int] | None:
    """The content of a constant that steers what is computed; of the others, what can change how long it takes."""
    elements = prod(weight.shape)
    if elements <= _TINY_ELEMENTS or (not _is_float(weight.dtype) and weight.nbytes <= _SMALL_BYTES):
        return bytes(_content(weight))
    return _denormals_and_sparsity(weight.array()) if _is_float(weight.dtype) else None


def _is_float(dtype: str) -> bool:
    return dtype != STRING and (numpy_dtype(dtype).kind == "f" or "float" in dtype)


def _denormals_and_sparsity(array: np.ndarray) -> tuple[bool, int]:
    """Whether there is a denormal number, and how many tenths of the elements are zero."""
    flat = array.reshape(-1)
    finfo: Any = ml_dtypes.finfo
    tiny = float(finfo(array.dtype).smallest_normal)
    zeros = 0
    denormals = False
    for start in range(0, flat.size, _CHUNK):
        chunk = flat[start : start + _CHUNK]
        size = np.abs(chunk if chunk.dtype.kind == "f" else chunk.astype(np.float32))
        none = size.size - int(np.count_nonzero(size))
        zeros += none
        denormals = denormals or int(np.count_nonzero(size < tiny)) > none
    return denormals, 10 * zeros // max(flat.size, 1)


def _content(weight: Weight) -> bytes | memoryview:
    array = weight.array()
    if weight.dtype == STRING:
        return repr(array.tolist()).encode("utf-8", "surrogateescape")
    return array.reshape(-1).view(np.uint8).data
