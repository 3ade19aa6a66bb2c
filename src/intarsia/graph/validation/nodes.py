"""Nodes by their operators: how many inputs and outputs, which attributes. Judged by onnx's own checker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

import onnx
from google.protobuf.message import Message
from onnx import AttributeProto, checker, defs

from intarsia.errors import ModelError
from intarsia.graph.inference import root_of
from intarsia.graph.validation.scopes import node_text
from intarsia.graph.validation.tensors import check_text

ONNX_DOMAIN = ""
_ALIAS = "ai.onnx"
_TENSOR = onnx.TensorProto(name="content", data_type=onnx.TensorProto.FLOAT, dims=[0])
_PLACES = onnx.TensorProto(data_type=onnx.TensorProto.INT64, dims=[0])
_SPARSE = onnx.SparseTensorProto(values=_TENSOR, indices=_PLACES, dims=[1])
_GRAPH = onnx.GraphProto(name="graph")
_EMPTY: Mapping[str, Message] = MappingProxyType(
    {
        "t": _TENSOR,
        "tensors": _TENSOR,
        "g": _GRAPH,
        "graphs": _GRAPH,
        "sparse_tensor": _SPARSE,
        "sparse_tensors": _SPARSE,
    }
)
"""Stands for the content of these fields of attributes, which is checked elsewhere, and may be large."""
_DEPRECATED_LATER = frozenset({"GroupNormalization"})
"""Operators that onnx (1.23.2) calls deprecated where exporters write them and every engine takes them: 18 to 20."""
Key = tuple[str, str, str]
"""Domain, name and overload: what calls a function."""


def plain_domain(domain: str) -> str:
    """``ai.onnx`` is another spelling of the empty domain."""
    return ONNX_DOMAIN if domain == _ALIAS else domain


def key_of(node: onnx.NodeProto) -> Key:
    """The function that a node calls, if the model has it."""
    return plain_domain(node.domain), node.op_type, node.overload


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What nodes are held against, in the main graph or in one function.

    Attributes:
        where: What they are in, as messages begin.
        parameters: Names of the attributes that nodes may refer to: those of the function that they are in.
    """

    where: str
    opsets: Mapping[str, int]
    ir_version: int
    functions: Mapping[Key, onnx.FunctionProto]
    parameters: frozenset[str] = frozenset()

    def check(self, node: onnx.NodeProto) -> None:
        """Raise a `ModelError` for a node that its operator does not allow; nodes in graphs inside it are left out."""
        check_text((node.name, node.op_type, node.domain, *(each.name for each in node.attribute)), self.where)
        what = f"{self.where}: {node_text(node)}"
        if not node.op_type:
            raise ModelError(f"{what} names no operator; export the model again")
        self._check_references(node, what)
        version = self.opsets.get(plain_domain(node.domain))
        if version is None:
            raise ModelError(
                f"{what} is of the domain {node.domain or _ALIAS!r}, of which the model says no version: "
                "it belongs in the model's opset_import"
            )
        function = self.functions.get(key_of(node))
        if function is None:
            self._check_by_library(node, version, what)
        else:
            _check_call(node, function, what)
            self._check_attributes(_without_content(node), what)

    def _check_references(self, node: onnx.NodeProto, what: str) -> None:
        for attribute in node.attribute:
            name = attribute.ref_attr_name
            if name and name not in self.parameters:
                raise ModelError(f"{what} refers to the attribute {name!r} of a function that has none of this name")

    def _check_by_library(self, node: onnx.NodeProto, version: int, what: str) -> None:
        light = _without_content(node)
        is_known = defs.has(node.op_type, version, light.domain) and node.op_type not in _DEPRECATED_LATER
        if not is_known:  # an engine may have it, or a library that brings operators
            self._check_attributes(light, what)
            return
        try:
            checker.check_node(light, _context(self.ir_version, light.domain, version))
        except checker.ValidationError as error:
            raise ModelError(f"{what} is not as its operator wants it: {root_of(error)}") from error

    def _check_attributes(self, light: onnx.NodeProto, what: str) -> None:
        """What holds of attributes whatever the operator is."""
        _check_names(light, what)
        try:
            for attribute in light.attribute:
                checker.check_attribute(attribute, _context(self.ir_version, ONNX_DOMAIN, 1))
        except checker.ValidationError as error:
            raise ModelError(f"{what} has an attribute that is none: {root_of(error)}") from error


@cache
def _context(ir_version: int, domain: str, version: int) -> checker.C.CheckerContext:
    """What the library's checker holds a node of a domain against."""
    context = checker.C.CheckerContext()
    context.ir_version = ir_version
    context.opset_imports = {domain: version}
    return context


def _check_call(node: onnx.NodeProto, function: onnx.FunctionProto, what: str) -> None:
    for kind, has, most in (
        ("inputs", len(node.input), len(function.input)),
        ("outputs", len(node.output), len(function.output)),
    ):
        if has > most:
            raise ModelError(f"{what} calls a function of {most} {kind} with {has}")


def _check_names(node: onnx.NodeProto, what: str) -> None:
    names = [attribute.name for attribute in node.attribute]
    twice = next((name for name in names if names.count(name) > 1), None) if len(set(names)) < len(names) else None
    if twice is not None:
        raise ModelError(f"{what} has the attribute {twice!r} twice; leave one out")


def _without_content(node: onnx.NodeProto) -> onnx.NodeProto:
    """The node itself, or a copy whose tensors and graphs are empty ones: those are checked by others."""
    domain = plain_domain(node.domain)
    held = any(field.name in _EMPTY for attribute in node.attribute for field, _ in attribute.ListFields())
    if domain == node.domain and not held:
        return node
    light = onnx.NodeProto(op_type=node.op_type, domain=domain, name=node.name, overload=node.overload)
    light.input.extend(node.input)
    light.output.extend(node.output)
    for attribute in node.attribute:
        light.attribute.append(_lightened(attribute))
    return light


def _lightened(attribute: AttributeProto) -> AttributeProto:
    light = AttributeProto()
    for field, value in attribute.ListFields():
        if field.name in _EMPTY:
            value = [_EMPTY[field.name]] if field.name.endswith("s") else _EMPTY[field.name]
        if isinstance(value, int | float | str | bytes):
            setattr(light, field.name, value)
        elif isinstance(value, Message):
            getattr(light, field.name).CopyFrom(value)
        else:
            getattr(light, field.name).extend(value)
    return light
