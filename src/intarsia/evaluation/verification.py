"""Does a finished artifact answer rightly here? It runs in a worker, and the reference judges each of its outputs."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from intarsia.cost.records.store import Store
from intarsia.cost.reference.evaluate import failure_of
from intarsia.cost.reference.reference import leave_open, reference_values
from intarsia.cost.reference.reference_io import (
    link_values,
    record_values,
    recorded_names,
    recorded_tolerances,
    recorded_values,
)
from intarsia.cost.thresholds import PATIENCE
from intarsia.cost.worker.client import WorkerClient, ask_twice
from intarsia.cost.worker.progress import Progress, Watcher, unwatched
from intarsia.cost.worker.protocol import Evaluated, Failed, Open, Opened, Respond
from intarsia.errors import ModelError
from intarsia.evaluation.instructions import runs_emulated
from intarsia.files import scratch
from intarsia.graph import Graph
from intarsia.graph.reference.contrib_ops import unknown_values
from intarsia.graph.reference.reference import evaluate
from intarsia.planning.engine_set import tells
from intarsia.runtime import Artifact, check_feeds
from intarsia.runtime.aot.patience import later_run_s
from intarsia.runtime.environment import worker_environment
from intarsia.runtime.executors.drawn_feeds import graph_feeds
from intarsia.runtime.verify import Deviation, deviations, distances
from intarsia.search.decision.prediction import failure_error

_RUNS = 3
"""How often a worker runs what it opens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One run against the reference."""

    inputs: str
    """What it was fed: a seed, with the sizes of open dimensions, or what was given."""
    outputs: tuple[Deviation, ...]
    """How far each output is off."""
    unchecked: tuple[str, ...]
    """Outputs that nothing could be compared with: texts, and what the reference cannot compute."""
    guilty: str | None
    """The first partition that answers wrongly, and how; ``None`` if none does."""

    @property
    def is_right(self) -> bool:
        """Whether nothing was found to be wrong."""
        return self.guilty is None and all(found.is_acceptable for found in self.outputs)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """Feeds and sizes, before anything ran."""

    inputs: str
    graph: Graph
    seed: int
    feeds: Mapping[str, np.ndarray] | None


def verify_artifact(
    artifact: Artifact,
    records: Store,
    seeds: Sequence[int],
    given: Mapping[str, np.ndarray],
    watch: Watcher = unwatched,
) -> tuple[Check, ...]:
    """Run an artifact, whose bytes opening it has checked, and compare with the reference.

    Args:
        records: Beside it the reference's answers to seeded inputs are kept, since the evaluator is slow.
        seeds: Of inputs at random; each is a run, at each bucket's sizes where dimensions are open.
        given: Inputs that take the place of those at random.

    Raises:
        ArtifactError: It was built for another machine class.
        BackendUnavailableError: An engine it needs is not installed.
        FeedError: A given input is unknown, or of another dtype or shape.
        BackendError: An engine failed.
    """
    artifact.check_machine()
    artifact.changed_engines()
    cases = list(_cases(artifact, seeds, given))
    environment = worker_environment(artifact.manifest.engines, artifact.plan.settings)
    checks = []
    with scratch() as folder, WorkerClient(folder, environment) as worker:
        worker.start()
        for number, case in enumerate(cases):
            watch(Progress(stage="verify", done=number, total=len(cases), note=case.inputs))
            values = _values(artifact, case, records, folder / f"given-{number}")
            link_values(folder, values)
            checks.append(_checked(artifact, case, worker, values, folder / f"results-{number}"))
    return tuple(checks)


def _cases(artifact: Artifact, seeds: Sequence[int], given: Mapping[str, np.ndarray]) -> Iterator[_Case]:
    graph = artifact.graph()
    if set(graph.inputs) <= given.keys():
        yield _Case(inputs="given", graph=graph, seed=0, feeds=_admitted(artifact, given))
        return
    for seed in seeds:
        for sizes in [bucket.sizes for bucket in artifact.buckets] or [{}]:
            at = graph.with_sizes(sizes) if sizes else graph
            feeds = None if not given else _admitted(artifact, {**graph_feeds(at, seed), **given})
            stated = "".join(f", {name}={size}" for name, size in sizes.items())
            yield _Case(inputs=f"{'given and ' if given else ''}seed {seed}{stated}", graph=at, seed=seed, feeds=feeds)


def _admitted(artifact: Artifact, feeds: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
    if not artifact.buckets:
        return check_feeds(artifact.plan.inputs, feeds)
    arrays = artifact.input_spec.checked(feeds)
    artifact.input_spec.bucket(arrays)
    return arrays


def _values(artifact: Artifact, case: _Case, records: Store, folder: Path) -> Path:
    """A folder with the feeds, and with the reference's values as far as it has any."""
    partitions = () if artifact.buckets else artifact.plan.steps
    borders = {value.name for step in partitions for value in step.outputs}
    if case.feeds is None:
        oracles = (step.target for step in artifact.plan.steps if tells(step.target))
        type_oracle = next(oracles, None) if unknown_values(case.graph) else None
        return reference_values(records.folder / "reference", case.graph, borders, case.seed, type_oracle)
    record_values(folder, case.feeds)
    with suppress(ModelError):  # what the reference cannot compute counts as unchecked
        start = time.monotonic()
        record_values(folder, evaluate(case.graph, case.feeds, keep=borders))
        names = {*borders, *case.graph.outputs}
        leave_open(folder, case.graph, case.feeds, names, time.monotonic() - start)
    return folder


def _checked(artifact: Artifact, case: _Case, worker: WorkerClient, values: Path, results: Path) -> Check:
    patience_s = _patience_s(artifact)
    opened = ask_twice(worker, Open(path=str(artifact.path), trust=artifact.trust), patience_s)
    is_wrong = isinstance(opened, Failed) and opened.stage == "verify"
    if not isinstance(opened, Opened) and not is_wrong:
        raise failure_error(artifact.plan.partitions[0], failure_of(opened, "open"))
    answer = worker.ask(Respond(folder=str(results)), patience_s)
    if not isinstance(answer, Evaluated):
        raise failure_error(artifact.plan.partitions[0], failure_of(answer, "respond"))
    names = [value.name for value in artifact.plan.outputs]
    expected = recorded_values(values, set(names) & recorded_names(results))
    found, wanted = recorded_values(results, names), {name: expected[name] for name in names if name in expected}
    allowed = artifact.plan.settings.max_error
    return Check(
        inputs=case.inputs,
        outputs=deviations(found, wanted, recorded_tolerances(values))
        if allowed is None
        else distances(found, wanted, allowed),
        unchecked=tuple(name for name in names if name not in expected),
        guilty=opened.reason if isinstance(opened, Failed) else None,
    )


def _patience_s(artifact: Artifact) -> float:
    """Seconds for an artifact to be opened, which runs it; for each run more where it runs in an emulator."""
    if not runs_emulated(artifact):
        return PATIENCE.artifact_s
    return PATIENCE.artifact_s + _RUNS * later_run_s(artifact.build().artifacts[0].meta)
