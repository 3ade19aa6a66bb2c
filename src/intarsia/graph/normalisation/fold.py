"""Folds constants and infers all types and shapes, in one forward pass.

Each node is inferred with the constants known so far, so shape arithmetic ends in plain constants.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from math import isqrt, prod
from types import MappingProxyType
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
from onnx import defs

from intarsia.errors import ModelError
from intarsia.graph.dtypes import dtype_name, element_bytes
from intarsia.graph.inference import INFERENCE_ERRORS
from intarsia.graph.limits import LIMITS
from intarsia.graph.normalisation.constants import add_weight, content, detached
from intarsia.graph.normalisation.opset import OPSET
from intarsia.graph.reference.reference import EVALUATION_ERRORS, evaluate_node

_SMALL = 1024
"""Bytes up to which a constant's content is shown to inference, and equal constants are recognised."""
_GROWTH_FLOOR = 4 << 20
_LIMIT = 2 << 30
"""Bytes that a folded constant may have at most; below, it may grow freely up to the floor, and to twice its inputs."""

_TIMES_WEIGHTS = 4
_NS_A_BYTE = 30
"""What folding may take beyond its limits for each byte of the model's weights: all of them may be cast."""

_KEPT = frozenset(
    {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}
    | {"Constant", "Dropout", "ImageDecoder"}
    | {"DequantizeLinear"}  # the integers are the weight: folded, it would be larger, and no longer look quantised
)


_POOLS = frozenset({"AveragePool", "LpPool", "MaxPool"})
_POOLS_SINCE = 22
"""Inference up to 21 counts a last window that starts in the padding, which the definition leaves out (``ceil_mode``);
from here on it does as the definition says. Else nothing has changed but which element types there may be."""
_SHAPED_AS_INPUT = frozenset({"GroupNormalization", "MeanVarianceNormalization"})
"""Operators that ONNX defines by a function and gives no inference of shapes."""
_FLOATING = frozenset(kind for kind in ir.DataType if kind.is_floating_point())

_PRODUCTS = frozenset({"Attention", "Einsum", "Gemm", "MatMul", "MatMulInteger", "QLinearMatMul"})
"""Sums of products: as many as the root of what two factors and the result have elements, multiplied."""
_USUAL_NS = 10
_NS: Mapping[str, int] = MappingProxyType(
    {
        **dict.fromkeys(("DeformConv", "GridSample", "MaxRoiPool", "NonMaxSuppression", "RoiAlign"), 50_000),
        **dict.fromkeys(("GRU", "LSTM", "RNN", "Col2Im", "ConvTranspose", "MaxUnpool", "TfIdfVectorizer"), 5_000),
        **dict.fromkeys(("GatherElements", "GatherND", "ScatterElements", "ScatterND"), 1_000),
        **dict.fromkeys(("RegexFullMatch", "StringConcat", "StringNormalizer", "StringSplit", "TopK"), 500),
        **dict.fromkeys(("Erf", "Gelu", "Unique"), 150),
    }
)
"""Nanoseconds an element of those over which onnx's evaluator (1.23.2) loops in Python, and `_USUAL_NS` of others."""
_BOUNDED = frozenset(
    {"Compress", "Concat", "Gather", "NonMaxSuppression", "NonZero", "ReduceSum", "Reshape", "SequenceAt"}
    | {"SequenceLength", "Slice", "Split", "Squeeze", "StringSplit", "TopK", "Unique", "Unsqueeze", "Where"}
)
"""What they make is about as large as what they read, at most, where inference cannot tell how large."""


def fold_and_infer(model: ir.Model, shapes: Mapping[str, ir.Shape] = MappingProxyType({})) -> None:
    """Replace constant nodes by weights and complete types and shapes.

    A shape that only the file declares is believed where inference does not know the operator, and nowhere else:
    exporters leave stale ones behind.

    Args:
        model: Changed in place.
        shapes: Of values by name, which are known better than inference can tell.
    """
    _forget_shapes(model)
    _Folder(model, shapes).run()
    if _complete_by_propagation(model):
        _Folder(model, shapes).run()


