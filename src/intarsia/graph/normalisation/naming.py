"""Gives every node its id and every output of the graph a node of its own."""

from __future__ import annotations

from collections import Counter

import onnx_ir as ir

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
    """The output keeps the name that callers know, unless it is an input too: inputs keep theirs first."""
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
