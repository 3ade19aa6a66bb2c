"""Products of few rows that share a factor, as one product.

Gates of a cell and projections of an attention multiply the same rows with several weights; steps of a network that is
written out multiply several rows with the same weights. Each such product waits for its weights, and takes longer to
begin than to end. TASO (Jia et al., 2019) finds such rewrites; these are the two that pay where there are few rows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from intarsia.backends.onnxruntime.few_rows.parted_sums import with_joined_sums
from intarsia.graph.quantise import GraphDraft
from intarsia.topological_order import in_order

if TYPE_CHECKING:
    from intarsia.graph import Graph, Node, SubModel

_MOST_ROWS, _MOST_JOINED = 16, 1024
"""Of a product, and of those together that are joined."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Factor:
    """A constant matrix [length, columns], perhaps stored with its dimensions swapped, and what is added."""

    weight: str
    is_swapped: bool
    bias: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows:
    """All products of the same rows."""

    x: str
    nodes: tuple[Node, ...]
    factors: tuple[_Factor, ...]


Shape = tuple[int, ...]
Group = Sequence[_Rows]
"""Rows that are multiplied with the same weights."""


def with_merged_products(model: SubModel) -> SubModel:
    """The sub-graph in which products that share a factor are one, and so are the sums of what such products yield."""
    groups = tuple(groups_in(model.graph, {node.index for node in model.nodes}))
    if not groups:
        return model
    merged = set[int]().union(*map(_products, groups))
    steps = [_Step.keeping(node) for node in model.nodes if node.index not in merged]
    steps += [_Step.merging(group) for group in groups]
    draft = GraphDraft(model.graph)
    for step in in_order(sorted(steps, key=lambda step: step.place)):
        step.write(draft)
    return with_joined_sums(draft.finish_part(model))


def groups_in(graph: Graph, inside: Collection[int]) -> Iterator[Group]:
    """What is worth merging: several products in each."""
    by_rows: dict[str, list[tuple[Node, _Factor]]] = defaultdict(list)
    for node in graph.nodes:
        factor = _factor(node, graph) if node.index in inside else None
        if factor is not None:
            by_rows[node.inputs[0]].append((node, factor))
    alike: dict[object, list[_Rows]] = defaultdict(list)
    for x, several in by_rows.items():
        nodes, factors = zip(*several, strict=True)
        alike[factors, graph.values[x].shape].append(_Rows(x=x, nodes=nodes, factors=factors))
    joined: dict[int, Group] = {}
    for group in alike.values():
        rows = sum(prod((graph.values[each.x].shape or ())[:-1]) for each in group)
        if len(group) > 1 and rows <= _MOST_JOINED and _are_apart(graph, group, joined):
            joined |= dict.fromkeys(_products(group), group)
            yield group
        else:
            yield from ([each] for each in group if len(each.nodes) > 1)


def _factor(node: Node, graph: Graph) -> _Factor | None:
    """What few rows are multiplied with, where it is constant."""
    if node.op_type not in {"Gemm", "MatMul"} or node.domain or node.inputs[1] not in graph.weights:
        return None
    x, weight, attributes = graph.values[node.inputs[0]], graph.weights[node.inputs[1]], node.attributes
    bias = node.inputs[2] if len(node.inputs) > 2 else ""
    if x.shape is None or len(x.shape) < 2 or len(weight.shape) != 2 or weight.dtype != "float32":
        return None
    columns = weight.shape[0 if attributes.get("transB", 0) else 1]
    is_plain = (attributes.get("alpha", 1.0), attributes.get("beta", 1.0), attributes.get("transA", 0)) == (1.0, 1.0, 0)
    has_bias = not bias or (bias in graph.weights and graph.weights[bias].shape == (columns,))
    fits = x.dtype == "float32" and not x.is_weight and 0 < prod(x.shape[:-1]) <= _MOST_ROWS
    if not (is_plain and has_bias and fits):
        return None
    return _Factor(weight=node.inputs[1], is_swapped=bool(attributes.get("transB", 0)), bias=bias)


