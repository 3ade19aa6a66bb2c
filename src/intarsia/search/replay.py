"""What a search found, kept with the records: the same question gets the same answer, and nothing is measured for it.

A search that its time ended would otherwise go further each time it is repeated on the pieces already measured. One
with a larger budget is another question, and starts from those pieces.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from intarsia.config.settings import RunSettings, Spin
from intarsia.cost.measure import run_facts
from intarsia.cost.record import Key
from intarsia.partition import Partition
from intarsia.search.collage import CollageResult, Mix
from intarsia.search.problem import Candidate, Problem
from intarsia.target import Target


def search_key(problem: Problem, targets: Sequence[Target], settings: RunSettings) -> Key:
    """Everything the outcome of a search depends on beside the costs themselves."""
    place = {node.id: node.index for node in problem.graph.nodes}
    return Key(
        facts={
            "search": 1,
            "graph": problem.graph.fingerprint,
            "atoms": [[place[node] for node in atom] for atom in problem.atoms],
            "targets": [target.key for target in targets],
            "budget_s": problem.settings.budget_s,
            "seed": problem.settings.seed,
            **_device_facts(problem),
            **run_facts({target.kind.name for target in targets}, settings),
        }
    )


def _device_facts(problem: Problem) -> Mapping[str, Any]:
    places = problem.places
    return {} if places is None else {"places": [str(places[node.id]) for node in problem.graph.nodes]}


def to_json(problem: Problem, result: CollageResult) -> dict[str, Any]:
    """A result as a JSON object that names nodes by position, as an equal graph may call them differently."""
    place = {node.id: node.index for node in problem.graph.nodes}
    return {
        "atoms": result.atoms,
        "rounds": result.rounds,
        "is_finished": result.is_finished,
        "mixes": [
            {
                "name": mix.candidate.name,
                "pieces": [[str(p.target), [place[node] for node in p.nodes]] for p in mix.candidate.partitions],
                "spin": mix.candidate.settings.spin.value,
                "predicted_ms": mix.candidate.predicted_ms,
                "measured_ms": mix.measured_ms,
            }
            for mix in result.mixes
        ],
    }


def from_json(problem: Problem, data: Mapping[str, Any]) -> CollageResult:
    """The result that `to_json` wrote."""
    return CollageResult(
        mixes=tuple(_mix(problem, mix) for mix in data["mixes"]),
        atoms=data["atoms"],
        rounds=data["rounds"],
        is_finished=data["is_finished"],
    )


def _mix(problem: Problem, data: Mapping[str, Any]) -> Mix:
    nodes = problem.graph.nodes
    candidate = Candidate(
        name=data["name"],
        label=data["name"],
        partitions=tuple(
            Partition(target=Target(target), nodes=tuple(nodes[place].id for place in places))
            for target, places in data["pieces"]
        ),
        settings=RunSettings(threads=problem.threads, spin=Spin(data["spin"])),
        predicted_ms=tuple(data["predicted_ms"]),
    )
    return Mix(candidate=candidate, measured_ms=data["measured_ms"])
