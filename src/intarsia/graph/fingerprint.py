"""Digests of a model: one of its structure and weight classes, without names, and one of its whole content.

Measurements are keyed by the first, so that equal blocks of a network, or one network with other weights, are measured
once; artifacts and verification by the second.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import count
from math import prod
from typing import Any

import ml_dtypes
import numpy as np
import onnx
from xxhash import xxh3_128

from intarsia.graph.build import nested_graphs
from intarsia.graph.dtypes import STRING, numpy_dtype
from intarsia.graph.export import serialise
from intarsia.graph.graph import PLANS_KEY, SIZES_KEY, Graph
from intarsia.graph.parts import Node, Value, Weight
from intarsia.graph.submodel import SubModel, extract

_TINY_ELEMENTS = 16
"""Floating-point constants up to this size are structure: scales, bounds, epsilons."""
_SMALL_BYTES = 1024
"""Other constants up to this size are structure: shapes, axes, indices."""
_CHUNK = 1 << 16
"""Elements looked at in one go: few enough for a core's own cache."""


def fingerprint_of(graph: Graph, node_ids: Iterable[str] | None = None) -> str:
    """`model_fingerprint` of these nodes, or of the whole graph; computed once."""
    # Copies with other metadata share the memo, and the sizes are in the metadata.
    key = ("fingerprint", graph.metadata.get(SIZES_KEY, ""), *(graph.position if node_ids is None else node_ids))
    if key not in graph.memo:
        graph.memo[key] = model_fingerprint(extract(graph, key[2:]))
    return str(graph.memo[key])


def model_fingerprint(model: SubModel) -> str:
    """Hex digest of what a sub-model computes: its structure, shapes, dtypes, and the class of each weight.

    It is free of names, ids and most weight values, so equal blocks of a network have equal fingerprints.
    """
    text = _Canonical(model).text() + model.graph.metadata.get(SIZES_KEY, "")  # other sizes are measured apart
    return xxh3_128(text.encode("utf-8", "surrogateescape")).hexdigest()


def likeness(graph: Graph, nodes: Sequence[Node]) -> str:
    """Return a digest that is equal for runs of nodes that compute the same in the same order.

    It is cheaper than `fingerprint_of` where many runs are compared.

    Args:
        nodes: Each after what it reads.
    """
    described = _Described(graph)
    inside = {node.index for node in nodes}
    number: dict[str, int] = {}
    records: list[str] = []
    for node in nodes:
        for name in node.reads:
            if name not in number:
                number[name] = len(number)
                weight = graph.weights.get(name)
                value = graph.values[name]
                records.append(described.weight(weight) if weight else described.type(value))
        made = [graph.values[name] for name in node.outputs if name]
        reads = [number[name] for name in node.reads]
        border = [value.is_output or not inside.issuperset(value.consumers) for value in made]
        types = ",".join([described.type(value) for value in made])
        records.append(f"{described.operator(node)}{reads}{node.inputs == node.reads}{border}{types}")
        for value in made:
            number[value.name] = len(number)
    return xxh3_128("\n".join(records).encode("utf-8", "surrogateescape")).hexdigest()


def content_hash(graph: Graph) -> str:
    """Hex digest of structure, names and all weight bytes. Reads every weight on the first call."""
    sizes = graph.metadata.get(SIZES_KEY, "")
    key = ("content", sizes)
    if key not in graph.memo:
        whole = extract(graph, graph.position).without_weights(graph.opsets.get(""), graph.ir_version)
        digest = xxh3_128(serialise(whole) + sizes.encode())
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
    """Numbers the values of a partition depth first from its outputs, so that names do not matter."""

    def __init__(self, model: SubModel) -> None:
        self._model = model
        self._values = model.graph.values
        self._producer = {name: node for node in model.nodes for name in node.outputs if name}
        self._inputs = {value.name: position for position, value in enumerate(model.inputs)}
        self._described = _Described(model.graph)
        self._number: dict[str, int] = {}
        self._records: list[str] = []

    def text(self) -> str:
        """Return the text to hash: a record for each input, weight and node, then the outputs."""
        for value in self._model.outputs:
            self._reach(self._producer[value.name])
        for node in self._model.nodes:  # what no output depends on
            self._reach(node)
        outputs = tuple(self._number[value.name] for value in self._model.outputs)
        self._records.append(repr(("outputs", outputs, len(self._inputs))))
        return f"({', '.join(self._records)})"

    def _reach(self, last: Node) -> None:
        if next(filter(None, last.outputs)) in self._number:
            return
        path = [(last, iter(last.reads))]
        while path:
            node, reads = path[-1]
            missing = self._next_missing(reads)
            if missing is None:
                self._records.append(self._node(node))
                path.pop()
            else:
                path.append((missing, iter(missing.reads)))

    def _next_missing(self, reads: Iterator[str]) -> Node | None:
        """Return the next node that is read and not yet numbered; number the inputs found on the way."""
        for name in reads:
            if name not in self._number:
                node = self._producer.get(name)
                if node is not None:
                    return node
                self._records.append(self._leaf(name))
        return None

    def _leaf(self, name: str) -> str:
        self._number[name] = len(self._number)
        weight = self._model.weights.get(name)
        if weight is not None:
            return self._described.weight(weight)
        value = self._values[name]
        return f"('input', {self._inputs[name]}, {self._described.type(value)[1:-1]})"

    def _node(self, node: Node) -> str:
        number = self._number
        inputs = repr(tuple([number[name] if name else None for name in node.inputs]))
        # Nearly all nodes read just their inputs: nothing is left out, given twice, or captured by a nested graph.
        reads = inputs if node.reads == node.inputs else repr(tuple([number[name] for name in node.reads]))
        typed = self._described.type
        types = [typed(self._values[name]) if name else "None" for name in node.outputs]
        for name in node.outputs:
            if name:
                number[name] = len(number)
        several = ", ".join(types) if len(types) > 1 else f"{types[0]}," if types else ""
        return f"({self._described.operator(node)}, {inputs}, {reads}, ({several}))"


