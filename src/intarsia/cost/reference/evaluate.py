"""What plans and graphs answer to sets of inputs, from a worker: for accuracy, nothing is timed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np

from intarsia.backends import registry
from intarsia.backends.contract.failures import Cause
from intarsia.config.settings import RunSettings
from intarsia.cost.records.record import Failure
from intarsia.cost.worker.client import WorkerClient, ask_twice
from intarsia.cost.worker.protocol import Answer, Evaluate, Evaluated, Failed, Workload
from intarsia.files import Scratch, scratch
from intarsia.graph import Graph, save_graph
from intarsia.partitioning import Partition
from intarsia.runtime.environment import load_environment
from intarsia.target import Target
from intarsia.target.cores import thread_budget

Answers = tuple[np.ndarray, ...]
"""The outputs of one run, in order."""


def answers(
    worker: WorkerClient,
    workload: Workload | None,
    inputs: Sequence[Path],
    folder: Path,
    patience_s: float,
    more: Mapping[str, Sequence[float]] | None = None,
) -> Sequence[Answers] | Failure:
    """Have a worker run a workload, or the artifact that it opened, on each ``.npz`` file of inputs.

    Args:
        workload: What to run; ``None`` for the artifact.
        folder: Where answers lie in between.
        patience_s: How long a run may take, beside as long once for building.
        more: Further inputs, the same in all runs.
    """
    with scratch(folder) as place:
        outputs = [Path(place, f"{number}.npz") for number in range(len(inputs))]
        request = Evaluate(
            workload=workload,
            inputs=tuple(map(str, inputs)),
            outputs=tuple(map(str, outputs)),
            more={name: tuple(numbers) for name, numbers in (more or {}).items()},
        )
        answer = ask_twice(worker, request, patience_s * (1 + len(inputs)))
        if not isinstance(answer, Evaluated):
            return failure_of(answer, "evaluate")
        return [_read(path) for path in outputs]


def _read(path: Path) -> Answers:
    with np.load(path) as stored:
        return tuple(stored[f"arr_{number}"] for number in range(len(stored.files)))


def failure_of(answer: Answer, asked: str) -> Failure:
    """Why a worker did not do what it was asked."""
    if isinstance(answer, Failed):
        return Failure(stage=answer.stage, reason=answer.reason, cause=answer.cause)
    return Failure(stage="run", reason=f"the worker answered {answer.verb} to {asked}", cause=Cause.CRASH)


class Oracle(AbstractContextManager["Oracle"]):
    """A whole graph on one target in a process of its own, asked for what it answers.

    Args:
        patience_s: How long a run may take, asked for at each question.
    """

    def __init__(self, graph: Graph, target: Target, folder: Path, patience_s: Callable[[], float]) -> None:
        settings = RunSettings(threads=thread_budget())
        nodes = tuple(node.id for node in graph.nodes)
        self._workload = Workload.of((Partition(target=target, nodes=nodes),), settings)
        self._patience_s = patience_s
        self._folder = Scratch(folder)
        save_graph(graph, Path(self._folder.path, "graph"))
        environment = load_environment([registry.engine_of(target)], settings)
        self._worker = WorkerClient(Path(self._folder.path, "graph"), environment)

    def answers(
        self, inputs: Sequence[Path], more: Mapping[str, Sequence[float]] | None = None
    ) -> Sequence[Answers] | Failure:
        """The graph's outputs for each file of inputs."""
        return answers(self._worker, self._workload, inputs, Path(self._folder.path), self._patience_s(), more)

    def close(self) -> None:
        """End the process."""
        self._worker.close()
        self._folder.close()

    def __exit__(self, *_: object) -> None:
        self.close()
