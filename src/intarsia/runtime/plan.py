"""The execution plan: ordered steps, each a sub-graph on one target, and the settings all of them obey."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from intarsia.backends import registry
from intarsia.backends.contract import Signature
from intarsia.config.precision import Precision
from intarsia.config.settings import RunSettings
from intarsia.graph import Graph, Value, extract
from intarsia.partitioning import Partition
from intarsia.target import Target
from intarsia.target.reduced_precision import reduced_type


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
        return tuple(Partition(target=step.target, nodes=step.nodes, precision=step.precision) for step in self.steps)

    @property
    def engines(self) -> tuple[str, ...]:
        """Engines in order of first use."""
        return tuple(dict.fromkeys(registry.engine_of(step.target) for step in self.steps))

    @property
    def transitions(self) -> int:
        """How often one engine hands over to another during one run."""
        return transitions(self.partitions)

    @property
    def fingerprint(self) -> str:
        """Stable name of what is run where and how."""
        facts = {
            "steps": [
                [str(step.target), step.nodes, *([step.precision.facts()] if step.precision else ())]
                for step in self.steps
            ],
            "settings": self.settings.facts(),
        }
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]


def plan_of(graph: Graph, partitions: Iterable[Partition], settings: RunSettings) -> Plan:
    """Work out the borders of partitions that are already in a runnable order."""
    steps = []
    for partition in partitions:
        extracted = extract(graph, partition.nodes)
        steps.append(
            Step(
                target=partition.target,
                nodes=tuple(node.id for node in extracted.nodes),
                inputs=tuple(map(signature, extracted.inputs)),
                outputs=tuple(map(signature, extracted.outputs)),
                precision=partition.precision,
            )
        )
    made = {value.name for step in steps for value in step.outputs}
    covered = {node for step in steps for node in step.nodes}
    if len(covered) == len(graph.nodes):
        inputs = tuple(signature(graph.values[name]) for name in graph.inputs)
        outputs = tuple(signature(graph.values[name]) for name in graph.outputs)
    else:
        inputs = _unique(value for step in steps for value in step.inputs if value.name not in made)
        outputs = _unique(value for step in steps for value in step.outputs if _leaves(graph, value.name, covered))
    return Plan(steps=tuple(steps), settings=settings, inputs=inputs, outputs=outputs)


def transitions(partitions: Iterable[Partition]) -> int:
    """How often one engine hands over to another."""
    return sum(a != b for a, b in pairwise(partition.target.kind.name for partition in partitions))


def signature(value: Value) -> Signature:
    """A graph value as engines see it at their border."""
    return Signature(name=value.name, dtype=value.dtype or "unknown", shape=value.shape)


def _leaves(graph: Graph, name: str, covered: set[str]) -> bool:
    value = graph.values[name]
    return value.is_output or any(graph.nodes[index].id not in covered for index in value.consumers)


def _unique(values: Iterable[Signature]) -> tuple[Signature, ...]:
    return tuple({value.name: value for value in values}.values())
