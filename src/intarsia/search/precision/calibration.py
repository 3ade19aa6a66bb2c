"""What layers read on the calibration inputs: the range of each value, and the mean of each of its channels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from intarsia.backends.contract.failures import CauseError
from intarsia.config.precision import Means, Range
from intarsia.cost.records.record import Failure
from intarsia.cost.reference.evaluate import Answers, Oracle
from intarsia.errors import ExecutionError
from intarsia.graph import Graph
from intarsia.graph.quantise import Layer, described, layers_of, means_text, trimmed
from intarsia.search.thresholds import PRECISION
from intarsia.target import Target

Asked = Callable[[Graph], Sequence[Answers]]
"""What a graph answers to each calibration input."""


def asked(target: Target, folder: Path, inputs: Sequence[Path], patience_s: Callable[[], float]) -> Asked:
    """Asks a target in a process of its own; it raises an `ExecutionError` if that fails.

    ``patience_s`` is how long a run may take when it is asked.
    """

    def answers(graph: Graph) -> Sequence[Answers]:
        with Oracle(graph, target, folder, patience_s) as oracle:
            return told(oracle.answers(inputs))

    return answers


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """By name of the value; ranges are of all that layers read, means of what is multiplied with weights."""

    ranges: Mapping[str, Range]
    means: Mapping[str, Means]

    @classmethod
    def of(cls, graph: Graph, ask: Asked) -> Calibration:
        """What a graph's layers read; an `ExecutionError` if that cannot be learnt."""
        layers = layers_of(graph, graph.nodes)
        if not layers:
            return cls(ranges={}, means={})
        described_graph, outputs = described(graph, layers)
        runs = [dict(zip(described_graph.outputs, run, strict=True)) for run in ask(described_graph)]
        ranges, means = {}, {}
        for name, own in outputs.items():
            low = min(float(run[own.lowest]) for run in runs)
            ranges[name] = (low, max(float(run[own.highest]) for run in runs))
            if own.means:
                mean = np.mean([run[own.means] for run in runs], axis=0)
                if np.isfinite(mean).all():
                    means[name] = means_text(mean)
        return cls(ranges=ranges, means=means)

    def trimmed(self, graph: Graph, layers: Sequence[Layer], ask: Asked) -> dict[str, Range]:
        """For each value that these layers read its range, cut where that loses least."""
        seen = {name: self.ranges[name] for layer in layers for name in layer.reads}
        if not seen:
            return {}
        shares = PRECISION.range_shares
        trimmed_graph, errors = trimmed(graph, seen, shares)
        columns = zip(*([float(value) for value in run] for run in ask(trimmed_graph)), strict=True)
        lost = {name: sum(column) for name, column in zip(trimmed_graph.outputs, columns, strict=True)}
        best = {name: min(range(len(shares)), key=lambda at: lost[ends[at]]) for name, ends in errors.items()}
        return {name: (shares[best[name]] * low, shares[best[name]] * high) for name, (low, high) in seen.items()}


def told(found: Sequence[Answers] | Failure) -> Sequence[Answers]:
    """The answers; an `ExecutionError` where there are none."""
    if isinstance(found, Failure):
        error = ExecutionError("the engine that tells how accurate layers are", found.reason)
        raise error from (CauseError(found.cause) if found.cause.is_transient else None)
    return found
