"""Names every node, gives every graph output a node of its own, and inlines functions."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import Any

import onnx_ir as ir
from onnx_ir.passes.common import InlinePass

from intarsia.graph.normalisation.constants import own_tensor


def own_outputs(model: ir.Model) -> None:
    """Put an `Identity` before each output of the graph that is an input, a weight, or an output already."""
    graph = model.graph
    taken = {value.name for value in graph.inputs} | set(graph.initializers)
    taken |= {output.name for node in graph for output in node.outputs}
    seen: set[ir.Value] = set()
    for position, value in enumerate(graph.outputs):
        producer = value.producer()
        if value not in seen and producer is not None and producer.graph is graph:
            seen.add(value)
            continue
        name = value.name or "output"
        node = ir.node("Identity", [value])
        copy = node.outputs[0]
        copy.type, copy.shape = value.type, value.shape
        graph.append(node)
        graph.outputs[position] = copy
        _swap_names(graph, value, copy, name, taken)


def state_names(model: ir.Model) -> None:
    """Name each node by its id: its own name where no other node has it, else ``<op>_<index>``."""
    nodes = list(model.graph)
    count = Counter(node.name for node in nodes)
    taken = {name for name, times in count.items() if name and times == 1}
    for index, node in enumerate(nodes):
        if node.name in taken:
            continue
        wanted = f"{node.op_type}_{index}"
        while wanted in taken:
            wanted += "_"
        taken.add(wanted)
        node.name = wanted


def _swap_names(graph: ir.Graph, value: ir.Value, copy: ir.Value, name: str, taken: set[str | None]) -> None:
    """Keep the public name of an output, unless it is also an input: then the input keeps the name."""
    number = 1
    while f"{name}_{number}" in taken:
        number += 1
    fresh = f"{name}_{number}"
    taken.add(fresh)
    if value.is_initializer():
        del graph.initializers[name]
        if value.const_value is not None:
            value.const_value = own_tensor(value.const_value)
        copy.name, value.name = name, fresh
        graph.register_initializer(value)
    else:
        copy.name = fresh


def inline_functions(model: ir.Model) -> None:
    """Inline every function call. Metadata of the call is copied to its nodes."""
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
    """Inlines functions with a look-up table of names.

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
