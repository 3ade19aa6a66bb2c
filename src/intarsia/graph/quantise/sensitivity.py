"""Builds graphs that measure ranges and means of values, and how much each layer in few bits changes the outputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from intarsia.config.precision import Range, Scheme
from intarsia.graph.quantise.draft import GraphDraft
from intarsia.graph.quantise.layers import Layer
from intarsia.graph.quantise.rewrite import LayerWriter
from intarsia.graph.quantise.rounding import channel_axis

if TYPE_CHECKING:
    from intarsia.graph.graph import Graph

_AXES_ARE_INPUT = 18
"""The opset from which on ``ReduceMean`` takes its axes as an input."""
GATES = "intarsia/gates"
"""The input of a gated graph: one number for each way of a layer, 1 for the one that counts; all 0 for fp32."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """Names of the outputs that describe a value.

    Attributes:
        means: Of each channel; empty where the value has no channels that are known.
    """

    lowest: str
    highest: str
    means: str = ""


def described(graph: Graph, layers: Iterable[Layer]) -> tuple[Graph, Mapping[str, Described]]:
    """Return a graph that computes the range of what layers read, and means of what products read, by value."""
    draft = GraphDraft(graph)
    for node in graph.nodes:
        draft.keep(node)
    found: dict[str, Described] = {}
    for layer in layers:
        for name in layer.reads:
            own = found.get(name) or Described(lowest=f"{name}/lowest", highest=f"{name}/highest")
            if name not in found:
                for op_type, end in (("ReduceMin", own.lowest), ("ReduceMax", own.highest)):
                    draft.add_several(op_type, [name], [(end, "float32", ())], keepdims=0)
            if not own.means and not layer.sources:
                own = replace(own, means=_averaged(draft, name, layer))
            found[name] = own
    several = (name for own in found.values() for name in (own.lowest, own.highest, own.means) if name)
    return draft.finish([graph.values[name] for name in graph.inputs], several), found


def _averaged(draft: GraphDraft, name: str, layer: Layer) -> str:
    """The mean of each channel that a layer reads, where the number of its dimensions is known."""
    shape = draft.graph.values[name].shape
    if shape is None:
        return ""
    channels = channel_axis(layer, len(shape))
    axes = [axis for axis in range(len(shape)) if axis != channels]
    means = f"{name}/means"
    made = [(means, "float32", (shape[channels],))]
    if draft.graph.opsets.get("", 1) < _AXES_ARE_INPUT:
        draft.add_several("ReduceMean", [name], made, axes=axes, keepdims=0)
    else:
        where = draft.weight(f"{means}/axes", np.array(axes, np.int64))
        draft.add_several("ReduceMean", [name, where], made, keepdims=0)
    return means


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


def gated(
    graph: Graph,
    layers: Sequence[tuple[Layer, Scheme]],
    ranges: Mapping[str, Range],
    means: Mapping[str, np.ndarray] | None = None,
) -> Graph:
    """Return a graph in which layers compute in fp32 and in each of these ways; the input `GATES` selects one.

    So the error of any choice of layers can be seen without building it.
    """
    draft = GraphDraft(graph)
    gates = draft.new_input(GATES, (len(layers),))
    writer = LayerWriter(draft, ranges, means, packs=False)
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