class _Folder:
    """The state of one pass: the type of each value, and the constants folded so far."""

    def __init__(self, model: ir.Model, shapes: Mapping[str, ir.Shape]) -> None:
        self._graph = model.graph
        self._shapes = shapes
        self._opsets = dict(model.opset_imports)
        self._imports = [onnx.OperatorSetIdProto(domain=d, version=v) for d, v in self._opsets.items()]
        self._ir_version = model.ir_version
        self._types: dict[ir.Value, onnx.TypeProto | None] = {}
        self._made: dict[Hashable, Sequence[ir.TensorProtocol | None] | None] = {}
        held = sum(value.const_value.nbytes for value in model.graph.initializers.values() if value.const_value)
        self._bytes_left = LIMITS.folded_bytes + _TIMES_WEIGHTS * held
        self._ns_left = LIMITS.folded_ns + _NS_A_BYTE * held

    def run(self) -> None:
        for node in list(self._graph):
            schema = _schema(node, {"": _POOLS_SINCE} if _is_pool(node) else self._opsets)
            if schema is None:
                continue
            reads = {value.name or "": value for value in node.inputs if value is not None} | captures(node)
            proto = ir.serde.serialize_node(node)
            self._infer(node, proto, schema, reads)
            tensors = self._folded(node, proto, reads)
            if tensors is not None:
                self._replace(node, tensors)

    def _infer(
        self, node: ir.Node, proto: onnx.NodeProto, schema: defs.OpSchema, reads: Mapping[str, ir.Value]
    ) -> None:
        types = {name: type_proto for name, value in reads.items() if (type_proto := self._type(value)) is not None}
        if any(name and name not in types for name in proto.input):
            return
        data = {}
        for name, value in reads.items():
            tensor = constant(value)
            if tensor is not None and tensor.nbytes <= _SMALL:
                data[name] = ir.serde.serialize_tensor(tensor)
        try:
            found = onnx.shape_inference.infer_node_outputs(
                schema, proto, types, data, None, self._imports, self._ir_version
            )
        except INFERENCE_ERRORS:
            return  # an operator that its own schema cannot place; the engine may still take it
        if node.op_type in _SHAPED_AS_INPUT and not node.domain:
            found = {proto.output[0]: types[proto.input[0]]}
        for output in node.outputs:
            if output.name in found:
                _adopt(output, found[output.name])
                if output.name in self._shapes:
                    output.shape = self._shapes[output.name]
                _check_extent(node, output)

    def _type(self, value: ir.Value) -> onnx.TypeProto | None:
        if value not in self._types:
            self._types[value] = _type_proto(value)
        return self._types[value]

    def _folded(
        self, node: ir.Node, proto: onnx.NodeProto, reads: Mapping[str, ir.Value]
    ) -> Sequence[ir.TensorProtocol | None] | None:
        """Return the outputs by position if they can be folded; ``None`` for an absent output."""
        if any(output.is_graph_output() for output in node.outputs):
            return None  # an output must have a node
        extent = _static_extent(node)
        if extent is not None:
            return [extent]
        tensors = {name: tensor for name, value in reads.items() if (tensor := constant(value)) is not None}
        foldable = len(tensors) == len(reads) and _is_foldable(node, self._opsets.get("", OPSET))
        if not foldable or not _fits(node, tensors):
            return None
        key = _key(proto, tensors)
        if key not in self._made:
            if not self._may_spend(node, tensors):
                return None
            self._made[key] = self._evaluated(node, proto, reads, tensors)
        return self._made[key]

    def _may_spend(self, node: ir.Node, tensors: Mapping[str, ir.TensorProtocol]) -> bool:
        """Whether the remaining limits suffice for this node; if so, deduct its share."""
        inputs = [tensor.size for tensor in tensors.values()]
        outputs = [_elements(output) for output in node.outputs]
        nbytes, taken = sum(map(_nbytes, node.outputs)), folding_ns(node.op_type, inputs, outputs)
        if nbytes > self._bytes_left or taken > self._ns_left:
            return False
        self._bytes_left -= nbytes
        self._ns_left -= taken
        return True

    def _evaluated(
        self,
        node: ir.Node,
        proto: onnx.NodeProto,
        reads: Mapping[str, ir.Value],
        tensors: Mapping[str, ir.TensorProtocol],
    ) -> Sequence[ir.TensorProtocol | None] | None:
        feeds = {name: content(tensor) for name, tensor in tensors.items()}
        types = {name: self._type(value) for name, value in reads.items()}
        try:
            results = evaluate_node(proto, self._opsets, feeds, types)
        except EVALUATION_ERRORS:
            return None
        outputs = [_tensor(result, output) for result, output in zip(results, node.outputs, strict=True)]
        whole = all(made is not None or not output.name for made, output in zip(outputs, node.outputs, strict=True))
        return outputs if whole else None

    def _replace(self, node: ir.Node, tensors: Sequence[ir.TensorProtocol | None]) -> None:
        for output, tensor in zip(node.outputs, tensors, strict=True):
            if tensor is not None:
                name = output.name or ""
                output.name = None  # two values of one graph may not share it
                output.replace_all_uses_with(add_weight(self._graph, name, tensor))
        self._graph.remove(node, safe=True)


