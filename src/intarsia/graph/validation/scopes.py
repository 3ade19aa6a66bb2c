"""Names: every value has one, and is made once, by something; nested graphs see the values around them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set

import onnx

from intarsia.errors import ModelError
from intarsia.graph.build import nested_graphs
from intarsia.graph.limits import LIMITS
from intarsia.graph.validation.tensors import check_sparse, check_tensor, check_text
from intarsia.spec.problems import nearest

_UNTYPED = frozenset({onnx.TensorProto.UNDEFINED})
_Scopes = tuple[Set[str], ...]


def node_text(node: onnx.NodeProto) -> str:
    """How messages call a node: by its name, else by what it computes."""
    name = node.name or next((f"that makes {output!r}" for output in node.output if output), "without a name")
    return f"node {name!r} ({node.op_type})" if node.name else f"the {node.op_type or 'nameless'} node {name}"


def tensors_text(node: onnx.NodeProto, attribute: onnx.AttributeProto) -> str:
    """How messages call a tensor that a node has as an attribute."""
    return f"{node_text(node)}: the tensor {attribute.name!r}"


def check_graph(graph: onnx.GraphProto, where: str, around: _Scopes = (), depth: int = 1) -> int:
    """Check the names of a graph and of those inside of it, and its tensors; the bytes of sparse weights, once dense.

    ``around`` are the names of the graphs around it, ``depth`` counts those and itself.

    Raises:
        ModelError: Something is missing, made twice, or contradicts itself.
    """
    if depth > LIMITS.nesting:
        raise ModelError(f"{where} has graphs inside of graphs, {depth} deep; {LIMITS.nesting} are the most")
    dense = _check_weights(graph, where)
    _check_ends(graph, where, is_main=depth == 1)
    own = _made(graph, where)
    scopes = (own, *around)
    for node in graph.node:
        _check_reads(node, where, scopes)
        dense += sum(check_graph(inner, where, scopes, depth + 1) for inner in _checked_attributes(node, where))
    for value in graph.output:
        if value.name not in own:
            raise ModelError(_unmade(graph, value.name, where, around))
    return dense


def check_body(function: onnx.FunctionProto, where: str) -> None:
    """Check the names of a function's body and of the graphs inside of it, and its tensors, as `check_graph`."""
    own: set[str] = set()
    for name in function.input:
        _add(own, name, f"{where}: input")
    for node in function.node:
        _check_outputs(node, where, own)
    for node in function.node:
        _check_reads(node, where, (own,))
        for inner in _checked_attributes(node, where):
            check_graph(inner, where, (own,), depth=2)
    for name in function.output:
        if name not in own:
            raise ModelError(f"{where}: nothing makes its output {name!r}{_near(name, own)}")


def _check_weights(graph: onnx.GraphProto, where: str) -> int:
    names: set[str] = set()
    for tensor in graph.initializer:
        _add(names, tensor.name, f"{where}: weight")
        check_tensor(tensor, f"{where}: weight {tensor.name!r}")
    dense = 0
    for sparse in graph.sparse_initializer:
        _add(names, sparse.values.name, f"{where}: weight")
        dense += check_sparse(sparse, f"{where}: the sparse weight {sparse.values.name!r}")
    return dense


def _check_ends(graph: onnx.GraphProto, where: str, *, is_main: bool) -> None:
    inputs: set[str] = set()
    for value in graph.input:
        _add(inputs, value.name, f"{where}: input")
    for number, value in enumerate(graph.output, start=1):
        check_text((value.name,), where)
        if not value.name:
            raise ModelError(f"{where}: output number {number} has no name; give it one")
    for value in (*graph.input, *graph.output, *graph.value_info):
        _check_type(value.type, f"{where}: value {value.name!r}")
    _check_typed(graph, where, is_main=is_main)


def _check_typed(graph: onnx.GraphProto, where: str, *, is_main: bool) -> None:
    """Inputs and outputs of the main graph say of which type they are, unless it is what a weight or a node says."""
    weights = {tensor.name: tensor.data_type for tensor in graph.initializer}
    shapes = {tensor.name: tuple(tensor.dims) for tensor in graph.initializer}
    for value in graph.input:
        if not _agrees(value.type.tensor_type, shapes.get(value.name)):
            raise ModelError(
                f"{where}: weight {value.name!r} has the shape {list(shapes[value.name])}, and the input of its name "
                "has another one; export the model again"
            )
        stated = value.type.tensor_type.elem_type
        if weights.get(value.name, stated) != stated and stated not in _UNTYPED:
            raise ModelError(
                f"{where}: weight {value.name!r} holds {_element_text(weights[value.name])}, and the input of its name "
                f"is of {_element_text(stated)}; export the model again"
            )
        if is_main and not _is_typed(value.type) and value.name not in weights:
            raise ModelError(f"{where}: input {value.name!r} has no element type; export the model again")
    for value in graph.output:
        if value.type.HasField("tensor_type") and not _is_typed(value.type):
            raise ModelError(f"{where}: output {value.name!r} is a tensor without an element type; export it again")


