"""The graphs inside ``If``, ``Loop`` and ``Scan`` as graphs of their own, with what they capture as further inputs.

What a body captures of the weights around it is a weight of its own graph too. The state of a loop has the shape that
holds for every round: a dimension that changes from one to the next is open.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import onnx

from intarsia.errors import ModelError
from intarsia.graph.build import free_names
from intarsia.graph.export import add_inline
from intarsia.graph.graph import PLANS_KEY, Graph
from intarsia.graph.parts import Node, Value
from intarsia.graph.ranges import SizeRange
from intarsia.wording import counted

if TYPE_CHECKING:
    from intarsia.graph.bind import Shapes
    from intarsia.graph.normalisation.normalise import Types
    from intarsia.graph.reading.read import ModelSource

CONTROL_FLOW: Final = frozenset({"If", "Loop", "Scan"})
"""The operators of ONNX that hold graphs."""
_OPEN_SIZE: Final = 16
"""At which a dimension is measured of which nobody knows the size."""
_ROUNDS: Final = 64
"""How often the state of a loop may turn out to be more general; each time at least one dimension is opened."""
_Dims = tuple[int | str, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Body:
    """One graph inside a node.

    Attributes:
        name: Of the node's attribute: ``then_branch``, ``else_branch`` or ``body``.
        model: The body as a model, which is normalised to ``graph``. Shared: never change it.
        shapes: The dimensions that stay open, with their sizes.
        graph: Its first inputs are those of the body, the others are captured and have the names that they have around
            it. Its outputs are the body's by place; names may differ.
        inputs: How many inputs are the body's own.
    """

    name: str
    model: onnx.ModelProto
    shapes: Mapping[str, SizeRange]
    graph: Graph
    inputs: int


class _UnfitError(Exception):
    """Why a body cannot be a graph of its own."""


def bodies_of(graph: Graph, node: Node) -> Mapping[str, Body]:
    """The bodies of a node by the attribute's name; a `ModelError` where one cannot stand by itself."""
    key = ("bodies", node.id)
    if key not in graph.memo:
        try:
            graph.memo[key] = MappingProxyType(_bodies(graph, node))
        except (_UnfitError, ModelError) as error:
            graph.memo[key] = str(error)
    found = graph.memo[key]
    if isinstance(found, str):
        raise ModelError(found)
    bodies: Mapping[str, Body] = found
    return bodies


def holds_bodies(node: Node) -> bool:
    """Whether it is one of the operators whose bodies are known here."""
    return node.op_type in CONTROL_FLOW and not node.domain


def with_body_plans(graph: Graph, plans: Mapping[str, str]) -> Graph:
    """The graph, whose nodes of these ids say how their bodies run, and no others do; see `inner_plans`."""
    if not plans and not any(PLANS_KEY in node.metadata for node in graph.nodes):
        return graph
    nodes = tuple(_with_plan(node, plans.get(node.id)) for node in graph.nodes)
    # Digests of nodes depend on what is said here, and so does what is inside them; what is known of weights stays.
    kept = {key: value for key, value in graph.memo.items() if _is_of_weights(key)}
    return replace(graph, nodes=nodes, memo=kept)


def load_typed(source: ModelSource, shapes: Shapes | None = None, types: Types | None = None) -> Graph:
    """As `load_model`, with the types of what loops make, where inference does not tell and their bodies do."""
    from intarsia.graph.normalisation.normalise import load_model

    known = dict(types or {})
    while True:
        graph = load_model(source, shapes, known)
        found = _made_types(graph)
        if found.keys() <= known.keys():
            return graph
        known.update(found)  # what was behind these was unknown too


def _made_types(graph: Graph) -> Mapping[str, tuple[str, _Dims]]:
    """Element type and dimensions of the states of loops, by name, where inference does not tell."""
    found: dict[str, tuple[str, _Dims]] = {}
    for node in filter(holds_bodies, graph.nodes):
        if node.op_type == "If" or all(not name or graph.values[name].rank is not None for name in node.outputs):
            continue
        try:
            body = bodies_of(graph, node)["body"].graph
        except ModelError:
            continue
        for place, (name, (_, dims)) in enumerate(zip(node.outputs, _settled_types(node, body), strict=False)):
            value = graph.values[name] if name else None
            if value is not None and value.rank is None and value.dtype is not None:
                found[name] = (value.dtype, tuple(_renamed(dims, node, place)))
    return found


