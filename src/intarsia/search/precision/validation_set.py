"""Calibration inputs, the validation set, and the error of a plan's outputs on that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from intarsia.cost.measure import Measurer
from intarsia.cost.records.record import Failure
from intarsia.cost.reference.evaluate import Answers
from intarsia.files import replacing
from intarsia.graph import Graph
from intarsia.planning.problem import Candidate
from intarsia.runtime.executors.drawn_feeds import graph_feeds, varied_feeds
from intarsia.runtime.verify import distance
from intarsia.search.thresholds import PRECISION

CALIBRATION_SEED, VALIDATION_SEED, RANGES_SEED = 10_000, 20_000, 30_000


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
        return self.holds and self.excess <= 1.0

    @property
    def excess(self) -> float:
        """The error of the worst output by the largest with which there is room."""
        return max(self.worst.values()) / (PRECISION.seen * self.max_error)

    def miss(self, label: str) -> str:
        """How the plan of that label misses the error, in a sentence."""
        if not self.inputs:
            return f"there was no time to see the error of {label} on validation inputs; --budget gives more"
        error = max(self.worst.values())
        room = f", and {1 - PRECISION.seen:.0%} of it is kept for inputs that were not tried" if self.holds else ""
        return f"{label} has an error of {error:.3g} on validation inputs; {self.max_error:g} is allowed{room}"


class Samples:
    """Inputs in files: some to learn ranges from, others to decide by, and others again to check with."""

    def __init__(self, graph: Graph, folder: Path, seed: int) -> None:
        self._graph = graph
        self._folder = folder / "samples"
        self._seed = seed

    @property
    def ranges(self) -> tuple[Path, ...]:
        """What tells the ranges of values. Errors on these inputs would be too small: nothing is cut off in them."""
        return tuple(self._drawn(RANGES_SEED + number) for number in range(PRECISION.ranges))

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


class Validation:
    """Judges plans by inputs that decided nothing, against a plan in fp32, which answers each of them once."""

    def __init__(self, measurer: Measurer, samples: Samples, exact: Candidate) -> None:
        self._measurer = measurer
        self._samples = samples
        self._exact = exact
        self._right: Sequence[Answers] = ()

    def has_right(self, count: int) -> bool:
        """Whether the plan in fp32 has answered so many."""
        return len(self._right) >= count

    def measured(self, plan: Candidate, max_error: float, count: int = PRECISION.validation) -> Accuracy | Failure:
        """The error of a plan on the first so many of them."""
        found = self._answers(plan, count)
        if isinstance(found, Failure):
            return found
        if not self.has_right(count):
            right = self._answers(self._exact, count)
            if isinstance(right, Failure):
                return right
            self._right = right
        pairs = zip(found, self._right[:count], strict=True)
        errors = [[distance(y, r) for y, r in zip(ys, rs, strict=True)] for ys, rs in pairs]
        columns = dict(zip(self._measurer.graph.outputs, zip(*errors, strict=True), strict=True))
        return Accuracy(
            max_error=max_error,
            inputs=len(errors),
            worst={name: max(column) for name, column in columns.items()},
            mean={name: sum(column) / len(column) for name, column in columns.items()},
        )

    def _answers(self, plan: Candidate, count: int) -> Sequence[Answers] | Failure:
        return self._measurer.answers(plan.partitions, plan.settings, self._samples.validation(count))
