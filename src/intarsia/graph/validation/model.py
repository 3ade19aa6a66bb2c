"""The whole of a model: versions, functions, names and tensors, every node by its operator; and types by inference."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import onnx
import onnx_ir as ir
from onnx import defs

from intarsia.errors import ModelError
from intarsia.graph.build import all_graphs, all_nodes
from intarsia.graph.inference import INFERENCE_ERRORS
from intarsia.graph.limits import LIMITS
from intarsia.graph.normalisation.constants import detached
from intarsia.graph.validation.functions import check_expansion, function_text, functions_of
from intarsia.graph.validation.nodes import ONNX_DOMAIN, Key, Rules, plain_domain
from intarsia.graph.validation.scopes import check_body, check_graph
from intarsia.graph.validation.tensors import check_text

_DOMAINS = (ONNX_DOMAIN, "ai.onnx.ml")
"""Domains whose newest version is known here."""
_OLDEST_WITH_IMPORTS = 3

_PLACE = re.compile(r"\(op_type: ?(?P<op>[^,)]*)(?:, node name: (?P<node>.*?))?\): (?P<why>.*)")
_TAG = re.compile(r"\[(?:Shape|Type)InferenceError\] (?:Inference error\(s\): )?")
_TYPES = re.compile(r"\((\d+)\) vs \((\d+)\)")
_UNKNOWN = frozenset({"GroupNormalization", "MeanVarianceNormalization"})
"""Operators that ONNX defines by a function, which its own inference (onnx 1.23.2) cannot follow."""


def check_model(model: onnx.ModelProto, where: str) -> None:
    """Raise a `ModelError`, which begins with ``where``, for a model that is not sound, before building from it."""
    if not 0 < model.ir_version <= onnx.IR_VERSION:
        raise ModelError(
            f"{where} is of ONNX's file format {model.ir_version}, and onnx {onnx.__version__} reads 1 to "
            f"{onnx.IR_VERSION}: export it for an older one, or update onnx"
        )
    opsets = _opsets(model.opset_import, where)
    if not opsets:
        if model.ir_version >= _OLDEST_WITH_IMPORTS:
            raise ModelError(f"{where} says no operator-set version")
        opsets = {ONNX_DOMAIN: 1}
    functions = functions_of(model, where)
    check_expansion(model, functions, where)
    dense = check_graph(model.graph, where)
    if dense > LIMITS.dense_bytes:
        raise ModelError(
            f"{where} has sparse weights of {dense} bytes once they are dense; {LIMITS.dense_bytes} are the most"
        )
    rules = Rules(where=where, opsets=opsets, ir_version=model.ir_version, functions=functions)
    for node in all_nodes(model.graph.node):
        rules.check(node)
    for key, function in functions.items():
        _check_function(key, function, rules)


def _check_function(key: Key, function: onnx.FunctionProto, rules: Rules) -> None:
    where = f"{rules.where}: function {function_text(key)}"
    own = Rules(
        where=where,
        opsets={**rules.opsets, **_opsets(function.opset_import, where)},
        ir_version=rules.ir_version,
        functions=rules.functions,
        parameters=frozenset((*function.attribute, *(each.name for each in function.attribute_proto))),
    )
    check_body(function, where)
    for node in all_nodes(function.node):
        own.check(node)


def _opsets(imports: Iterable[onnx.OperatorSetIdProto], where: str) -> Mapping[str, int]:
    found: dict[str, int] = {}
    for each in imports:
        check_text((each.domain,), where)
        domain = plain_domain(each.domain)
        called = domain or "ai.onnx"
        if found.setdefault(domain, each.version) != each.version:
            raise ModelError(
                f"{where} says two versions of the operators of {called!r}, {found[domain]} and {each.version}"
            )
        newest = defs.onnx_opset_version() if domain == ONNX_DOMAIN else _newest(domain)
        if not 1 <= each.version <= newest:
            raise ModelError(
                f"{where} wants version {each.version} of the operators of {called!r}, and onnx {onnx.__version__} "
                f"knows 1 to {newest}: export it for one of these, or update onnx"
            )
    return found


def _newest(domain: str) -> int:
    """The newest version of a domain; of those that ONNX does not define, any number that fits."""
    if domain not in _DOMAINS:
        return (1 << 31) - 1
    versions = (version for (name, version) in onnx.helper.OP_SET_ID_VERSION_MAP if name == domain)
    return max(versions)


def check_types(model: ir.Model) -> None:
    """Infer every type as strictly as ONNX Runtime does, which means: at the operator set that the model is written in.

    Shapes that the file declares for what it computes are not held against it: exporters leave stale ones behind.

    Raises:
        ModelError: An operator cannot take what it is given, or a value is not of the type that is declared.
    """
    with detached(model) as proto:
        _forget_shapes(proto.graph)
        faults = _faults(proto, check_type=True)
        # What is declared wrongly is told where it is made, rather than where it is read.
        faults = (faults and _faults(proto, check_type=False)) or faults
    if faults:
        raise ModelError(_told(faults[0]))


def _faults(proto: onnx.ModelProto, *, check_type: bool) -> list[str]:
    """What inference says against the nodes, a line each."""
    try:
        onnx.shape_inference.infer_shapes(proto, check_type=check_type, strict_mode=True)
    except INFERENCE_ERRORS as error:
        lines = [_TAG.sub("", line).strip() for line in str(error).splitlines()]
        found = [(line, _PLACE.match(line)) for line in lines if line]
        return [line for line, place in found if place is None or place["op"] not in _UNKNOWN]
    return []


def _forget_shapes(main: onnx.GraphProto) -> None:
    """Drop every declared shape but those of the main graph's inputs and of weights."""
    for graph in all_graphs(main):
        weights = {tensor.name for tensor in graph.initializer}
        for value in (*graph.value_info, *graph.output, *(() if graph is main else graph.input)):
            if value.type.HasField("tensor_type") and value.name not in weights:
                value.type.tensor_type.ClearField("shape")


def _type_text(number: str) -> str:
    known = onnx.TensorProto.DataType
    return str(known.Name(int(number))) if int(number) in known.values() else number


def _told(fault: str) -> str:
    """A fault in a line of ours: which node, and why."""
    place = _PLACE.match(fault)
    if place is None:
        return f"the model's types do not fit together: {fault}"
    named = f"node {place['node']!r} ({place['op']})" if place["node"] else f"a node without a name ({place['op']})"
    why = _TYPES.sub(lambda found: " vs ".join(map(_type_text, found.groups())), place["why"])
    return f"{named} does not fit what it is given, or what is declared: {why}"