def _check_type(type_: onnx.TypeProto, what: str, depth: int = 1) -> None:
    if depth > LIMITS.nesting:
        raise ModelError(f"{what} is of a type inside of types, more than {LIMITS.nesting} deep")
    match type_.WhichOneof("value"):
        case "tensor_type":
            _check_element(type_.tensor_type.elem_type, what)
            _check_rank(type_.tensor_type.shape, what)
        case "sparse_tensor_type":
            _check_element(type_.sparse_tensor_type.elem_type, what)
            _check_rank(type_.sparse_tensor_type.shape, what)
        case "sequence_type":
            _check_type(type_.sequence_type.elem_type, what, depth + 1)
        case "optional_type":
            _check_type(type_.optional_type.elem_type, what, depth + 1)
        case "map_type":
            _check_element(type_.map_type.key_type, what)
            _check_type(type_.map_type.value_type, what, depth + 1)
        case _:
            pass


def _check_element(elem_type: int, what: str) -> None:
    if elem_type not in onnx.TensorProto.DataType.values():
        raise ModelError(
            f"{what} is of the element type {elem_type}, which onnx {onnx.__version__} does not know; "
            "export the model again, or update onnx"
        )


def _agrees(type_: onnx.TypeProto.Tensor, shape: tuple[int, ...] | None) -> bool:
    """Whether what an input says of its shape is that of the weight of its name, if there is one."""
    if shape is None or not type_.HasField("shape"):
        return True
    dims = type_.shape.dim
    return len(dims) == len(shape) and all(
        not dim.HasField("dim_value") or dim.dim_value in (-1, size) for dim, size in zip(dims, shape, strict=True)
    )


def _element_text(elem_type: int) -> str:
    return str(onnx.TensorProto.DataType.Name(elem_type))


def _check_rank(shape: onnx.TensorShapeProto, what: str) -> None:
    if len(shape.dim) > LIMITS.rank:
        raise ModelError(f"{what} has {len(shape.dim)} dimensions; {LIMITS.rank} are the most that arrays have")


def _is_typed(type_: onnx.TypeProto) -> bool:
    match type_.WhichOneof("value"):
        case "tensor_type":
            return type_.tensor_type.elem_type not in _UNTYPED
        case "sequence_type":
            return _is_typed(type_.sequence_type.elem_type)
        case "optional_type":
            return _is_typed(type_.optional_type.elem_type)
        case kind:
            return kind is not None


def _made(graph: onnx.GraphProto, where: str) -> set[str]:
    """The names that a graph has: inputs, weights (which may have the name of an input), and what its nodes make."""
    own = {value.name for value in graph.input}
    own |= {tensor.name for tensor in graph.initializer}
    own |= {sparse.values.name for sparse in graph.sparse_initializer}
    for node in graph.node:
        _check_outputs(node, where, own)
    return own


def _check_outputs(node: onnx.NodeProto, where: str, own: set[str]) -> None:
    check_text((*node.input, *node.output), where)
    for name in node.output:
        if name in own:
            raise ModelError(
                f"{where}: {node_text(node)} makes {name!r}, which is made before it already; give one another name"
            )
        if name:
            own.add(name)


def _check_reads(node: onnx.NodeProto, where: str, scopes: _Scopes) -> None:
    for name in node.input:
        if name and not any(name in scope for scope in scopes):
            known = [known for scope in scopes for known in scope]
            raise ModelError(
                f"{where}: {node_text(node)} reads {name!r}, which is no input, no weight, and made by no node"
                f"{_near(name, known)}"
            )


def _checked_attributes(node: onnx.NodeProto, where: str) -> Iterator[onnx.GraphProto]:
    """The graphs that a node has as attributes, once its tensors were checked."""
    for attribute in node.attribute:
        for tensor in (*((attribute.t,) if attribute.HasField("t") else ()), *attribute.tensors):
            check_tensor(tensor, f"{where}: {tensors_text(node, attribute)}")
        held = (attribute.sparse_tensor,) if attribute.HasField("sparse_tensor") else ()
        for sparse in (*held, *attribute.sparse_tensors):
            check_sparse(sparse, f"{where}: {tensors_text(node, attribute)}")
        for type_ in (*((attribute.tp,) if attribute.HasField("tp") else ()), *attribute.type_protos):
            _check_type(type_, f"{where}: {node_text(node)}: {attribute.name!r}")
        yield from nested_graphs(attribute)


def _add(names: set[str], name: str, what: str) -> None:
    check_text((name,), what)
    if not name:
        raise ModelError(f"{what} number {len(names) + 1} has no name; give it one")
    if name in names:
        raise ModelError(f"{what} {name!r} is there twice; give one another name, or leave it out")
    names.add(name)


def _unmade(graph: onnx.GraphProto, name: str, where: str, around: _Scopes) -> str:
    if any(name in scope for scope in around):
        return (
            f"{where}: the nested graph {graph.name!r} returns {name!r} of the graph around it as it is; "
            "ONNX wants a node between: put an Identity there"
        )
    inside = f" of the nested graph {graph.name!r}" if around else ""
    own = [output for node in graph.node for output in node.output]
    return f"{where}: nothing makes the output {name!r}{inside}{_near(name, own)}"


def _near(name: str, known: Iterable[str]) -> str:
    return nearest(name, known, "export the model again")
