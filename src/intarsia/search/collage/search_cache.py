"""What a search found, kept with the records: the same question gets the same answer, and nothing is measured for it.

A search that its time ended would otherwise go further each time it is repeated on the partitions already measured. One
with a larger budget is another question, and starts from those partitions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import inf, isfinite
from types import MappingProxyType
from typing import Any

from intarsia.backends import registry
from intarsia.config.settings import RunSettings, Spin
from intarsia.cost.keys import judging_facts, run_facts
from intarsia.cost.records.recall import Entry
from intarsia.cost.records.record import Key
from intarsia.graph import Graph, Node
from intarsia.graph.fingerprint import fingerprint_of
from intarsia.partitioning import Partition, Partitioning
from intarsia.planning.problem import Candidate, Problem
from intarsia.search.collage.collage import CollageResult, Mix
from intarsia.search.collage.edge_costs import Known
from intarsia.target import Target

_PLAIN = ("segments", "rounds", "is_finished", "candidates", "is_complete")
"""Fields of a result that are stored as they are."""


def search_key(problem: Problem, targets: Sequence[Target], settings: RunSettings) -> Key:
    """Everything the outcome of a search depends on beside the costs themselves."""
    place, places = {node.id: node.index for node in problem.graph.nodes}, problem.places
    return Key(
        facts={
            "search": 7,
            "graph": fingerprint_of(problem.graph),
            "segments": [[place[node] for node in segment] for segment in problem.segments],
            "targets": [target.key for target in targets],
            "budget_s": problem.settings.budget_s,
            "seed": problem.settings.seed,
            "prune": problem.settings.prune,
            **({} if places is None else {"places": [str(places[node.id]) for node in problem.graph.nodes]}),
            **judging_facts(problem.graph),
            **run_facts(targets, settings),
        }
    )


def search_entry(problem: Problem, targets: Sequence[Target], settings: RunSettings) -> Entry[CollageResult]:
    """Where the outcome of a search is kept; one that is read says so."""
    return Entry(
        kind="search",
        key=search_key(problem, targets, settings),
        read=lambda stored: replace(from_json(problem, stored), is_replayed=True),
        write=partial(to_json, problem),
    )


def to_json(problem: Problem, result: CollageResult) -> dict[str, Any]:
    """A result as a JSON object that names nodes by position, as an equal graph may call them differently."""
    place = {node.id: node.index for node in problem.graph.nodes}
    return {
        **{name: getattr(result, name) for name in _PLAIN},
        "shares": {str(target): list(map(_finite, ms)) for target, ms in result.shares.items()},
        "known": [
            [k.start, k.end, str(k.target), None if k.after is None else str(k.after), _finite(k.ms)]
            for k in result.known
        ],
        "mixes": [
            {
                "name": mix.candidate.name,
                "partitions": [[str(p.target), [place[node] for node in p.nodes]] for p in mix.candidate.partitions],
                "spin": mix.candidate.settings.spin.value,
                "embed": mix.candidate.settings.embed,
                "parallel": mix.candidate.settings.parallel,
                "predicted_ms": mix.candidate.predicted_ms,
                "measured_ms": mix.measured_ms,
            }
            for mix in result.mixes
        ],
    }


def from_json(problem: Problem, data: Mapping[str, Any]) -> CollageResult:
    """The result that `to_json` wrote.

    Raises:
        ValueError, IntarsiaError: It is of another problem, whoever wrote it.
    """
    result = CollageResult(
        mixes=tuple(_mix(problem, mix) for mix in data["mixes"]),
        **{name: data[name] for name in _PLAIN if name in data},
        known=tuple(map(_known, data["known"])),
        shares=MappingProxyType(
            {Target(text): tuple(inf if each is None else each for each in ms) for text, ms in data["shares"].items()}
        ),
    )
    if result.segments != len(problem.segments) or not all(fits(problem, mix.candidate) for mix in result.mixes):
        raise ValueError("it does not fit the model")
    return result


def fits(problem: Problem, plan: Candidate) -> bool:
    """Whether a plan from a record is one of this problem: on its engines, with each node once, in a runnable order."""
    engines = set(map(registry.engine_of, problem.targets))
    if any(registry.engine_of(part.target) not in engines for part in plan.partitions):
        return False
    parts = [(part.target, part.nodes) for part in plan.partitions]
    Partitioning.of(problem.graph, parts, crossing_ok=lambda *_: True, places=problem.places)
    return _is_in_order(problem.graph, plan.partitions)


def _is_in_order(graph: Graph, partitions: Sequence[Partition]) -> bool:
    """Whether each partition reads only what it makes itself, or what was made before."""
    done: set[int] = set()
    for partition in partitions:
        nodes = [graph.node(id_) for id_ in partition.nodes]
        done |= {node.index for node in nodes}
        makers = {graph.values[name].producer for node in nodes for name in node.reads}
        if not makers - {None} <= done:
            return False
    return True


def _known(row: Sequence[Any]) -> Known:
    start, end, target, behind, ms = row
    after = None if behind is None else Target(behind)
    return Known(start=start, end=end, target=Target(target), after=after, ms=inf if ms is None else ms)


def _finite(ms: float) -> float | None:
    """JSON knows no infinity."""
    return ms if isfinite(ms) else None


def _mix(problem: Problem, data: Mapping[str, Any]) -> Mix:
    nodes = problem.graph.nodes
    candidate = Candidate(
        name=data["name"],
        label=data["name"],
        partitions=tuple(
            Partition(target=Target(target), nodes=tuple(_node(nodes, place) for place in places))
            for target, places in data["partitions"]
        ),
        settings=replace(problem.run(Spin(data["spin"])), embed=data["embed"], parallel=data["parallel"]),
        predicted_ms=tuple(data["predicted_ms"]),
    )
    return Mix(candidate=candidate, measured_ms=data["measured_ms"])


def _node(nodes: Sequence[Node], place: int) -> str:
    if place >= len(nodes):
        raise ValueError("a node that the model does not have")
    return nodes[place].id
