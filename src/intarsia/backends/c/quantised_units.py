"""Which quantised parts of a graph an engine of C takes, by the instructions that they become."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from intarsia.backends.c.processor import Processor
from intarsia.backends.c.site import Site
from intarsia.backends.lowering.program import LEAVES
from intarsia.errors import ModelError
from intarsia.partitioning.capability import Capability
from intarsia.partitioning.groups import fused_groups

if TYPE_CHECKING:
    from intarsia.graph import Graph, Node

Fault = Callable[[Site], str | None]
"""What of an instruction an engine does not take, as ``softmax along another axis``; ``None`` if it takes it."""
_CORTEX_M = Processor(architecture="arm", pointer_bytes=4)
_BORDERS = frozenset({"reshape", "transpose", "q_flip"})
"""What a part of a network has at its borders when it is looked at alone; within the network it is not there."""
_FRAME = frozenset({"QuantizeLinear", "DequantizeLinear"})
_VIEWS = frozenset({"Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze"})
"""Operators that compute nothing: what they answer lies where their operand does."""


def capability(graph: Graph, name: str, fault: Fault) -> Capability:
    """What an engine takes; quantised groups are taken or refused as one."""
    groups = fused_groups(graph)
    grouped = frozenset[str]().union(*groups)
    refusals: dict[str, str] = {}
    for unit in (*groups, *(frozenset({node.id}) for node in graph.nodes if node.id not in grouped)):
        reason = _lack(graph, unit, fault)
        if reason is not None:
            refusals.update(dict.fromkeys(unit, f"{name} takes {reason}"))
    return Capability(refusals=refusals)


def refusal(node: Node, graph: Graph, name: str, fault: Fault) -> str | None:
    """Why a node is not taken, together with those that it is one integer function with; ``None`` if it is."""
    unit = next((each for each in fused_groups(graph) if node.id in each), frozenset({node.id}))
    reason = _lack(graph, unit, fault)
    return None if reason is None else f"{name} takes {reason}"


def _lack(graph: Graph, unit: frozenset[str], fault: Fault) -> str | None:
    """Why nodes that belong together are not taken, as ``no Gelu``.

    They are lowered as they will be in the whole network, and each instruction that comes of it is asked for.
    """
    # Listing engines imports this file, and loads no onnx.
    from intarsia.backends.c.network import known_of, prepared
    from intarsia.backends.lowering.integer.lower import lower_integers
    from intarsia.backends.lowering.integer.walk import EIGHT_BITS
    from intarsia.graph import extract

    nodes: Sequence[Node] = sorted((graph.node(id_) for id_ in unit), key=lambda node: node.index)
    values = [graph.values[name] for node in nodes for name in (*node.reads, *node.outputs) if name]
    if not any(value.dtype in EIGHT_BITS for value in values):
        wide = next((value for value in values if not value.is_weight), values[0])
        return f"int8 values, and {wide.name!r} is {wide.dtype or 'untyped'}"
    unknown = next((value for value in values if value.shape is None), None)
    if unknown is not None:
        return f"values of known shape, and that of {unknown.name!r} is not"
    model = extract(graph, (node.id for node in nodes))
    try:
        program = lower_integers(model)
    except ModelError as error:
        return f"what can be lowered: {error}"
    weights = {name: model.weights[name].array() for name in program.weights}
    program, known = prepared(program, known_of(program, weights))
    computed = False
    for each in program.instructions:
        if each.name in LEAVES or each.name in _BORDERS:
            continue
        reads = tuple(program.instructions[number] for number in each.reads)
        operands = {slot: known[number] for slot, number in enumerate(each.reads) if number in known}
        reason = fault(Site(each=each, reads=reads, known=operands, processor=_CORTEX_M))
        if reason is not None:
            return f"no {reason}"
        computed = True
    operators = [node.op_type for node in nodes if node.op_type not in _FRAME] or [nodes[0].op_type]
    return None if computed or _VIEWS.issuperset(operators) else f"no {operators[0]}"
