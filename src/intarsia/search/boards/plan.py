"""The measured plan of a graph for a board: which engine has which nodes, and what that was found by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from intarsia.backends.c.choose import kernels_for
from intarsia.backends.c.network import ENGINE
from intarsia.backends.c.processor import Processor
from intarsia.codegen.call_counts import UNIT
from intarsia.cost.records.record import Failure
from intarsia.partitioning.groups import computing_first, indivisible
from intarsia.partitioning.partitioning import Partitioning, merge_adjacent
from intarsia.partitioning.quotient import members
from intarsia.search.boards.placement import Choice, Placement, place

if TYPE_CHECKING:
    import numpy as np

    from intarsia.backends.c.site import Site
    from intarsia.backends.lowering.program import Program
    from intarsia.codegen.boards.board import Board
    from intarsia.codegen.module import Kernel
    from intarsia.cost.records.store import Store
    from intarsia.graph import Graph
    from intarsia.search.boards.answers import Answers
    from intarsia.search.boards.candidates import Offer
    from intarsia.target import Target

Offered = Callable[["Target", "Site"], "Sequence[Kernel]"]
"""The kernels that a target's engine has for an instruction, best guess first; none if it has none."""
NOTE = f"{UNIT}, not cycles"
"""What stands beside every figure of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardPlan:
    """What ships to a board, and why.

    Attributes:
        placement: The kernel of each instruction, and what each other one executes.
        partitioning: Which engine has which nodes, by what computes most of each.
        board: Where it was counted.
    """

    placement: Placement
    partitioning: Partitioning
    board: str

    def facts(self) -> dict[str, Any]:
        """The JSON object that stands in the report: the total, each engine alone, and each kernel with the others."""
        engines = dict.fromkeys(of.engine for each in self.placement.choices for of in each.candidates)
        return {
            "unit": UNIT,
            "note": NOTE,
            "board": self.board,
            "total": self.placement.instructions,
            "alone": {engine: self.placement.alone(engine) for engine in engines},
            "measured_stack_bytes": self.placement.stack_bytes,
            "programs_run": self.placement.runs,
            "kernels": [_row(each) for each in self.placement.choices],
        }


def measured_plan(
    graph: Graph,
    program: Program,
    known: Mapping[int, np.ndarray],
    host: Target,
    takes: Mapping[Target, frozenset[str]],
    offered: Offered,
    board: Board,
    feeds: Mapping[str, np.ndarray],
    answers: Answers,
    *,
    limit_bytes: int | None = None,
    library: Path | None = None,
    store: Store | None = None,
    provenance: Mapping[str, Any] | None = None,
) -> BoardPlan:
    """Count the kernels of all engines for each instruction, and give each instruction the one that executes least.

    Args:
        graph: All of it.
        program: The graph as `intarsia.backends.c.network.prepared` left it.
        known: Arrays of the program's leaves that are constants, by place.
        host: The target of the code, whose own C computes what no engine has a kernel for.
        takes: The nodes that each engine may have, the most preferred first. For a plan that is given already, those
            that it has.
        offered: The kernels of an engine.
        board: Where it is counted.
        feeds: Inputs of the graph by name.
        answers: What the reference answers to them.
        limit_bytes: What the values between may take.
        library: The folder of the engines' own sources.
        store: Where counts are kept and looked up.
        provenance: Kept beside each count.

    Raises:
        NoKernelError: There is no C for an instruction.
        BackendUnavailableError: A compiler or the emulator is not installed.
        BackendError: No engine's kernels make a program that runs.
        ConfigError: It does not fit into the board.
        MismatchError: Nothing that they make answers rightly.
        NoCoverError: No kernel of an instruction works.
    """
    found = place(
        program,
        known,
        Processor.of(host),
        {target.kind.name: _within(nodes, offered, target) for target, nodes in takes.items()},
        board,
        feeds,
        answers,
        rest={ENGINE: kernels_for},
        limit_bytes=limit_bytes,
        library=library,
        store=store,
        provenance=provenance,
    )
    choices = tuple(replace(each, nodes=computing_first(graph, each.nodes)) for each in found.choices)
    found = replace(found, choices=choices)
    return BoardPlan(placement=found, partitioning=partitioning_of(graph, choices, takes), board=board.name)


def _within(nodes: frozenset[str], offered: Offered, target: Target) -> Offer:
    """What an engine has for instructions that compute some of these nodes: a fused one is of the nodes behind too."""

    def offer(site: Site) -> Sequence[Kernel]:
        return () if nodes.isdisjoint(site.each.origin) else offered(target, site)

    return offer


def partitioning_of(graph: Graph, choices: Sequence[Choice], takes: Mapping[Target, frozenset[str]]) -> Partitioning:
    """Who has which nodes: of each group that cannot be divided, the engine that executes most of it.

    A group of which nothing is computed, as a reshape, goes to the engine that has its inputs, where that may take it.

    Args:
        graph: All of it.
        choices: What computes each instruction.
        takes: The nodes that each engine may have, the most preferred first.
    """
    executed: dict[str, Counter[str]] = {}
    for each in choices:
        for node in each.nodes:
            executed.setdefault(node, Counter())[each.engine] += each.instructions + 1
    owners: dict[str, Target] = {}
    parts = []
    for group in members(indivisible(graph)):
        nodes = [graph.nodes[index] for index in group]
        ids = tuple(node.id for node in nodes)
        counts: Counter[str] = sum((executed.get(id_, Counter()) for id_ in ids), Counter())
        inputs = [graph.values[name].producer for node in nodes for name in node.reads]
        near = [
            owners[graph.nodes[index].id] for index in inputs if index is not None and graph.nodes[index].id in owners
        ]
        wanted = [target for name, _ in counts.most_common() for target in takes if target.kind.name == name]
        able = [target for target in (*wanted, *near, *takes) if takes[target].issuperset(ids)]
        owner = able[0] if able else list(takes)[-1]
        owners |= dict.fromkeys(ids, owner)
        parts.append((owner, ids))
    return merge_adjacent(graph, Partitioning.of(graph, parts))


def _row(each: Choice) -> dict[str, Any]:
    return {
        "instruction": each.name,
        "nodes": list(each.nodes),
        "engine": each.engine,
        "way": each.candidates[each.chosen].way,
        "instructions": each.instructions,
        "others": [
            {
                "engine": candidate.engine,
                "way": candidate.way,
                "variant": candidate.variant,
                **({"failed": count.reason} if isinstance(count, Failure) else {"instructions": count.count}),
            }
            for number, (candidate, count) in enumerate(zip(each.candidates, each.counts, strict=True))
            if number != each.chosen
        ],
    }
