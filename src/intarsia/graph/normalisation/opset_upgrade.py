"""Raises the operator-set version when a model is read, so that later stages see `OPSET` or newer.

Around it, what onnx's version converter gets silently wrong on the way up is put right. Found with onnx 1.23.2 by
comparing single operators before and after, in onnxruntime: `Hardmax` keeps its axis although the meaning of the axis
changed in 13; `Resize` and `Upsample` up to 10 come out with the default coordinates of 11; `GroupNormalization` keeps
one scale per group where 21 wants one per channel; `Scan` of 8 keeps its batch axis.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
import onnx
import onnx_ir as ir
from onnx import defs, helper, numpy_helper

from intarsia.graph.build import all_graphs, tensor_shape
from intarsia.graph.inference import INFERENCE_ERRORS
from intarsia.graph.normalisation.constants import detached
from intarsia.graph.normalisation.opset import OPSET, own_operators


def raise_opset(model: ir.Model) -> None:
    """Convert to `OPSET` if the model is older. A model that cannot be converted stays as it is."""
    version = model.opset_imports.get("", OPSET)
    if version >= OPSET:
        _raise_ir(model, version)
        return
    _raise_ir(model, version)
    with detached(model) as proto:
        converted = _converted(proto, version)
    if converted is not None:
        _take_over(model, ir.from_proto(converted))
    _raise_ir(model, model.opset_imports[""])


def _converted(proto: onnx.ModelProto, version: int) -> onnx.ModelProto | None:
    """Return the model at `OPSET`, or ``None`` if it cannot be converted. Some adapters need inferred shapes."""
    if not is_convertible(proto, version):
        return None
    try:
        inferred = onnx.shape_inference.infer_shapes(proto, data_prop=True)
        repair_before(inferred, version)
        converted = onnx.version_converter.convert_version(inferred, OPSET)
    except INFERENCE_ERRORS:
        return None
    return converted if all(map(_is_known, converted.graph.node)) and repair_after(converted, version) else None


def _is_known(node: onnx.NodeProto) -> bool:
    for op_type in own_operators(node):
        try:
            if defs.get_schema(op_type, OPSET).deprecated:
                return False
        except defs.SchemaError:
            return False
    return True


def _take_over(model: ir.Model, converted: ir.Model) -> None:
    """Replace the graph, and restore metadata of nodes and content of constants.

    Constants came along as inputs or small tensors.
    """
    weights = {name: value.const_value for name, value in model.graph.initializers.items()}
    metadata = {output.name: node.metadata_props for node in model.graph for output in node.outputs}
    count = len(model.graph.inputs)
    graph = converted.graph
    for node in graph:
        for output in node.outputs:  # the converter forgets what nodes say, but not what values are called
            node.metadata_props.update(metadata.get(output.name, {}))
    for value in graph.inputs[count:]:
        tensor = weights.get(value.name or "")
        if tensor is not None and value.uses():
            value.const_value = tensor
    rest = list(graph.inputs[count:])
    del graph.inputs[count:]
    for value in rest:
        if value.const_value is not None and value.name not in graph.initializers:
            graph.register_initializer(value)
    model.graph = graph


def _raise_ir(model: ir.Model, opset: int) -> None:
    """Raise the IR version to that of the opset. Below 4, constants would have to be inputs."""
    fitting = onnx.helper.OP_SET_ID_VERSION_MAP.get(("ai.onnx", opset), 4)
    model.ir_version = max(model.ir_version or 4, fitting, 4)


def is_convertible(model: onnx.ModelProto, version: int) -> bool:
    """Whether the converter, with these repairs, can be trusted with the model."""
    return version >= 9 or all(node.op_type != "Scan" for graph in all_graphs(model.graph) for node in graph.node)


def repair_before(model: onnx.ModelProto, version: int) -> None:
    """Rewrite nodes within the old opset that the converter would convert wrongly."""
    for graph in all_graphs(model.graph):
        if version < 13:
            _rewrite(graph, "Hardmax", _flat_hardmax)
        if 18 <= version < 21:
            lengths = {tensor.name: tensor.dims[0] for tensor in graph.initializer if len(tensor.dims) == 1}
            lengths |= {value.name: _length(value) for value in (*graph.input, *graph.value_info)}
            _rewrite(graph, "GroupNormalization", partial(_per_channel, lengths=lengths))


def repair_after(model: onnx.ModelProto, version: int) -> bool:
    """Complete what the converter left out. Returns ``False`` if the model does not say how."""
    if version > 10:
        return True
    scales = {tensor.name: tensor for graph in all_graphs(model.graph) for tensor in graph.initializer}
    nodes = [node for graph in all_graphs(model.graph) for node in graph.node]
    scales |= {node.output[0]: node.attribute[0].t for node in nodes if node.op_type == "Constant"}
    return all(_state_coordinates(node, scales) for node in nodes if node.op_type == "Resize" and not node.domain)


def _rewrite(graph: onnx.GraphProto, op_type: str, rewritten: Callable[[onnx.NodeProto], list[onnx.NodeProto]]) -> None:
    if all(node.op_type != op_type or node.domain for node in graph.node):
        return
    nodes = onnx.GraphProto()
    for node in graph.node:
        nodes.node.extend(rewritten(node) if node.op_type == op_type and not node.domain else [node])
    graph.ClearField("node")
    graph.node.MergeFrom(nodes.node)


def _flat_hardmax(node: onnx.NodeProto) -> list[onnx.NodeProto]:
    """Hardmax: before opset 13 the input is flattened to a matrix at the axis; on a matrix, old and new agree."""
    axis = helper.get_node_attr_value(node, "axis") if node.attribute else 1
    source, result = node.input[0], node.output[0]
    flat, hard, shape = (f"{result}/{part}" for part in ("flat", "hard", "shape"))
    return [
        helper.make_node("Flatten", [source], [flat], axis=axis),
        helper.make_node("Hardmax", [flat], [hard], name=node.name, axis=1),
        helper.make_node("Shape", [source], [shape]),
        helper.make_node("Reshape", [hard, shape], [result]),
    ]


def _per_channel(node: onnx.NodeProto, lengths: Mapping[str, int]) -> list[onnx.NodeProto]:
    """Group normalisation: repeats scale and bias of each group for its channels."""
    groups = int(helper.get_node_attr_value(node, "num_groups"))
    source, *per_group = node.input
    if any(lengths.get(name, groups) != groups for name in per_group):
        return [node]  # some exporters wrote them per channel long before it was the rule
    result = node.output[0]
    extent, count, size, target = (f"{result}/{part}" for part in ("extent", "count", "size", "target"))
    column, one, flat = (f"{result}/{part}" for part in ("column", "one", "all"))
    nodes = [
        _constant(column, [-1, 1]),
        _constant(one, [1]),
        _constant(flat, [-1]),
        _constant(count, [groups]),
        helper.make_node("Shape", [source], [extent], start=1, end=2),
        helper.make_node("Div", [extent, count], [size]),
        helper.make_node("Concat", [one, size], [target], axis=0),
    ]
    for number, name in enumerate(per_group):
        tall, wide, long = (f"{result}/{part}{number}" for part in ("tall", "wide", "long"))
        nodes += [
            helper.make_node("Reshape", [name, column], [tall]),
            helper.make_node("Expand", [tall, target], [wide]),
            helper.make_node("Reshape", [wide, flat], [long]),
        ]
        node.input[1 + number] = long
    return [*nodes, node]


def _constant(name: str, numbers: list[int]) -> onnx.NodeProto:
    return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(np.array(numbers, dtype=np.int64)))


def _length(value: onnx.ValueInfoProto) -> int:
    """Return the length of a vector; -1 for anything else."""
    shape = tensor_shape(value.type)
    return shape[0] if shape is not None and len(shape) == 1 else -1


def _state_coordinates(resize: onnx.NodeProto, scales: Mapping[str, onnx.TensorProto]) -> bool:
    """Up to opset 10, output element ``i`` lies at ``i / scale``; the nearest is the one before, or, where the image
    shrinks, the one behind (as onnxruntime has it: the standard of the time does not say).
    """
    resize.attribute.append(helper.make_attribute("coordinate_transformation_mode", "asymmetric"))
    mode = next((attribute.s for attribute in resize.attribute if attribute.name == "mode"), b"nearest")
    if mode != b"nearest":
        return True
    tensor = scales.get(resize.input[2])
    if tensor is None:
        return False
    factors = numpy_helper.to_array(tensor)
    grows, shrinks = bool((factors > 1).any()), bool((factors < 1).any())
    resize.attribute.append(helper.make_attribute("nearest_mode", "ceil" if shrinks else "floor"))
    return not (grows and shrinks)
