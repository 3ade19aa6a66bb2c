"""Operator-set versions as engines ask for them: lowered by relabelling. `opset_upgrade` raises them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import onnx
from onnx import defs

from intarsia.errors import ModelError
from intarsia.graph.build import all_nodes
from intarsia.graph.dtypes import elem_type_of

if TYPE_CHECKING:
    from intarsia.graph.graph import Graph
    from intarsia.graph.parts import Node

OPSET = 21
"""The oldest version of ONNX's own operators that later stages see: what its evaluator computes correctly."""


def lowered(nodes: Iterable[Node], graph: Graph, max_opset: int | None, max_ir: int | None) -> tuple[int | None, int]:
    """The opset and IR version to write for a reader that knows no newer ones.

    An opset is only relabelled, never converted: every operator must be the same in both, or have been given nothing
    but more element types in the newer one, of which the node uses none.

    Raises:
        ModelError: Some operator is not, or needs a newer IR version.
    """
    opset = graph.opsets.get("")
    if opset is not None and max_opset is not None and opset > max_opset:
        for node in nodes:
            _check_unchanged(node, graph, opset, max_opset)
        opset = max_opset
    version = graph.ir_version
    if max_ir is not None and version > max_ir:
        if max_ir < 4:
            raise ModelError(f"IR version {max_ir} has no constants apart from inputs; 4 is the oldest we write")
        version = max_ir
    return opset, version


def _check_unchanged(node: Node, graph: Graph, opset: int, max_opset: int) -> None:
    for op_type in own_operators(node.proto):
        try:
            schema = defs.get_schema(op_type, opset)
        except defs.SchemaError:
            continue
        since = schema.since_version
        if since > max_opset and not (op_type == node.op_type and _is_older_form(node, graph, schema, max_opset)):
            inner = "" if op_type == node.op_type else f" (inside {node.op_type})"
            raise ModelError(
                f"node {node.id!r}: {op_type}{inner} changed in opset {since}, and the reader knows only {max_opset}"
            )


def _is_older_form(node: Node, graph: Graph, schema: defs.OpSchema, max_opset: int) -> bool:
    try:
        older = defs.get_schema(node.op_type, max_opset)
    except defs.SchemaError:
        return False
    sides = ((older.inputs, node.inputs), (older.outputs, node.outputs))
    return _form(older) == _form(schema) and all(
        _allows(older, formals[min(place, len(formals) - 1)], graph.values[name].dtype)
        for formals, names in sides
        for place, name in enumerate(names)
        if name
    )


def _form(schema: defs.OpSchema) -> tuple[object, ...]:
    """Return all of an operator's schema except its element types."""
    attributes = {
        name: (each.type, each.required, each.default_value.SerializeToString())
        for name, each in schema.attributes.items()
    }
    return attributes, [each.name for each in schema.inputs], [each.name for each in schema.outputs]


def _allows(schema: defs.OpSchema, formal: defs.OpSchema.FormalParameter, dtype: str | None) -> bool:
    if dtype is None:
        return False
    allowed = next((c.allowed_type_strs for c in schema.type_constraints if c.type_param_str == formal.type_str), None)
    name = onnx.TensorProto.DataType.Name(elem_type_of(dtype)).lower()
    return f"tensor({name})" in (allowed or [formal.type_str])


def own_operators(node: onnx.NodeProto) -> Iterator[str]:
    """Return the ONNX operators in a node: its own and those of nested graphs."""
    return (inner.op_type for inner in all_nodes([node]) if inner.domain == "")