def constant(value: ir.Value) -> ir.TensorProtocol | None:
    """Return the content of a value that is a weight."""
    return value.const_value if value.is_initializer() else None


def _type_proto(value: ir.Value) -> onnx.TypeProto | None:
    """Return a value's type and shape as an ONNX message."""
    if value.type is None:
        return None
    proto = ir.serde.serialize_type(value.type)
    if value.shape is not None:
        ir.serde.serialize_shape_into(proto, value.shape)
    return proto


def captures(node: ir.Node) -> dict[str, ir.Value]:
    """Return the outer values that a node's nested graphs read."""
    found: dict[str, ir.Value] = {}
    own: set[ir.Value] = set()
    graphs = [graph for attribute in node.attributes.values() for graph in _graphs(attribute)]
    for graph in graphs:
        for inner in (graph, *graph.subgraphs()):
            own.update(inner.inputs, inner.initializers.values())
        for each in graph.all_nodes():
            own.update(each.outputs)
    for graph in graphs:
        for inner in (graph, *graph.subgraphs()):
            reads = (value for each in inner for value in each.inputs)
            found.update((v.name or "", v) for v in (*reads, *inner.outputs) if v is not None and v not in own)
    return found


def _graphs(attribute: ir.Attr) -> tuple[ir.Graph, ...]:
    if attribute.is_ref():
        return ()
    if attribute.type == ir.AttributeType.GRAPH:
        return (attribute.as_graph(),)
    return tuple(attribute.as_graphs()) if attribute.type == ir.AttributeType.GRAPHS else ()


def _schema(node: ir.Node, opsets: dict[str, int]) -> defs.OpSchema | None:
    try:
        return defs.get_schema(node.op_type, opsets.get(node.domain, 1), node.domain)
    except defs.SchemaError:
        return None


def _adopt(output: ir.Value, found: onnx.TypeProto) -> None:
    output.type = ir.serde.deserialize_type_proto_for_type(found)
    shape = ir.serde.deserialize_type_proto_for_shape(found)
    if shape is not None and (output.shape is None or not output.shape.is_static()):
        output.shape = shape


def _static_extent(node: ir.Node) -> ir.TensorProtocol | None:
    """Return the result of `Shape` or `Size` for an input of known shape."""
    if node.domain or node.op_type not in {"Shape", "Size"}:
        return None
    source = node.inputs[0]
    if source is None or source.shape is None or not source.shape.is_static():
        return None
    dims = source.shape.numpy()
    if node.op_type == "Size":
        return ir.Tensor(np.array(prod(dims), dtype=np.int64))
    start, end = (node.attributes[key].as_int() if key in node.attributes else None for key in ("start", "end"))
    return ir.Tensor(np.array(dims[start:end], dtype=np.int64))


def _is_foldable(node: ir.Node, opset: int) -> bool:
    """Whether evaluating the node now gives the result that an engine would compute later."""
    if node.op_type in _KEPT or any(_graphs(attribute) for attribute in node.attributes.values()):
        return False
    types = [output.type for output in node.outputs if output.name]
    if opset < OPSET and any(kind is None or kind.dtype in _FLOATING for kind in types):
        return node.op_type == "ConstantOfShape"  # the evaluator gets some old definitions wrong
    if not all(isinstance(kind, ir.TensorType) for kind in types):
        return False
    known = all(output.shape is not None and output.shape.is_static() for output in node.outputs if output.name)
    return known or is_bounded(node.op_type)


