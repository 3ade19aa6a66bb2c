"""Calls of a model's own functions become the functions' nodes, with names of their own."""

from __future__ import annotations

from itertools import chain
from typing import Any

import onnx_ir as ir
from onnx_ir.passes.common import InlinePass


def inline_functions(model: ir.Model) -> None:
    """Write every call out. What a call says of itself holds for the nodes that it becomes."""
    if not model.functions:
        return
    bodies = (function.all_nodes() for function in model.functions.values())
    for node in chain(model.graph.all_nodes(), *bodies):
        called = model.functions.get(node.op_identifier())
        # The pass gives what the call says to the nodes of the body, unless they say otherwise themselves.
        node.metadata_props.update({} if called is None else called.metadata_props | node.metadata_props)
    _Inliner()(model)
    model.functions.clear()


class _Inliner(InlinePass):
    """Finds each name in one step.

    For every copy of a function's node, onnx_ir 1.1.0 counts up from 2 until it meets a free name: ten thousand copies
    take a minute. Here the body gets the next free names before it is copied, and those are taken as they are.
    """

    def __init__(self) -> None:
        super().__init__()
        self._bases: dict[object, str] = {}
        self._next: dict[tuple[int, str], int] = {}

    def _instantiate_call(self, node: ir.Node, call_site_id: str) -> Any:
        for each in self._functions[node.op_identifier()].all_nodes():
            each.name = self._fresh(each, each.name or "node", self._used_node_names)
            for output in each.outputs:
                output.name = self._fresh(output, output.name or "val", self._used_value_names)
        return super()._instantiate_call(node, call_site_id)

    def _fresh(self, what: object, name: str, used: set[str]) -> str:
        base = self._bases.setdefault(what, name)
        key = (id(used), base)
        number = self._next.get(key, 1)
        found = base if number == 1 else f"{base}_{number}"
        while found in used:
            number += 1
            found = f"{base}_{number}"
        self._next[key] = number + 1
        return found
