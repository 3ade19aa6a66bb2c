"""Builds graphs that measure ranges of values, and how much each layer in few bits changes the outputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from intarsia.config.precision import Range, Scheme
from intarsia.graph.quantise.draft import GraphDraft
from intarsia.graph.quantise.layers import Layer
from intarsia.graph.quantise.rewrite import LayerWriter

if TYPE_CHECKING:
    from intarsia.graph.graph import Graph

GATES = "intarsia/gates"
"""The input of a gated graph: one number for each way of a layer, 1 for the one that counts; all 0 for fp32."""


def ranged(graph: Graph, names: Iterable[str]) -> tuple[Graph, Mapping[str, tuple[str, str]]]:
    """Return a graph that computes minimum and maximum of values, and the names of these outputs."""
    draft = GraphDraft(graph)
    for node in graph.nodes:
        draft.keep(node)
    ends = {name: (f"{name}/lowest", f"{name}/highest") for name in names}
    for name, several in ends.items():
        for op_type, end in zip(("ReduceMin", "ReduceMax"), several, strict=True):
            draft.add_several(op_type, [name], [(end, "float32", ())], keepdims=0)
    outputs = [end for several in ends.values() for end in several]
    return draft.finish([graph.values[name] for name in graph.inputs], outputs), ends


def trimmed(
    graph: Graph, ranges: Mapping[str, Range], shares: Sequence[float]
) -> tuple[Graph, Mapping[str, tuple[str, ...]]]:
    """Return a graph that computes the mean squared error of 8-bit values clipped to these shares of their ranges.

    What lies beyond is clipped, and steps within are finer. The outputs' names come in the order of the shares.
    """
    draft = GraphDraft(graph)
    for node in graph.nodes:
        draft.keep(node)
    names: dict[str, tuple[str, ...]] = {}
    for name, (low, high) in ranges.items():
        ends = []
        for number, share in enumerate(shares):
            rounded = LayerWriter.rounded(draft, name, (share * low, share * high), f"{name}/trim/{number}")
            apart = draft.add("Sub", [rounded, name], f"{name}/trim/{number}/apart", name)
            square = draft.add("Mul", [apart, apart], f"{name}/trim/{number}/square", name)
            end = f"{name}/trim/{number}/error"
            draft.add_several("ReduceMean", [square], [(end, "float32", ())], keepdims=0)
            ends.append(end)
        names[name] = tuple(ends)
    outputs = [end for several in names.values() for end in several]
    return draft.finish([graph.values[name] for name in graph.inputs], outputs), names


def gated(graph: Graph, layers: Sequence[tuple[Layer, Scheme]], ranges: Mapping[str, Range]) -> Graph:
    """Return a graph in which layers compute in fp32 and in each of these ways; the input `GATES` selects one.

    So the error of any choice of layers can be seen without building it.
    """
    draft = GraphDraft(graph)
    gates = draft.new_input(GATES, (len(layers),))
    writer = LayerWriter(draft, ranges, packs=False)
    last: dict[str, list[tuple[int, Layer, Scheme]]] = {}
    for number, (layer, scheme) in enumerate(layers):
        last.setdefault((layer.norm or layer.node).id, []).append((number, layer, scheme))
    for node in graph.nodes:
        if node.id not in last:
            draft.keep(node)
            continue
        output = last[node.id][0][1].output
        exact = total = f"{output}/exact"
        draft.keep(node, [exact, *node.outputs[1:]])
        for number, layer, scheme in last[node.id]:
            own = f"{output}/way/{number}"
            writer.write(layer, scheme, own)
            place = draft.weight(f"{own}/place", np.array(number, np.int64))
            (gate,) = draft.add_several("Gather", [gates, place], [(f"{own}/gate", "float32", ())])
            apart = draft.add("Sub", [own, exact], f"{own}/apart", output)
            share = draft.add("Mul", [apart, gate], f"{own}/share", output)
            is_last = number == last[node.id][-1][0]
            total = draft.add("Add", [total, share], output if is_last else f"{own}/total", output)
    return draft.finish([graph.values[name] for name in graph.inputs], [graph.values[name] for name in graph.outputs])
