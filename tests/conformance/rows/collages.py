"""Rows about the search for the cheapest mix of two compilers, and about which sets of nodes may be one partition."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from intarsia.config import SearchSettings
from intarsia.cost.worker.deadline import NO_END
from intarsia.cost.worker.progress import unwatched
from intarsia.graph import Graph
from intarsia.partitioning import Partition, boundaries, linear_order
from intarsia.planning.problem import Problem
from intarsia.search.collage.collage import CollageSearch
from intarsia.target import Target
from tests.conformance.rows.compilers import EXTERNAL, NATIVE, SETTINGS, Compiler, TableMeasurer, fusion_factor
from tests.conformance.rows.programs import Program, read_program
from tests.conformance.rows.row import Row, form
from tests.convexity import is_convex


def _compilers(row: Row) -> dict[Target, Compiler]:
    costs = row.input["op_cost"]
    factor = fusion_factor(row)
    ops = frozenset(name.capitalize() for name in row.input.get("ext_patterns", ()))
    native = Compiler(op_cost=costs["llvm"], fusion_factor=factor, depth=row.input.get("tvm_max_depth", 1))
    external = Compiler(op_cost=costs["ext"], fusion_factor=factor, depth=row.input.get("byoc_max_depth", 1), ops=ops)
    return {NATIVE: native, EXTERNAL: external}


def run_search(row: Row) -> None:
    """The cheapest mix of two compilers, of which one takes only some operators."""
    program = read_program(row.input["program"])
    graph, compilers = program.graph(), _compilers(row)
    found = _cheapest(graph, compilers)
    outside = [list(part.nodes) for part in found if part.target == EXTERNAL]
    inside = [id_ for part in found if part.target == NATIVE for id_ in part.nodes]
    wanted = [[_node(program, name) for name in names] for names in row.expect["external_partitions"]]
    native = [_node(program, name) for name in row.expect.get("native", ())]
    if outside != wanted:
        # Two mixes of equal cost are equally good; which one it is, is a matter of taste.
        assert math.isclose(_total(compilers, outside, inside), _total(compilers, wanted, native))
        return
    assert sorted(inside) == sorted(native)
    if "partition_outputs" in row.expect:
        outputs = {name for part in outside for name in boundaries(graph, part).outputs}
        assert outputs == set(row.expect["partition_outputs"])


def _cheapest(graph: Graph, compilers: Mapping[Target, Compiler]) -> tuple[Partition, ...]:
    """Our search with every node as an atom; a single compiler where no mix is cheaper."""
    order = linear_order(graph)
    measurer = TableMeasurer(graph, compilers)
    wholes = {target: measurer.cost(Partition(target=target, nodes=order), SETTINGS) for target in compilers}
    capabilities = {target: compiler.capability(graph) for target, compiler in compilers.items()}
    problem = Problem(
        graph=graph,
        targets=tuple(compilers),
        capabilities=capabilities,
        settings=SearchSettings(budget_s=math.inf),
        threads=1,
        segments=tuple((id_,) for id_ in order),
    )
    search = CollageSearch(problem, measurer.as_measurer(), capabilities, wholes, unwatched)
    mixes = search.run(NO_END).mixes
    best = min(wholes, key=lambda target: wholes[target].cost_ms)
    if mixes and mixes[0].measured_ms < wholes[best].cost_ms:
        return mixes[0].candidate.partitions
    return (Partition(target=best, nodes=order),)


def _node(program: Program, name: str) -> str:
    """The node of a name; ``r`` is what is returned."""
    known = {id_ for id_, *_ in program.rows}
    return name if name in known else "result"


def _total(compilers: Mapping[Target, Compiler], outside: Iterable[Sequence[str]], inside: Sequence[str]) -> float:
    external = sum(compilers[EXTERNAL].cost(len(part)) for part in outside)
    return external + compilers[NATIVE].cost(len(inside))


def run_set(row: Row) -> None:
    """Whether sets of nodes may be one partition, with limits on what leaves them; the limits may be lists."""
    program = read_program(row.input["program"])
    graph = program.graph()
    inside = row.input["inside"]
    sets = inside if inside and isinstance(inside[0], list) else [inside]
    taps = row.input.get("allow_taps", True)
    accuracy_budgets = taps if isinstance(taps, list) else [taps]
    exits = row.input.get("max_exits", 0)
    found = [
        _may_be_one(graph, [_node(program, name) for name in names], exits, allow_taps=allowed)
        for names in sets
        for allowed in accuracy_budgets
    ]
    valid: Any = row.expect["valid"]
    assert found == (valid if isinstance(valid, list) else [valid])


def _may_be_one(graph: Graph, ids: Sequence[str], exits: int, *, allow_taps: bool) -> bool:
    outputs = boundaries(graph, ids).outputs
    tapped = [name for name in outputs if any(graph.nodes[i].id in ids for i in graph.values[name].consumers)]
    few = not exits or len(outputs) <= exits
    return is_convex(graph, ids) and few and (allow_taps or not tapped)


LIMITS = "ext_patterns tvm_max_depth byoc_max_depth fusion_factor"
FORMS = (
    form(run_search, "program op_cost", LIMITS, areas="collage"),
    form(run_set, "program inside", "max_exits allow_taps max_depth"),
)
