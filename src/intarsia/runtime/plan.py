"""The execution plan: ordered steps, each a sub-graph on one target, and the settings all of them obey."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from intarsia.backends import registry
from intarsia.backends.contract import EngineArtifact, Signature
from intarsia.config.settings import RunSettings

if TYPE_CHECKING:
    from intarsia.config.precision import Precision
    from intarsia.partitioning import Partition
    from intarsia.target import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One partition with its border: the values it reads and the values that leave it."""

    target: Target
    nodes: tuple[str, ...]
    inputs: tuple[Signature, ...]
    outputs: tuple[Signature, ...]
    precision: Precision | None = None

    @property
    def is_reduced(self) -> bool:
        """Whether any of it computes in less than fp32."""
        from intarsia.target.reduced_precision import reduced_type

        return self.precision is not None or reduced_type(self.target) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Steps in running order. It may cover a whole model or a workload of one, which runs by the same code.

    Each step reads graph inputs and what earlier steps wrote.
    """

    steps: tuple[Step, ...]
    settings: RunSettings
    inputs: tuple[Signature, ...]
    outputs: tuple[Signature, ...]

    @property
    def partitions(self) -> tuple[Partition, ...]:
        """The steps as partitions: what a plan file holds."""
        from intarsia.partitioning import Partition

        return tuple(Partition(target=step.target, nodes=step.nodes, precision=step.precision) for step in self.steps)

    @property
    def engines(self) -> tuple[str, ...]:
        """Engines in order of first use."""
        return tuple(dict.fromkeys(registry.engine_of(step.target) for step in self.steps))

    @property
    def transitions(self) -> int:
        """How often one engine hands over to another during one run."""
        return transitions(self.steps)

    @property
    def fingerprint(self) -> str:
        """Stable name of what is run where and how."""
        import hashlib
        import json

        facts = {
            "steps": [
                [str(step.target), step.nodes, *([step.precision.facts()] if step.precision else ())]
                for step in self.steps
            ],
            "settings": self.settings.facts(),
        }
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """A plan with one engine artifact for each of its steps; of an embedding engine's steps the first has all."""

    plan: Plan
    artifacts: tuple[EngineArtifact, ...]
    compile_s: float = 0.0
    """Seconds that compiling the steps took, whenever that was."""


def transitions(partitions: Iterable[Partition | Step]) -> int:
    """How often one engine hands over to another."""
    return sum(a != b for a, b in pairwise(partition.target.kind_name for partition in partitions))