def _settled_types(node: Node, body: Graph) -> Iterator[tuple[int, _Dims]]:
    """Of a settled body the types of the state, which holds after every round, and after none."""
    first = 2 if node.op_type == "Loop" else 0
    count = len(node.inputs) - (first or node.attributes["num_scan_inputs"])
    for name in body.inputs[first : first + count]:
        yield type_of(body.values[name], "state")


def _renamed(dims: _Dims, node: Node, place: int) -> Iterator[int | str]:
    """The dimensions, open ones under names that nothing around the node has."""
    for axis, dim in enumerate(dims):
        yield dim if isinstance(dim, int) else f"{node.id}_{place}_{axis}"


def inner_plans(text: str, body: str) -> Mapping[str, str]:
    """Of a node's plans those of nodes inside one of its bodies, by id.

    The text is a list with a row for each body: ``body``, and ``partitions`` with ``target``, ``nodes`` and, where
    nodes in it have bodies themselves, ``bodies``: such a list, with the id of the ``node`` in each row.
    """
    found: dict[str, list[Any]] = {}
    for row in json.loads(text):
        if row["body"] == body:
            for inner in (each for part in row["partitions"] for each in part.get("bodies", ())):
                found.setdefault(inner["node"], []).append(inner)
    return {node: json.dumps(rows, sort_keys=True) for node, rows in found.items()}


def _is_of_weights(key: Any) -> bool:
    return key in ("weight_index", "weight classes") or (isinstance(key, tuple) and key[0] == "digest")


def _with_plan(node: Node, text: str | None) -> Node:
    if node.metadata.get(PLANS_KEY) == text:
        return node
    metadata = {key: value for key, value in node.metadata.items() if key != PLANS_KEY}
    if text is not None:
        metadata[PLANS_KEY] = text
    proto = onnx.NodeProto()
    proto.CopyFrom(node.proto)
    del proto.metadata_props[:]
    for key, value in metadata.items():
        proto.metadata_props.add(key=key, value=value)
    return replace(node, metadata=MappingProxyType(metadata), proto=proto)


def _bodies(graph: Graph, node: Node) -> dict[str, Body]:
    if not holds_bodies(node):
        raise _UnfitError(f"{node.op_type} has no bodies that are known here")
    for name in filter(None, (*node.reads, *node.outputs)):
        if graph.values[name].dtype is None:
            raise _UnfitError(f"{name!r} is no tensor, or its element type is unknown")
    graphs = {attribute.name: attribute.g for attribute in node.proto.attribute if attribute.HasField("g")}
    if node.op_type == "If":
        return {name: _Maker(graph, node, inner).body(name, ()) for name, inner in sorted(graphs.items())}
    inner = graphs["body"]
    maker = _Maker(graph, node, inner)
    return {"body": _loop_body(maker) if node.op_type == "Loop" else _scan_body(maker)}


class _Maker:
    """Makes the model of one body, whatever its inputs turn out to be."""

    def __init__(self, graph: Graph, node: Node, inner: onnx.GraphProto) -> None:
        self.graph = graph
        self.node = node
        self.inner = inner

    def body(self, name: str, inputs: Sequence[tuple[int, _Dims]]) -> Body:
        """The body with inputs of its own of these element types and dimensions; a name stands for an open one."""
        if len(inputs) != len(self.inner.input):
            raise _UnfitError(f"its body has {counted(len(self.inner.input), 'input')}, and gets {len(inputs)}")
        model = onnx.ModelProto(ir_version=self.graph.ir_version, producer_name="intarsia")
        for domain, version in self.graph.opsets.items():
            model.opset_import.add(domain=domain, version=version)
        model.graph.CopyFrom(self.inner)
        model.graph.name = model.graph.name or name
        del model.graph.input[:]
        sizes: dict[str, int] = {}
        for value, (elem_type, dims) in zip(self.inner.input, inputs, strict=True):
            _add_input(model, value.name, elem_type, dims)
            sizes |= {dim: _OPEN_SIZE for dim in dims if isinstance(dim, str)}
        for captured in dict.fromkeys(free_names(self.inner)):
            self._capture(model, captured, sizes)
        shapes = {dim: SizeRange(low=1, high=max(1, 2 * size - 1)) for dim, size in sizes.items()}
        found = load_typed(model, shapes)
        plans = self.node.metadata.get(PLANS_KEY)
        if plans is not None:
            found = with_body_plans(found, inner_plans(plans, name))
        return Body(name=name, model=model, shapes=MappingProxyType(shapes), graph=found, inputs=len(self.inner.input))

    def _capture(self, model: onnx.ModelProto, name: str, sizes: dict[str, int]) -> None:
        weight = self.graph.weights.get(name)
        if weight is not None:
            add_inline(model, weight)
            return
        elem_type, dims = type_of(self.graph.values[name], f"outer_{len(sizes)}")
        known = self.graph.sizes
        sizes |= {dim: known.get(dim, _OPEN_SIZE) for dim in dims if isinstance(dim, str)}
        _add_input(model, name, elem_type, dims)


