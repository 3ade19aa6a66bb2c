"""Calibration inputs, the validation set, and the error of a plan's outputs on that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from intarsia.cost.measure import Measurer
from intarsia.cost.records.record import Failure
from intarsia.files import replacing
from intarsia.graph import Graph
from intarsia.planning.problem import Candidate
from intarsia.runtime.executors.drawn_feeds import graph_feeds, varied_feeds
from intarsia.runtime.verify import distance
from intarsia.search.thresholds import PRECISION

CALIBRATION_SEED, VALIDATION_SEED = 10_000, 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """The error of a plan's outputs on the validation set, as ‖y-r‖₂ / ‖r‖₂ against the plan in fp32.

    Attributes:
        max_error: What was allowed.
        worst: For each output the largest.
        mean: For each output the mean.
    """

    max_error: float
    inputs: int
    worst: Mapping[str, float]
    mean: Mapping[str, float]

    @property
    def holds(self) -> bool:
        """Whether no output had a larger error than allowed on any input; not if there was no time for any input."""
        return self.inputs > 0 and all(error <= self.max_error for error in self.worst.values())

    @property
    def has_room(self) -> bool:
        """Whether it holds, with room for inputs that nobody tried."""
        return self.holds and max(self.worst.values()) <= PRECISION.seen * self.max_error


class Samples:
    """Inputs in files: some to decide by, others to check with."""

    def __init__(self, graph: Graph, folder: Path, seed: int) -> None:
        self._graph = graph
        self._folder = folder / "samples"
        self._seed = seed

    @property
    def calibration(self) -> tuple[Path, ...]:
        """What decides; the first are the inputs that plans are timed and verified with."""
        more = (self._drawn(CALIBRATION_SEED + number) for number in range(PRECISION.calibration - 1))
        return (self._written("timed", graph_feeds(self._graph, self._seed)), *more)

    def validation(self, count: int = PRECISION.validation) -> tuple[Path, ...]:
        """What checks."""
        return tuple(self._drawn(VALIDATION_SEED + number) for number in range(count))

    def _drawn(self, number: int) -> Path:
        return self._written(str(number), varied_feeds(self._graph, self._seed + number))

    def _written(self, name: str, feeds: Mapping[str, np.ndarray]) -> Path:
        path = self._folder / f"{name}.npz"
        path.parent.mkdir(exist_ok=True)
        if not path.exists():
            with replacing(path, lasts=False) as draft, draft.open("wb") as file:
                np.savez(file, **feeds)  # type: ignore[arg-type]
        return path


def measured(
    measurer: Measurer,
    samples: Samples,
    plan: Candidate,
    exact: Candidate,
    max_error: float,
    count: int = PRECISION.validation,
) -> Accuracy | Failure:
    """The error of a plan on so many inputs that decided nothing, against a plan in fp32."""
    several = []
    for each in (plan, exact):
        answers = measurer.answers(each.partitions, each.settings, samples.validation(count))
        if isinstance(answers, Failure):
            return answers
        several.append(answers)
    errors = [[distance(y, r) for y, r in zip(ys, rs, strict=True)] for ys, rs in zip(*several, strict=True)]
    columns = dict(zip(measurer.graph.outputs, zip(*errors, strict=True), strict=True))
    return Accuracy(
        max_error=max_error,
        inputs=len(errors),
        worst={name: max(column) for name, column in columns.items()},
        mean={name: sum(column) / len(column) for name, column in columns.items()},
    )
