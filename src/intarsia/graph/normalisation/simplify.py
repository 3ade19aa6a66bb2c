"""Removes nodes without effect, and states the default values of attributes."""

from __future__ import annotations

import onnx_ir as ir
from onnx import AttributeProto, defs
from onnx_ir.passes.common import RemoveUnusedNodesPass

from intarsia.graph.normalisation.fold import constant

_SAME_SHAPE_IS_IDLE = frozenset({"Expand", "Flatten", "Reshape", "Squeeze", "Unsqueeze"})
"""With one shape before and after they change nothing, whatever their other inputs say."""
_ONE_INPUT_IS_IDLE = frozenset({"Concat", "Max", "Mean", "Min", "Sum"})

_STATED = frozenset(
    {"BatchNormalization", "InstanceNormalization", "LRN", "LayerNormalization", "LogSoftmax", "Softmax"}
)
"""Every default that ONNX's schema gives for these is written out."""
_POOLS = frozenset({"AveragePool", "LpPool", "MaxPool"})
"""Their strides, whose default depends on the rank and so is in no schema, are written out: one along each axis."""


def drop_dead(model: ir.Model) -> None:
    """Remove nodes and weights that no output depends on."""
    RemoveUnusedNodesPass()(model)


def drop_idle(model: ir.Model) -> None:
    """Remove nodes whose output is their input. Outputs of the graph keep their names."""
    graph = model.graph
    for node in list(graph):
        source = node.inputs[0] if node.inputs else None
        if source is None or not _is_idle(node, source):
            continue
        output = node.outputs[0]
        if output.is_graph_output() and not _hand_over(graph, source, output):
            continue
        output.replace_all_uses_with(source)
        graph.remove(node, safe=True)


def _is_idle(node: ir.Node, source: ir.Value) -> bool:
    if node.domain or any(output.uses() or output.is_graph_output() for output in node.outputs[1:]):
        return False
    output = node.outputs[0]
    match node.op_type:
        case "Identity":
            return True
        case "Dropout":
            return _is_off(node)
        case "Cast":
            return source.dtype is not None and source.dtype == output.dtype
        case "Transpose":
            order = node.attributes["perm"].as_ints() if "perm" in node.attributes else None
            return order is not None and list(order) == sorted(order)
        case op_type if op_type in _ONE_INPUT_IS_IDLE:
            return len(node.inputs) == 1
        case op_type if op_type in _SAME_SHAPE_IS_IDLE:
            return source.shape is not None and source.shape.is_static() and source.shape == output.shape
        case _:
            return False


def _is_off(dropout: ir.Node) -> bool:
    """Whether a Dropout is inactive: its third input, training mode, is absent or false."""
    training = dropout.inputs[2] if len(dropout.inputs) > 2 else None
    if training is None:
        return True
    tensor = constant(training)
    return tensor is not None and not tensor.numpy().any()


def _hand_over(graph: ir.Graph, source: ir.Value, output: ir.Value) -> bool:
    """Make ``source`` the graph's output under the name of ``output``, if that is allowed."""
    producer = source.producer()
    if producer is None or producer.graph is not graph or source.is_graph_output():
        return False
    name = output.name
    output.name = None
    source.name = name
    for index, each in enumerate(graph.outputs):
        if each is output:
            graph.outputs[index] = source
    return True


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
