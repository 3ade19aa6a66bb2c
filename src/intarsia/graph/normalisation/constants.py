"""Turns `Constant` nodes and large constants of nested graphs into weights of the graph."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import onnx
import onnx_ir as ir

_LARGE = 1024
"""Bytes from which a constant of a nested graph is shared with the graph around it; smaller ones stay at their use."""

_SMALL = 1024
"""Bytes up to which a constant comes along: shapes, axes, bounds."""


def lift_constants(model: ir.Model) -> None:
    """Turn `Constant` nodes into weights, and move large ones out of nested graphs."""
    graph = model.graph
    taken = _names(model)
    for node in list(graph.all_nodes()):
        if node.op_type != "Constant" or node.domain:
            continue
        tensor = constant_tensor(node)
        if tensor is not None and (node.graph is graph or tensor.nbytes > _LARGE):
            _replace(node, tensor, graph, taken)
    for inner in graph.subgraphs():
        for value in list(inner.initializers.values()):
            if value.const_value is not None and value.const_value.nbytes > _LARGE:
                del inner.initializers[value.name or ""]
                _own(value, graph, taken)


def constant_tensor(node: ir.Node) -> ir.TensorProtocol | None:
    """Return the tensor of a `Constant` node; ``None`` for sparse tensors and for references to function attributes."""
    name, attribute = next(iter(node.attributes.items()), (None, None))
    if attribute is None or attribute.is_ref():
        return None
    match name:
        case "value":
            return attribute.as_tensor()
        case "value_float" | "value_floats":
            return ir.Tensor(np.array(attribute.value, dtype=np.float32))
        case "value_int" | "value_ints":
            return ir.Tensor(np.array(attribute.value, dtype=np.int64))
        case "value_string":
            return ir.StringTensor([attribute.value.encode()], shape=ir.Shape([]))
        case "value_strings":
            return ir.StringTensor([item.encode() for item in attribute.value], shape=ir.Shape([len(attribute.value)]))
        case _:
            return None


def content(tensor: ir.TensorProtocol) -> np.ndarray:
    """Return the content as an array, with text as ``str`` in place of bytes."""
    array = tensor.numpy()
    if tensor.dtype != ir.DataType.STRING:
        return array
    texts = [item.decode("utf-8", errors="surrogateescape") for item in array.flat]
    return np.array(texts, dtype=object).reshape(array.shape)


def own_tensor(tensor: ir.TensorProtocol) -> ir.TensorProtocol:
    """Return a copy of the tensor under a new name; renaming in place would change its message."""
    if tensor.dtype == ir.DataType.STRING:
        return ir.StringTensor(list(tensor.numpy().flat), shape=ir.Shape(tensor.shape.numpy()))
    return ir.Tensor(tensor.numpy(), dtype=tensor.dtype)


def add_weight(graph: ir.Graph, name: str, tensor: ir.TensorProtocol) -> ir.Value:
    """Add a weight to the graph under an unused name."""
    shape = ir.Shape(tensor.shape.numpy())
    value = ir.Value(name=name, type=ir.TensorType(tensor.dtype), shape=shape, const_value=tensor)
    graph.register_initializer(value)
    return value


def _replace(node: ir.Node, tensor: ir.TensorProtocol, graph: ir.Graph, taken: dict[str, int]) -> None:
    output = node.outputs[0]
    if output.is_graph_output():
        return  # it stays a node: an output must have one
    name = output.name or ""
    if node.graph is not graph:
        name = _free(name, taken)
    assert node.graph is not None
    output.name = None  # two values of one graph may not share it
    output.replace_all_uses_with(add_weight(graph, name, own_tensor(tensor)))
    node.graph.remove(node, safe=True)


def _own(value: ir.Value, graph: ir.Graph, taken: dict[str, int]) -> None:
    if value.const_value is not None:
        value.const_value = own_tensor(value.const_value)
    value.name = _free(value.name or "", taken)
    graph.register_initializer(value)


def _names(model: ir.Model) -> dict[str, int]:
    """Count the uses of each value name, in nested graphs too."""
    count: dict[str, int] = {}
    for graph in model.graphs():
        for value in (*graph.inputs, *graph.initializers.values(), *(out for node in graph for out in node.outputs)):
            count[value.name or ""] = count.get(value.name or "", 0) + 1
    return count


def _free(name: str, taken: dict[str, int]) -> str:
    """Return the name if it is unused, else the name with a number."""
    if taken.get(name, 0) <= 1:
        return name
    number = 1
    while f"{name}_{number}" in taken:
        number += 1
    taken[f"{name}_{number}"] = 1
    return f"{name}_{number}"


@contextmanager
def detached(model: ir.Model) -> Iterator[onnx.ModelProto]:
    """A context in which large constants of the model are inputs after the real ones."""
    graph = model.graph
    count = len(graph.inputs)
    large = [
        value
        for value in graph.initializers.values()
        if value.const_value is not None and value.const_value.nbytes > _SMALL
    ]
    for value in graph.initializers.values():
        _state_type(value)
    for value in large:
        assert value.name is not None
        del graph.initializers[value.name]
        graph.inputs.append(value)
    try:
        yield ir.to_proto(model)
    finally:
        del graph.inputs[count:]
        for value in large:
            graph.register_initializer(value)


def _state_type(value: ir.Value) -> None:
    """Set a constant's declared type by its content, since files may lack it or state a wrong one."""
    tensor = value.const_value
    if tensor is not None:
        value.shape = ir.Shape(tensor.shape.numpy())
        value.type = ir.TensorType(tensor.dtype)
