"""Says which nodes a target takes of which no backend can be asked, so that a graph can be partitioned for it.

An engine without a backend takes the operators of its table in ``operator_tables/``, and nothing where there is no
table. A device stands for whatever generates code for it, and takes every node.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import TYPE_CHECKING

from intarsia.partitioning.capability import Capability
from intarsia.partitioning.groups import DEQUANTIZE, QUANTIZE, fused_groups
from intarsia.partitioning.region import boundaries
from intarsia.wording import counted

if TYPE_CHECKING:
    from intarsia.graph import Graph, Value
    from intarsia.target import Target

_FRAME = QUANTIZE | DEQUANTIZE


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorTable:
    """What an engine for quantised networks takes.

    Attributes:
        source: Who says so.
        dtypes: Element types of what it reads and writes; weights and biases may be of any.
        max_rank: Most dimensions of a value.
        operators: ONNX operators: on such values, or in a quantised group whose border they are.
    """

    source: str
    dtypes: frozenset[str]
    max_rank: int
    operators: frozenset[str]


@cache
def operator_table(kind: str) -> OperatorTable | None:
    """The table of an engine kind, if there is one."""
    file = files("intarsia.backends") / "operator_tables" / f"{kind}.json"
    if not file.is_file():
        return None
    data = json.loads(file.read_text(encoding="utf-8"))
    return OperatorTable(
        source=data["source"],
        dtypes=frozenset(data["dtypes"]),
        max_rank=data["max_rank"],
        operators=frozenset(data["operators"]),
    )


def described_capability(graph: Graph, target: Target) -> Capability:
    """What a target takes of which no backend can be asked. An accelerator without a table takes nothing."""
    table = operator_table(target.kind.name)
    if table is not None:
        return Capability(refusals=MappingProxyType(_refusals(graph, target.kind.name, table)))
    if not target.kind.partial:
        return Capability(refusals=MappingProxyType({}))
    reason = f"nothing here says which operators {target.kind.name} takes"
    return Capability(refusals=MappingProxyType({node.id: reason for node in graph.nodes}))


def _refusals(graph: Graph, name: str, table: OperatorTable) -> dict[str, str]:
    groups = fused_groups(graph)
    grouped = frozenset[str]().union(*groups)
    units: list[Iterable[str]] = [*groups, *([node.id] for node in graph.nodes if node.id not in grouped)]
    refusals: dict[str, str] = {}
    for unit in units:
        ids = sorted(unit, key=lambda id_: graph.node(id_).index)
        reason = _refusal(graph, ids, table)
        if reason is not None:
            refusals.update(dict.fromkeys(ids, f"{name} takes {reason}"))
    return refusals


def _refusal(graph: Graph, ids: list[str], table: OperatorTable) -> str | None:
    operators = [graph.node(id_).op_type for id_ in ids]
    other = next((op for op in operators if op not in table.operators and (len(ids) == 1 or op not in _FRAME)), None)
    if other is not None:
        return f"no {other}"
    border = boundaries(graph, ids)
    for value in (graph.values[name] for name in (*border.inputs, *border.outputs)):
        if value.dtype not in table.dtypes:
            legal = " or ".join(sorted(table.dtypes))
            return f"{legal} values, and {value.name!r} is {value.dtype or 'untyped'}"
        if _rank(value) > table.max_rank:
            return f"values of up to {counted(table.max_rank, 'dimension')}, and {value.name!r} has {_rank(value)}"
    return None


def _rank(value: Value) -> int:
    return len(value.shape or ())
