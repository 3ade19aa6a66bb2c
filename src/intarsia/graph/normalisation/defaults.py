"""Writes out attributes that a node leaves to their default, for engines that misread what is left out."""

from __future__ import annotations

import onnx_ir as ir
from onnx import AttributeProto, defs

_STATED = frozenset(
    {"BatchNormalization", "InstanceNormalization", "LRN", "LayerNormalization", "LogSoftmax", "Softmax"}
)
"""Every default that ONNX's schema gives for these is written out."""
_POOLS = frozenset({"AveragePool", "LpPool", "MaxPool"})
"""Their strides, whose default depends on the rank and so is in no schema, are written out: one along each axis."""


def state_defaults(model: ir.Model) -> None:
    """State the defaults of the model's own opset. Nested graphs count too; other domains are left alone."""
    opset = model.opset_imports.get("")
    if opset is None:
        return
    for node in model.graph.all_nodes():
        if node.domain:
            continue
        if node.op_type in _STATED:
            _state_schema(node, opset)
        elif node.op_type in _POOLS:
            _state_strides(node)


def _state_schema(node: ir.Node, opset: int) -> None:
    try:
        schema = defs.get_schema(node.op_type, opset)
    except defs.SchemaError:  # an operator that came with a later opset: whoever runs the model says so
        return
    for name, attribute in schema.attributes.items():
        default = attribute.default_value
        if name not in node.attributes and default.type != AttributeProto.UNDEFINED:
            node.attributes.add(ir.serde.deserialize_attribute(default))


def _state_strides(node: ir.Node) -> None:
    kernel = node.attributes.get("kernel_shape")
    if kernel is not None and "strides" not in node.attributes:
        node.attributes.add(ir.AttrInt64s("strides", [1] * len(kernel.as_ints())))
