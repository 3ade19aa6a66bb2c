"""Candidates as finished artifacts: written where their partitions were measured, and opened in fresh processes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from intarsia.backends import registry
from intarsia.cost.keys import inside_facts
from intarsia.cost.measure import Measurer
from intarsia.cost.records.record import Failure
from intarsia.cost.reference.evaluate import failure_of
from intarsia.cost.worker.client import WorkerClient, ask_twice
from intarsia.cost.worker.progress import Progress, Watcher
from intarsia.cost.worker.protocol import Open, Opened
from intarsia.graph import Graph
from intarsia.planning.problem import Candidate
from intarsia.runtime.artifact.trust import OWN
from intarsia.runtime.environment import worker_environment
from intarsia.search.decision.prediction import failure_error


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """An artifact, and the seconds that its engines took to compile it."""

    path: Path
    compile_s: float


class Builder:
    """Writes candidates' artifacts, each once, in the processes that measured: their engines are loaded.

    Nothing is timed here, so a compile that measured nothing does not wait for another one.
    """

    def __init__(self, measurer: Measurer, watch: Watcher, prefix: str = "finalist") -> None:
        self._measurer = measurer
        self._watch = watch
        self._prefix = prefix
        self._built: dict[str, Built | Failure] = {}

    def build(self, candidate: Candidate) -> Built | Failure:
        """The artifact, or why there is none."""
        if candidate.name not in self._built:
            self._watch(Progress(stage="build", done=len(self._built), note=candidate.name))
            with self._measurer.turn():
                self._built[candidate.name] = self._write(candidate)
        return self._built[candidate.name]

    def checked(self, candidate: Candidate) -> Path | None:
        """The artifact, if it was built here for a benchmark, where a fresh process loaded and checked it."""
        built = self._built.get(candidate.name)
        return built.path if isinstance(built, Built) else None

    def written(self, candidate: Candidate) -> Path:
        """The artifact, unopened; a `BackendError` says why it cannot be built."""
        built = self.build(candidate)
        if isinstance(built, Failure):
            raise failure_error(candidate.partitions[0], built)
        return built.path

    def opened(self, candidate: Candidate) -> tuple[Path, Opened]:
        """The artifact, and what a fresh process finds that loads and checks it.

        Raises:
            BackendError, MismatchError: It cannot be built, loaded, run, or answers wrongly.
        """
        engines = {registry.engine_of(leaf.target) for part in candidate.partitions for leaf in part.leaves}
        environment = worker_environment(engines, candidate.settings)
        with self._measurer.turn(), WorkerClient(self._measurer.folder, environment) as worker:
            worker.start()  # while it starts, the artifact is built
            path = self.written(candidate)
            count = candidate.settings.instances
            request = Open(path=str(path), trust=OWN, instances=count if count > 1 else None)
            answer = ask_twice(worker, request, 2 * self._measurer.timeout_s)
        if not isinstance(answer, Opened):
            raise failure_error(candidate.partitions[0], failure_of(answer, "open"))
        return path, answer

    def _write(self, candidate: Candidate) -> Built | Failure:
        path = self._measurer.folder / f"{self._prefix}-{len(self._built)}.intarsia"
        written = self._measurer.write(candidate.partitions, candidate.settings, path)
        return written if isinstance(written, Failure) else Built(path=path, compile_s=written)


def plan_facts(graph: Graph, candidate: Candidate) -> Mapping[str, Any]:
    """What a record of a plan depends on, beside the graph and the machine."""
    place = {node.id: node.index for node in graph.nodes}
    rows: list[list[Any]] = []
    for part in candidate.partitions:
        precision = [] if part.precision is None else [part.precision.facts()]
        inside = [] if part.inside is None else [inside_facts(part.inside, place)]
        rows.append([part.target.key, sorted(place[node] for node in part.nodes), *precision, *inside])
    return {"name": candidate.name, "partitions": rows, "settings": candidate.settings.facts()}
