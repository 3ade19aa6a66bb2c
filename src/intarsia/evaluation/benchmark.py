"""Finished artifacts against each other and against engines at default settings, in a paired benchmark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from intarsia.backends import registry
from intarsia.config import RunSettings, Spin
from intarsia.cost.reference.evaluate import failure_of
from intarsia.cost.reference.reference_io import VALUES, record_values
from intarsia.cost.thresholds import PATIENCE
from intarsia.cost.timing.paired_benchmark import BenchmarkEffort, Contender, paired_benchmark
from intarsia.cost.timing.verdict import Verdict
from intarsia.cost.worker.client import WorkerClient
from intarsia.cost.worker.lock import machine_lock
from intarsia.cost.worker.progress import Progress, Watcher, unwatched
from intarsia.cost.worker.protocol import Workload, Write, Written
from intarsia.errors import ConfigError, NoCoverError
from intarsia.files import scratch
from intarsia.graph import Graph, save_graph
from intarsia.partitioning import Partition
from intarsia.partitioning.capability import refusal_text
from intarsia.runtime import Artifact, plan_of
from intarsia.runtime.artifact.trust import OWN
from intarsia.runtime.environment import worker_environment
from intarsia.runtime.executors.drawn_feeds import graph_feeds
from intarsia.runtime.executors.feeds import describe
from intarsia.search.decision.prediction import failure_error
from intarsia.target import Target

_ROUNDS_SHARE = 0.7
"""Of the budget; the rest goes into starting processes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """What came of a contest, with every figure."""

    baseline: str
    """Name of the one that the others are compared with."""
    names: tuple[str, ...]
    """All, in the order in which they were given."""
    targets: dict[str, str]
    """What each runs on."""
    verdict: Verdict


def benchmark(
    artifacts: Sequence[Artifact],
    against: Sequence[Target] = (),
    budget_s: float = 20.0,
    seed: int = 0,
    watch: Watcher = unwatched,
) -> Benchmark:
    """Time them in turns, in several sets of fresh processes, on the same inputs.

    Args:
        artifacts: Of models that take the same inputs. The first is the baseline, unless there is an engine.
        against: Engines that run the model of the first artifact whole, with as many threads as it has and spinning
            if their threads do; the first of them is the baseline.
        budget_s: Seconds that it should take.
        seed: Of the inputs, and of the order in turns.

    Raises:
        ConfigError: The artifacts take different inputs.
        ArtifactError: One was built for another machine class.
        BackendUnavailableError: An engine is not installed.
        NoCoverError: An engine does not take some node of the model.
        BackendError: An engine failed at building the model.
    """
    _check_inputs(artifacts)
    for artifact in artifacts:
        artifact.check_machine()
        artifact.changed_engines()
    graph = artifacts[0].graph()
    with scratch() as folder, machine_lock(watch):
        save_graph(graph, folder)
        record_values(folder / VALUES, graph_feeds(graph, seed))
        engines = enumerate(dict.fromkeys(against))
        built = [_built(graph, target, artifacts[0], folder, number, watch) for number, target in engines]
        given = [(artifact.path.name, artifact) for artifact in artifacts]
        contenders = [*built, *_named(given, {contender.name for contender in built})]
        verdict = paired_benchmark(folder, contenders, _effort(budget_s, len(contenders)), seed, watch)
    return Benchmark(
        baseline=next(iter(verdict.rounds_ms), contenders[0].name),
        names=tuple(contender.name for contender in contenders),
        targets={each.name: " + ".join(dict.fromkeys(str(s.target) for s in each.plan.steps)) for each in contenders},
        verdict=verdict,
    )


def _effort(budget_s: float, several: int) -> BenchmarkEffort:
    processes = BenchmarkEffort().processes
    return BenchmarkEffort(
        seconds=_ROUNDS_SHARE * budget_s / processes, rounds=max(10, 40 // several), processes=processes
    )


def _check_inputs(artifacts: Sequence[Artifact]) -> None:
    first, *others = artifacts
    for other in others:
        ours, theirs = (sorted(map(describe, each.sample_inputs)) for each in (first, other))
        if ours != theirs:
            raise ConfigError(
                f"{first.path} takes {', '.join(ours)} and {other.path} takes {', '.join(theirs)}: "
                "only plans that take the same inputs can be timed against each other"
            )


def _named(given: Sequence[tuple[str, Artifact]], taken: set[str]) -> Iterator[Contender]:
    """By the file's name; where several are called alike, with a number behind it."""
    for name, artifact in given:
        several = (name if number == 1 else f"{name} ({number})" for number in count(1))
        own = next(each for each in several if each not in taken)
        taken.add(own)
        yield Contender(name=own, path=artifact.path, plan=artifact.plan, trust=artifact.trust)


def _built(graph: Graph, target: Target, artifact: Artifact, folder: Path, number: int, watch: Watcher) -> Contender:
    """The whole model on one engine, as the engine comes."""
    if artifact.buckets:
        raise ConfigError(f"{artifact.path}: its sizes are open, so no engine has one plan for it; leave out --against")
    backend = registry.of(target)
    refused = backend.capability(graph, target).refusals
    if refused:
        reason = refusal_text(refused, len(graph.nodes))
        raise NoCoverError(f"{str(target)!r} does not take the whole model: {reason}")
    watch(Progress(stage="build", note=str(target)))
    spin = Spin.FREE if backend.traits.spins else Spin.CALL
    run = artifact.plan.settings
    settings = RunSettings(threads=run.threads, spin=spin, emulated=run.emulated)
    whole = Partition(target=target, nodes=tuple(node.id for node in graph.nodes))
    path = folder / f"against-{number}.intarsia"
    with WorkerClient(folder, worker_environment([registry.engine_of(target)], settings)) as worker:
        request = Write(workload=Workload.of([whole], settings), path=str(path))
        answer = worker.ask(request, PATIENCE.artifact_s)
    if not isinstance(answer, Written):
        raise failure_error(whole, failure_of(answer, "write"))
    return Contender(name=str(target), path=path, plan=plan_of(graph, [whole], settings), trust=OWN)
