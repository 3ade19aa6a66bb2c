"""One model on a mix of engines: drawn at random, run by the product's worker, and taken apart if it disagrees."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.nnsmith.generate import model_of
from benchmarks.nnsmith.steady import reference
from intarsia.backends import registry
from intarsia.config import RunSettings, Spin
from intarsia.cost.reference.reference_io import VALUES, record_values
from intarsia.cost.worker.client import WorkerClient
from intarsia.cost.worker.protocol import Failed, Open, Workload, Write
from intarsia.graph import Graph, extract, load_model, save_graph
from intarsia.partitioning import Capability, Partition, greedy, linear_order
from intarsia.runtime import can_embed, plan_of, thread_budget
from intarsia.runtime.environment import load_environment
from intarsia.runtime.executors.drawn_feeds import graph_feeds
from intarsia.target import Target

PATIENCE_S = 60.0
STAY = 0.5
"""How often a node is given to the engine of the one before it, if that takes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """A plan, or a part of it, that failed or answered wrongly.

    Attributes:
        stage: Where it failed; ``verify`` for a wrong answer.
        reason: What was said.
        culprits: Single operators that fail in the same way alone on their engine, fed by the reference.
        partitions: Parts of the plan that fail alone; empty if only the mix does.
    """

    stage: str
    reason: str
    partitions: tuple[str, ...] = ()
    culprits: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of one model.

    Attributes:
        engines: Of its plan, in order of first use.
        partitions: How many.
        embed: Whether one engine held the others' partitions inside its session.
        compared: Values that were compared with the reference.
        unsteady: Values that could not be, since the reference itself does not hold still there.
        disagreement: What went wrong, if anything did.
    """

    engines: tuple[str, ...]
    partitions: int
    embed: bool
    compared: int
    unsteady: int
    disagreement: Disagreement | None = None


def try_seed(seed: int) -> Outcome | None:
    """Draw the model of a seed and a mix for it, and try them; ``None`` if it cannot be mixed."""
    graph = load_model(model_of(seed).SerializeToString())
    partitions = mixed(graph, random.Random(seed))
    return None if partitions is None else run(graph, partitions, seed)


def mixed(graph: Graph, rng: random.Random) -> tuple[Partition, ...] | None:
    """A random plan on at least two engines; ``None`` where no engine but one, or none, takes part of the model."""
    targets = [Target(name) for name in registry.usable() if name != "reference"]
    capabilities = {target: registry.get(target.kind.name).capability(graph, target) for target in targets}
    givers: dict[str, Target] = {}
    last: Target | None = None
    for id_ in linear_order(graph):
        takers = [target for target in targets if capabilities[target].takes(id_)]
        if not takers:
            return None
        last = last if last in takers and rng.random() < STAY else rng.choice(takers)
        givers[id_] = last
    if len(set(givers.values())) < 2:
        return None
    chosen = {
        target: Capability(refusals={id_: "given to another" for id_, giver in givers.items() if giver != target})
        for target in targets
    }
    return greedy(graph, targets, chosen).partitions


def run(graph: Graph, partitions: Sequence[Partition], seed: int) -> Outcome:
    """Compile the plan, run it once, and compare every steady value that crosses a border or leaves the model."""
    rng = random.Random(seed)
    settings = RunSettings(threads=thread_budget(), spin=Spin.CALL)
    if rng.random() < 0.5 and can_embed(plan_of(graph, partitions, settings)):
        settings = RunSettings(threads=settings.threads, spin=Spin.CALL, embed=True)
    plan = plan_of(graph, partitions, settings)
    feeds = graph_feeds(graph, seed)
    exact, steady = reference(graph, feeds)
    borders = {value.name for step in plan.steps for value in step.outputs}
    failed = _failure(graph, partitions, settings, {**feeds, **{name: exact[name] for name in steady}})
    return Outcome(
        engines=plan.engines,
        partitions=len(partitions),
        embed=settings.embed,
        compared=len(borders & steady),
        unsteady=len(borders - steady),
        disagreement=_taken_apart(graph, partitions, settings, {**feeds, **exact}, failed) if failed else None,
    )


def _failure(
    graph: Graph, partitions: Iterable[Partition], settings: RunSettings, values: Mapping[str, np.ndarray]
) -> Failed | None:
    """Have a worker build and check it, so that a crash is an answer too."""
    partitions = tuple(partitions)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "work"
        save_graph(graph, folder)
        record_values(folder / VALUES, values)
        environment = load_environment({partition.target.kind.name for partition in partitions}, settings)
        artifact = str(folder / "mix.intarsia")
        with WorkerClient(folder, environment) as worker:
            for request in (Write(workload=Workload.of(partitions, settings), path=artifact), Open(path=artifact)):
                answer = worker.ask(request, PATIENCE_S)
                if isinstance(answer, Failed):
                    return answer
    return None


def _taken_apart(
    graph: Graph,
    partitions: Sequence[Partition],
    settings: RunSettings,
    exact: Mapping[str, np.ndarray],
    failed: Failed,
) -> Disagreement:
    """Each partition alone, fed by the reference, and of those that fail each operator alone."""
    alone = RunSettings(threads=settings.threads, spin=settings.spin)
    guilty = [part for part in partitions if _fails_alone(graph, part, alone, exact)]
    singles = [Partition(target=part.target, nodes=(id_,)) for part in guilty for id_ in part.nodes]
    return Disagreement(
        stage=failed.stage,
        reason=failed.reason,
        partitions=tuple(_named(graph, part) for part in guilty),
        culprits=tuple(_named(graph, part) for part in singles if _fails_alone(graph, part, alone, exact)),
    )


def _fails_alone(graph: Graph, part: Partition, settings: RunSettings, exact: Mapping[str, np.ndarray]) -> bool:
    partition = extract(graph, part.nodes)
    feeds = {value.name: exact[value.name] for value in partition.inputs}
    own, steady = reference(partition, feeds)
    return _failure(graph, [part], settings, {**feeds, **{name: own[name] for name in steady}}) is not None


def _named(graph: Graph, part: Partition) -> str:
    return f"{part.target}: {', '.join(f'{graph.node(id_).op_type} {id_}' for id_ in part.nodes)}"


def as_json(outcome: Outcome) -> dict[str, Any]:
    """What is written of it."""
    found = outcome.disagreement
    row: dict[str, Any] = {
        "engines": list(outcome.engines),
        "partitions": outcome.partitions,
        "embed": outcome.embed,
        "compared": outcome.compared,
        "unsteady": outcome.unsteady,
    }
    if found is not None:
        row["disagreement"] = {
            "stage": found.stage,
            "reason": found.reason,
            "partitions": list(found.partitions),
            "culprits": list(found.culprits),
        }
    return row
