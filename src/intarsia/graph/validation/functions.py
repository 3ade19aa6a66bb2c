"""Functions that a model brings: none calls itself, and what calls become is counted before any is written out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import onnx

from intarsia.errors import ModelError
from intarsia.graph.build import nested_graphs
from intarsia.graph.limits import LIMITS
from intarsia.graph.validation.nodes import Key, key_of, plain_domain
from intarsia.graph.validation.tensors import check_text


class Extent(NamedTuple):
    """What nodes are once their calls are written out.

    Attributes:
        nodes: How many there are, those of nested graphs included.
        nbytes: Of the tensors that they have as attributes.
        nesting: How many graphs there are inside of each other; 0 for nodes without any.
        calls: How many functions call each other in a row.
    """

    nodes: int
    nbytes: int
    nesting: int
    calls: int


def functions_of(model: onnx.ModelProto, where: str) -> Mapping[Key, onnx.FunctionProto]:
    """The model's functions by what calls them; a `ModelError` for one without a name, two of one, or too many."""
    if len(model.functions) > LIMITS.functions:
        raise ModelError(f"{where} has {len(model.functions)} functions; {LIMITS.functions} are the most")
    found: dict[Key, onnx.FunctionProto] = {}
    for function in model.functions:
        check_text((function.domain, function.name, function.overload), where)
        key = (plain_domain(function.domain), function.name, function.overload)
        if not function.name:
            raise ModelError(f"{where} has a function without a name; export it again")
        if key in found:
            raise ModelError(f"{where} has the function {function_text(key)} twice; leave one out")
        found[key] = function
    return found


def function_text(key: Key) -> str:
    """How messages call a function."""
    return repr(".".join(filter(None, key)))


def check_expansion(model: onnx.ModelProto, functions: Mapping[Key, onnx.FunctionProto], where: str) -> None:
    """Raise a `ModelError` for functions that call themselves, and models beyond the limits once calls are written."""
    if not functions:
        return
    extents = _Extents(functions, where)
    for key in functions:
        extents.of_function(key)
    whole = extents.of_nodes(model.graph.node)
    for what, has, most in (
        ("nodes", whole.nodes - len(model.graph.node), LIMITS.expanded_nodes),
        ("bytes of constants", whole.nbytes, LIMITS.expanded_bytes),
        ("graphs inside of each other", whole.nesting + 1, LIMITS.nesting),
    ):
        if has > most:
            raise ModelError(
                f"{where} has functions whose calls become {has} {what} once they are written out; {most} are the most"
            )


class _Extents:
    """The extent of each function, found once."""

    def __init__(self, functions: Mapping[Key, onnx.FunctionProto], where: str) -> None:
        self._functions = functions
        self._where = where
        self._known: dict[Key, Extent] = {}
        self._chain: list[Key] = []

    def of_function(self, key: Key) -> Extent:
        if key in self._chain:
            chain = " calls ".join(map(function_text, (*self._chain[self._chain.index(key) :], key)))
            raise ModelError(f"{self._where} has functions that call themselves, and never end: {chain}")
        if key not in self._known:
            if len(self._chain) >= LIMITS.calls:
                raise ModelError(
                    f"{self._where} has functions that call each other, more than {LIMITS.calls} in a row, from "
                    f"{function_text(self._chain[0])} on"
                )
            self._chain.append(key)
            self._known[key] = self.of_nodes(self._functions[key].node)
            self._chain.pop()
        found = self._known[key]
        if len(self._chain) + found.calls > LIMITS.calls:
            raise ModelError(f"{self._where} has functions that call each other, more than {LIMITS.calls} in a row")
        return found

    def of_nodes(self, nodes: Iterable[onnx.NodeProto]) -> Extent:
        count, nbytes, nesting, calls = 0, 0, 0, 0
        for node in nodes:
            parts = [self.of_nodes(graph.node) for attribute in node.attribute for graph in nested_graphs(attribute)]
            inner = [part._replace(nesting=part.nesting + 1) for part in parts]
            key = key_of(node)
            if key in self._functions:
                called = self.of_function(key)
                inner.append(called._replace(calls=called.calls + 1))
            count += 1 + sum(part.nodes for part in inner)
            nbytes += _tensor_bytes(node) + sum(part.nbytes for part in inner)
            nesting = max((nesting, *(part.nesting for part in inner)))
            calls = max((calls, *(part.calls for part in inner)))
        return Extent(count, nbytes, nesting, calls)


def _tensor_bytes(node: onnx.NodeProto) -> int:
    return sum(
        tensor.ByteSize()
        for attribute in node.attribute
        for tensor in (*((attribute.t,) if attribute.HasField("t") else ()), *attribute.tensors)
    )
