"""Sums of parts, where the parts of two values are added one to one: the values are added, and then parted."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from intarsia.backends.onnxruntime.neighbours import Neighbours, other_term, rewritten
from intarsia.graph.quantise import GraphDraft

if TYPE_CHECKING:
    from intarsia.graph import Node, SubModel


def with_joined_sums(model: SubModel) -> SubModel:
    """The sub-graph in which two values are added before they are parted, where all their parts would be."""
    near = Neighbours.of(model)
    found = {node.index: joined for node in model.nodes if (joined := _summed(node, near)) is not None}
    if not found:
        return model
    gone = {node.index for other, sums in found.values() for node in (other, *sums)}
    nodes = model.graph.nodes
    return rewritten(model, {index: partial(_write, nodes[index], *each) for index, each in found.items()}, gone)


def _write(node: Node, other: Node, sums: tuple[Node, ...], draft: GraphDraft) -> None:
    name = f"{sums[0].outputs[0]}/sums"
    draft.add("Add", [other.inputs[0], node.inputs[0]], name, node.inputs[0])
    draft.keep(node, [each.outputs[0] for each in sums], [name, *node.inputs[1:]])


def _summed(node: Node, near: Neighbours) -> tuple[Node, tuple[Node, ...]] | None:
    """What parts another value alike, before this node does, and what adds each part to the one in its place."""
    if node.op_type != "Split" or node.domain:
        return None
    sums = [near.reader(name, {"Add"}) for name in node.outputs]
    others = [other_term(each, name) for each, name in zip(sums, node.outputs, strict=True) if each is not None]
    makers = {near.graph.values[name].producer for name in others}
    before = near.maker(others[0], {"Split"}) if others else None
    if before is None or makers != {before.index} or before.index >= node.index or list(before.outputs) != others:
        return None
    alike = near.shape(node.inputs[0]) == near.shape(before.inputs[0]) and before.attributes == node.attributes
    only = all(near.reader(name, {"Add"}) is not None for name in others)
    same = [near.shape(name) for name in node.outputs] == [near.shape(name) for name in others]
    return (before, tuple(each for each in sums if each is not None)) if alike and only and same else None