def type_of(value: Value, prefix: str) -> tuple[int, _Dims]:
    """Element type and dimensions of a value, unnamed open ones named after the prefix."""
    if value.type_proto is None or value.rank is None:
        raise _UnfitError(f"how many dimensions {value.name!r} has is only known after it was computed")
    tensor = value.type_proto.tensor_type
    dims = tuple(
        dim.dim_value if dim.HasField("dim_value") else (dim.dim_param or f"{prefix}_{axis}")
        for axis, dim in enumerate(tensor.shape.dim)
    )
    return tensor.elem_type, dims


def _add_input(model: onnx.ModelProto, name: str, elem_type: int, dims: _Dims) -> None:
    model.graph.input.append(onnx.helper.make_tensor_value_info(name, elem_type, list(dims)))


def _loop_body(maker: _Maker) -> Body:
    heads: list[tuple[int, _Dims]] = [(onnx.TensorProto.INT64, ()), (onnx.TensorProto.BOOL, ())]
    states = [type_of(maker.graph.values[name], f"state_{place}") for place, name in enumerate(maker.node.inputs[2:])]
    return _settled(maker, heads, states, [], 1)


def _scan_body(maker: _Maker) -> Body:
    node, values = maker.node, maker.graph.values
    count = node.attributes["num_scan_inputs"]
    split = len(node.inputs) - count
    states = [type_of(values[name], f"state_{place}") for place, name in enumerate(node.inputs[:split])]
    axes = node.attributes.get("scan_input_axes") or (0,) * count
    slices = []
    for place, (name, axis) in enumerate(zip(node.inputs[split:], axes, strict=True)):
        elem_type, dims = type_of(values[name], f"slice_{place}")
        at = axis % len(dims)
        slices.append((elem_type, (*dims[:at], *dims[at + 1 :])))
    return _settled(maker, [], states, slices, 0)


def _settled(
    maker: _Maker,
    heads: list[tuple[int, _Dims]],
    states: list[tuple[int, _Dims]],
    slices: list[tuple[int, _Dims]],
    skipped: int,
) -> Body:
    """The body with states of shapes that hold in every round; its first outputs, but for some, are the next states."""
    for _ in range(_ROUNDS):
        body = maker.body("body", [*heads, *states, *slices])
        outputs = [body.graph.values[name] for name in body.graph.outputs]
        following = list(_opened(states, outputs[skipped : skipped + len(states)]))
        if following == states:
            for value in outputs:
                type_of(value, "")  # of unknown rank, nothing could be stacked
            return body
        states = following
    raise _UnfitError("the shape of its state does not settle")


def _opened(states: Sequence[tuple[int, _Dims]], outputs: Sequence[Value]) -> Iterator[tuple[int, _Dims]]:
    """The states, with each dimension open that a round may change."""
    for place, ((elem_type, dims), value) in enumerate(zip(states, outputs, strict=True)):
        _, made = type_of(value, "made")
        if len(made) != len(dims):
            raise _UnfitError(f"its state {place} has {counted(len(dims), 'dimension')}, and {len(made)} after a round")
        changed = (
            dim if isinstance(dim, str) or dim == new else f"state_{place}_{axis}"
            for axis, (dim, new) in enumerate(zip(dims, made, strict=True))
        )
        yield elem_type, tuple(changed)