def _fits(node: ir.Node, tensors: Mapping[str, ir.TensorProtocol]) -> bool:
    size = sum(_nbytes(output) for output in node.outputs)
    read = sum(tensor.nbytes for tensor in tensors.values())
    grows = size > max(_GROWTH_FLOOR, 2 * read) and node.op_type != "ConstantOfShape"
    return size <= _LIMIT and not grows


def _nbytes(value: ir.Value) -> int:
    return _elements(value) * element_bytes(dtype_name(int(value.dtype)) or "int8") if value.dtype is not None else 0


def _elements(value: ir.Value) -> int:
    return prod(value.shape.numpy()) if value.shape is not None and value.shape.is_static() else 0


def _check_extent(node: ir.Node, output: ir.Value) -> None:
    """Raise an error if a node computes a shape that no array can have."""
    dims = [dim for dim in output.shape or () if isinstance(dim, int)]
    called = (
        f"node {node.name!r} ({node.op_type})" if node.name else f"the {node.op_type} node that makes {output.name!r}"
    )
    if any(dim < 0 for dim in dims):
        raise ModelError(
            f"{called} computes a shape with a negative dimension, {output.shape}: its input is smaller than it takes"
        )
    if prod(max(1, dim) for dim in dims) > LIMITS.value_bytes or len(output.shape or ()) > LIMITS.rank:
        raise ModelError(f"{called} computes the shape {output.shape}, which no machine holds")


def _key(proto: onnx.NodeProto, tensors: Mapping[str, ir.TensorProtocol]) -> Hashable:
    """Return a key that is equal for nodes that compute the same, so that equal constants are stored once."""

    def identity(tensor: ir.TensorProtocol) -> Hashable:
        if tensor.nbytes > _SMALL or tensor.dtype == ir.DataType.STRING:
            return id(tensor)
        return int(tensor.dtype), tensor.shape.numpy(), tensor.tobytes()

    attributes = tuple(sorted(attribute.SerializeToString(deterministic=True) for attribute in proto.attribute))
    inputs = tuple(identity(tensors[name]) if name else None for name in proto.input)
    return proto.domain, proto.op_type, tuple(map(bool, proto.output)), attributes, inputs


def _tensor(result: Any, output: ir.Value) -> ir.TensorProtocol | None:
    if not isinstance(result, np.ndarray | np.generic) or not output.name:
        return None
    array = np.ascontiguousarray(result).reshape(np.shape(result))
    if array.dtype.kind in "OUS":
        items = [item if isinstance(item, bytes) else str(item).encode() for item in array.flat]
        return ir.StringTensor(items, shape=ir.Shape(array.shape))
    if output.dtype is None or array.dtype != output.dtype.numpy():
        return None
    return ir.Tensor(array, dtype=output.dtype)


def _forget_shapes(model: ir.Model) -> None:
    for node in model.graph:
        if _schema(node, dict(model.opset_imports)) is not None:
            for output in node.outputs:
                output.shape = None


def _complete_by_propagation(model: ir.Model) -> bool:
    """Infer shapes by symbolic shape propagation across nodes. Returns whether any was found."""
    unknown = {
        output.name: output
        for node in model.graph
        for output in node.outputs
        if output.name and (output.shape is None or not output.shape.is_static())
    }
    if not unknown:
        return False
    with detached(model) as proto:
        try:
            inferred = onnx.shape_inference.infer_shapes(proto, data_prop=True)
        except INFERENCE_ERRORS:
            return False
    found = False
    for info in (*inferred.graph.value_info, *inferred.graph.output):
        if info.name in unknown:
            output = unknown[info.name]
            _adopt(output, info.type)
            producer = output.producer()
            if producer is not None:
                _check_extent(producer, output)
            found |= output.shape is not None and output.shape.is_static()
    return found


def _is_pool(node: ir.Node) -> bool:
    return node.op_type in _POOLS and not node.domain


def folding_ns(op_type: str, inputs: Sequence[int], outputs: Sequence[int]) -> int:
    """Estimate the nanoseconds of folding a node from the numbers of elements that it reads and makes."""
    elements = sum(inputs) + sum(outputs)
    if op_type in _PRODUCTS:
        return _USUAL_NS * elements + isqrt(prod((*sorted(inputs)[-2:], max(outputs, default=1))))
    return _NS.get(op_type, _USUAL_NS) * elements


def is_bounded(op_type: str) -> bool:
    """Whether the outputs are at most about as large as the inputs, for any input values."""
    return op_type in _BOUNDED
