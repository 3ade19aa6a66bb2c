"""Operator-set versions are raised once, when a model is read: what later stages see is `OPSET` or newer."""

from __future__ import annotations

import onnx
import onnx_ir as ir
from onnx import defs

from intarsia.graph.inference import INFERENCE_ERRORS
from intarsia.graph.normalisation.conversion_repairs import is_convertible, repair_after, repair_before
from intarsia.graph.normalisation.detached import detached
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
    """The model at `OPSET`, or ``None``. Some adapters need shapes, so those come first."""
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
    """Replace the graph, and give back the nodes' metadata and the constants' content.

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
    """The IR version that belongs to the opset; below 4, constants would have to be inputs."""
    fitting = onnx.helper.OP_SET_ID_VERSION_MAP.get(("ai.onnx", opset), 4)
    model.ir_version = max(model.ir_version or 4, fitting, 4)