def _products(group: Group) -> set[int]:
    return {node.index for rows in group for node in rows.nodes}


def _are_apart(graph: Graph, group: Group, joined: Mapping[int, Group]) -> bool:
    """Whether none of these products needs another, though others are joined: by their indices."""
    products = _products(group)
    waiting, seen, last = list(products), set[int](), max(*products, *joined)  # nothing behind the last leads back
    while waiting:
        together = _products(joined[index]) if (index := waiting.pop()) in joined else {index}
        readers = {reader for each in together for reader in _readers(graph.nodes[each], graph)}
        if readers & products:
            return False
        waiting += (reader for reader in readers - seen if reader <= last)
        seen |= readers
    return True


def _readers(node: Node, graph: Graph) -> list[int]:
    return [index for name in node.outputs if name for index in graph.values[name].consumers]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """Something to write: where it stood, what it reads and yields, and how it is written."""

    place: int
    reads: tuple[str, ...]
    outputs: tuple[str, ...]
    write: Callable[[GraphDraft], object]

    @classmethod
    def keeping(cls, node: Node) -> _Step:
        return cls(place=node.index, reads=node.reads, outputs=node.outputs, write=lambda draft: draft.keep(node))

    @classmethod
    def merging(cls, group: Group) -> _Step:
        return cls(
            place=min(_products(group)),
            reads=tuple(rows.x for rows in group),
            outputs=tuple(name for rows in group for node in rows.nodes for name in node.outputs),
            write=lambda draft: _write(draft, group),
        )


def _write(draft: GraphDraft, group: Group) -> None:
    """One product, and its parts: first those of each rows, then those of each weight."""
    graph, first = draft.graph, group[0]
    name = first.nodes[0].outputs[0]
    weights = [graph.weights[each.weight].array() for each in first.factors]
    weights = [each.T if factor.is_swapped else each for each, factor in zip(weights, first.factors, strict=True)]
    columns = [each.shape[1] for each in weights]
    shape = graph.values[first.x].shape or ()
    whole = (shape[0] * len(group), *shape[1:])
    x = first.x
    if len(group) > 1:
        names = [rows.x for rows in group]
        (x,) = draft.add_several("Concat", names, [(f"{name}/rows", "float32", whole)], axis=0)
    factors = [x, draft.weight(f"{name}/weights", np.concatenate(weights, axis=1))]
    op_type = "MatMul"
    if any(each.bias for each in first.factors):
        op_type = "Gemm"
        biases = [
            graph.weights[each.bias].array() if each.bias else np.zeros(count, np.float32)
            for each, count in zip(first.factors, columns, strict=True)
        ]
        factors.append(draft.weight(f"{name}/biases", np.concatenate(biases)))
    wide = sum(columns)
    whole_product = (f"{name}/products", "float32", (*whole[:-1], wide))
    parts = draft.add_several(op_type, factors, [whole_product])
    if len(group) > 1:
        names = [_product_of(rows) for rows in group]
        several = [(each, "float32", (*shape[:-1], wide)) for each in names]
        parts = _parted(draft, parts[0], several, 0, [shape[0]] * len(group))
    for part, rows in zip(parts, group, strict=True):
        if len(rows.nodes) > 1:
            outputs = [(node.outputs[0], "float32", graph.values[node.outputs[0]].shape) for node in rows.nodes]
            _parted(draft, part, outputs, len(shape) - 1, columns)


def _product_of(rows: _Rows) -> str:
    """What the product of these rows with all their weights is called."""
    name = rows.nodes[0].outputs[0]
    return name if len(rows.nodes) == 1 else f"{name}/product"


def _parted(
    draft: GraphDraft, whole: str, parts: Sequence[tuple[str, str, Shape | None]], axis: int, sizes: list[int]
) -> list[str]:
    counts = draft.weight(f"{whole}/sizes", np.array(sizes, np.int64))
    return draft.add_several("Split", [whole, counts], parts, axis=axis)
