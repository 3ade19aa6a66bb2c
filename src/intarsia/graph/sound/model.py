"""The whole of a model: versions first, then functions, then names and tensors, then every node by its operator."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import onnx
from onnx import defs

from intarsia.errors import ModelError
from intarsia.graph.build import all_nodes
from intarsia.graph.limits import LIMITS
from intarsia.graph.sound.functions import check_expansion, function_text, functions_of
from intarsia.graph.sound.nodes import ONNX_DOMAIN, Key, Rules, plain_domain
from intarsia.graph.sound.scopes import check_body, check_graph
from intarsia.graph.sound.text import check_text

_DOMAINS = (ONNX_DOMAIN, "ai.onnx.ml")
"""Domains whose newest version is known here."""
_OLDEST_WITH_IMPORTS = 3


def check_model(model: onnx.ModelProto, where: str) -> None:
    """Refuse a model that is not sound, before anything is built from it.

    Args:
        model: As it was read.
        where: What it was read from, as messages begin.

    Raises:
        ModelError: It says what is wrong, where in the model, and what to do.
    """
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
