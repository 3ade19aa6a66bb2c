"""What an operator table is, and what it says of a graph: the nodes that an engine takes, a reason for each other one.

A table is of ONNX operators. Where its source speaks of the layout of values in memory, it is not asked: whoever
compiles for the engine chooses that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

from intarsia.backends.contract.node_facts import Case, has_input
from intarsia.backends.operator_tables.integers import computed_type, is_conversion, reads_integers
from intarsia.partitioning.region import maximal_regions

if TYPE_CHECKING:
    from intarsia.graph import Graph, Node
    from intarsia.target import Target

FLOAT = frozenset({"float32"})
ALL = 99
"""For `Row.data`: every input that is there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Within which limits an engine takes an operator.

    Attributes:
        dtypes: Element types that it computes in; for an operator between DequantizeLinear and QuantizeLinear, that of
            the integers.
        data: How many of its first inputs hold data: they have those types.
        ranks: How many dimensions its first input may have; ``None`` for any number.
        batch: The most samples, which is the first dimension; ``None`` for any number.
        constant: Input positions that must be weights, or left out.
        attributes: The values that an attribute may have; ``None`` among them stands for leaving it out.
        fused_into: The operators one of which computes what this one reads, for this one alone; empty where it also
            stands by itself.
        limits: What else is asked.
    """

    dtypes: frozenset[str] = FLOAT
    data: int = 1
    ranks: frozenset[int] | None = None
    batch: int | None = None
    constant: tuple[int, ...] = ()
    attributes: Mapping[str, tuple[object, ...]] = field(default_factory=lambda: MappingProxyType({}))
    fused_into: frozenset[str] = frozenset()
    limits: tuple[Case, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorTable:
    """The operators of an engine.

    Attributes:
        engine: The kind of target.
        source: Where the rows are from: what it is called, its version, its address.
        rows: By operator of ONNX's own domain.
        substance: A region without any of these operators is left to others; empty where every region is welcome.
    """

    engine: str
    source: str
    rows: Mapping[str, Row]
    substance: frozenset[str] = frozenset()


TableOf = Callable[["Target"], OperatorTable]
"""The table of a target: options of its kind may change what the engine takes."""


def refusals(graph: Graph, table: OperatorTable) -> Mapping[str, str]:
    """Why the engine does not take a node, by the node's id; it takes all others."""
    found: dict[str, str] = {}
    for node in graph.nodes:  # what a node reads was judged before it
        if not is_conversion(node) and (reason := _refusal(node, graph, table, found)) is not None:
            found[node.id] = reason
    taken = {node.id for node in graph.nodes if node.id not in found and not is_conversion(node)}
    for node in filter(is_conversion, graph.nodes):
        if not _has_work_of(node, graph, taken):
            found[node.id] = f"{table.engine} converts numbers only next to an operator that it computes in integers"
    if table.substance:
        found.update(_regions_without_substance(graph, table, found))
    return MappingProxyType(found)


def _refusal(node: Node, graph: Graph, table: OperatorTable, refused: Mapping[str, str]) -> str | None:
    row = table.rows.get(node.op_type) if node.domain in ("", "ai.onnx") else None
    if row is None:
        return f"{table.engine} has no {node.op_type}, by its table of operators"
    reason = (
        _type_fault(node, graph, row)
        or _form_fault(node, graph, row)
        or _fusion_fault(node, graph, row, refused)
        or next((why for limit in row.limits if (why := limit(node, graph)) is not None), None)
    )
    return None if reason is None else f"{table.engine}'s {node.op_type} {reason}"


def _type_fault(node: Node, graph: Graph, row: Row) -> str | None:
    names = [name for name in node.inputs[: row.data] if name]
    wrong = next((each for each in (computed_type(node, name, graph) for name in names) if each not in row.dtypes), "")
    if wrong == "":
        return None
    return f"computes in {', '.join(sorted(row.dtypes))}, not in {wrong or 'an unknown type'}"


def _form_fault(node: Node, graph: Graph, row: Row) -> str | None:
    value = graph.values[node.inputs[0]] if node.inputs and node.inputs[0] else None
    if row.ranks is not None and (value is None or value.rank not in row.ranks):
        several = " or ".join(map(str, sorted(row.ranks)))
        return f"takes {several} dimension{'' if row.ranks == {1} else 's'}"
    if row.batch is not None and (value is None or not value.shape or value.shape[0] > row.batch):
        return "takes one sample at a time" if row.batch == 1 else f"takes at most {row.batch} samples at a time"
    for position in row.constant:
        if has_input(node, position) and not _is_fixed(node.inputs[position], graph):
            return f"needs a constant as input {position}"
    for name, allowed in row.attributes.items():
        if node.attributes.get(name) not in allowed:
            return f"does not take {name}={node.attributes.get(name)}"
    return None


def _is_fixed(name: str, graph: Graph) -> bool:
    """Whether a value is a weight, also one that is kept in integers."""
    producer = graph.values[name].producer
    if producer is not None and is_conversion(graph.nodes[producer]):
        name = graph.nodes[producer].inputs[0]
    return name in graph.weights


def _fusion_fault(node: Node, graph: Graph, row: Row, refused: Mapping[str, str]) -> str | None:
    if not row.fused_into:
        return None
    reason = f"runs only as the end of {' or '.join(sorted(row.fused_into))}, for which it is the only reader"
    for name in node.inputs[: row.data]:
        value = graph.values[name] if name else None
        producer = None if value is None or value.producer is None else graph.nodes[value.producer]
        if value is None or producer is None or producer.id in refused or producer.op_type not in row.fused_into:
            continue
        if len(value.consumers) == 1 and not value.is_output:
            return None
    return reason


def _has_work_of(node: Node, graph: Graph, taken: set[str]) -> bool:
    """Whether a conversion is part of an operator that is taken: before it, or behind it."""
    if node.op_type == "DequantizeLinear":
        readers = [graph.nodes[index] for index in graph.values[node.outputs[0]].consumers]
        return bool(readers) and all(reader.id in taken and reads_integers(reader, graph) for reader in readers)
    producer = graph.values[node.inputs[0]].producer
    return producer is not None and graph.nodes[producer].id in taken and reads_integers(graph.nodes[producer], graph)


def _regions_without_substance(graph: Graph, table: OperatorTable, refused: Mapping[str, str]) -> dict[str, str]:
    accepted = {node.id for node in graph.nodes if node.id not in refused}
    reason = f"{table.engine} leaves regions to others that hold none of {', '.join(sorted(table.substance))}"
    found: dict[str, str] = {}
    for region in maximal_regions(graph, accepted):
        if not any(graph.node(id_).op_type in table.substance for id_ in region):
            found |= dict.fromkeys(region, reason)
    return found