class _Described:
    """Records of nodes and weights that do not depend on the partition; cached with the graph."""

    def __init__(self, graph: Graph) -> None:
        self._opsets = graph.opsets
        self._operators: dict[int, str] = graph.memo.setdefault("operators", {})
        self._weights: dict[str, str] = graph.memo.setdefault("weight classes", {})
        self._types: dict[tuple[Any, Any], str] = graph.memo.setdefault("types", {})

    def operator(self, node: Node) -> str:
        known = self._operators.get(node.index)
        if known is None:
            outer = {name: ("outer", position) for position, name in enumerate(node.reads)}
            attributes = _attribute_records(node.proto, outer)
            described = (node.domain, node.op_type, self._opsets.get(node.domain), attributes)
            plans = node.metadata.get(
                PLANS_KEY, ""
            )  # by which its bodies run: it is the time of these that is measured
            known = self._operators[node.index] = repr(described)[1:-1] + plans
        return known

    def type(self, value: Value) -> str:
        key = value.dtype, value.shape
        known = self._types.get(key)
        if known is None:
            known = self._types[key] = repr(key)
        return known

    def weight(self, weight: Weight) -> str:
        known = self._weights.get(weight.name)
        if known is None:
            described = ("weight", (weight.dtype, weight.shape, _content_class(weight)))
            known = self._weights[weight.name] = repr(described)
        return known


def _attribute_records(node: onnx.NodeProto, scope: Mapping[str, Any]) -> tuple[Any, ...]:
    records = []
    for attribute in sorted(node.attribute, key=lambda each: each.name):
        graphs = nested_graphs(attribute)
        if graphs:
            records.append((attribute.name, tuple(_nested(graph, scope) for graph in graphs)))
        else:
            records.append((attribute.name, _nameless(attribute).SerializeToString(deterministic=True)))
    return tuple(records)


def _nameless(attribute: onnx.AttributeProto) -> onnx.AttributeProto:
    """Return the attribute without its documentation and without the name of its tensor."""
    if not attribute.doc_string and not attribute.t.name:
        return attribute
    bare = onnx.AttributeProto()
    bare.CopyFrom(attribute)
    bare.ClearField("doc_string")
    if bare.HasField("t"):
        bare.t.ClearField("name")
    return bare


def _nested(graph: onnx.GraphProto, scope: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return a nested graph with numbers in place of its names."""
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


def _content_class(weight: Weight) -> bytes | tuple[bool, int] | None:
    """Return the content of a constant that decides the result; of other weights, what can change the time."""
    elements = prod(weight.shape)
    if elements <= _TINY_ELEMENTS or (not _is_float(weight.dtype) and weight.nbytes <= _SMALL_BYTES):
        return bytes(_content(weight))
    return _denormals_and_sparsity(weight.array()) if _is_float(weight.dtype) else None


def _is_float(dtype: str) -> bool:
    return dtype != STRING and (numpy_dtype(dtype).kind == "f" or "float" in dtype)


def _denormals_and_sparsity(array: np.ndarray) -> tuple[bool, int]:
    """Whether there is a denormal number, and how many tenths of the elements are zero."""
    flat = array.reshape(-1)
    tiny = _smallest_normal(array.dtype)
    zeros = 0
    denormals = False
    for start in range(0, flat.size, _CHUNK):
        chunk = flat[start : start + _CHUNK]
        size = np.abs(chunk if chunk.dtype.kind == "f" else chunk.astype(np.float32))
        if size.min() >= tiny:  # as mostly, and seen in one pass
            continue
        none = size.size - int(np.count_nonzero(size))
        zeros += none
        denormals = denormals or int(np.count_nonzero(size < tiny)) > none
    return denormals, 10 * zeros // max(flat.size, 1)


@cache
def _smallest_normal(dtype: np.dtype) -> float:
    finfo: Any = ml_dtypes.finfo
    return float(finfo(dtype).smallest_normal)


def _content(weight: Weight) -> bytes | memoryview:
    array = weight.array()
    if weight.dtype == STRING:
        return repr(array.tolist()).encode("utf-8", "surrogateescape")
    return array.reshape(-1).view(np.uint8).data
