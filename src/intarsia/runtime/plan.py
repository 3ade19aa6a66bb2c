"""The execution plan: ordered steps, each a sub-graph on one target, and the settings all of them obey."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from intarsia.backends import registry
from intarsia.backends.contract import EngineArtifact, Signature
from intarsia.config.settings import RunSettings
from intarsia.light_dataclass import dataclass

if TYPE_CHECKING:
    from intarsia.config.precision import Precision
    from intarsia.partitioning import BodyPlan, Partition
    from intarsia.target import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One partition with its border: the values it reads and the values that leave it."""

    target: Target
    nodes: tuple[str, ...]
    inputs: tuple[Signature, ...]
    outputs: tuple[Signature, ...]
    precision: Precision | None = None
    inside: Plan | None = None
    """Of a step on a nested configuration: the plan by which that runs it."""
    bodies: tuple[StepBody, ...] = ()
    """Of a step that is control flow run step by step: the plan of each body."""

    @property
    def is_reduced(self) -> bool:
        """Whether any of it computes in less than fp32."""
        from intarsia.target.reduced_precision import reduced_type

        if self.inside is not None:
            return any(step.is_reduced for step in self.inside.steps)
        return self.precision is not None or reduced_type(self.target) is not None

    @property
    def leaves(self) -> tuple[Step, ...]:
        """The steps inside at any depth, in running order; the step itself where nothing is inside."""
        plans = self.plans
        return tuple(leaf for plan in plans for leaf in plan.leaves) if plans else (self,)

    @property
    def plans(self) -> tuple[Plan, ...]:
        """What runs inside of it: one plan of a nested configuration, or one of each body."""
        return (*([] if self.inside is None else [self.inside]), *(body.plan for body in self.bodies))


@dataclass(frozen=True, slots=True, kw_only=True)
class StepBody:
    """One body of a node with control flow, and the plan by which it runs.

    Attributes:
        node: The node's id in the graph of the step.
        name: Of the attribute that holds the body.
        plan: Its nodes are those of the body. It has the threads of the plan around it, and spins alike.
    """

    node: str
    name: str
    plan: Plan


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
        return tuple(_partition(step, self.settings.threads) for step in self.steps)

    @property
    def leaves(self) -> tuple[Step, ...]:
        """The steps that engines run, those of nested configurations in place of them."""
        return tuple(leaf for step in self.steps for leaf in step.leaves)

    @property
    def has_pipeline(self) -> bool:
        """Whether a stream of requests runs through stages, of this plan or of one inside of a step."""
        inside = (step.inside for step in self.steps)
        return self.settings.pipeline is not None or any(plan is not None and plan.has_pipeline for plan in inside)

    @property
    def engines(self) -> tuple[str, ...]:
        """Engines in order of first use, those of nested configurations too."""
        return tuple(dict.fromkeys(registry.engine_of(step.target) for step in self.leaves))

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
                [
                    str(step.target),
                    step.nodes,
                    *([step.precision.facts()] if step.precision else ()),
                    *([step.inside.fingerprint] if step.inside else ()),
                    *([body.node, body.name, body.plan.fingerprint] for body in step.bodies),
                ]
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


def inner_plan(step: Step, settings: RunSettings) -> Plan:
    """The plan inside of a step that obeys these settings: it has no more threads than its step, and spins alike."""
    assert step.inside is not None, "asked of steps on nested configurations only"
    own = step.inside.settings
    threads = min(own.threads, settings.threads)
    return replace(
        step.inside, settings=replace(settings, threads=threads, parallel=own.parallel, pipeline=None, instances=1)
    )


def _partition(step: Step, threads: int) -> Partition:
    from intarsia.partitioning import Inside, Partition

    partition = Partition(
        target=step.target,
        nodes=step.nodes,
        precision=step.precision,
        bodies=tuple(map(_body_plan, step.bodies)),
    )
    if step.inside is None:
        return partition
    own = step.inside.settings
    inside = Inside(
        partitions=step.inside.partitions,
        threads=None if own.threads == threads else own.threads,
        parallel=own.parallel,
        pipeline=own.pipeline,
    )
    return replace(partition, inside=inside)


def _body_plan(body: StepBody) -> BodyPlan:
    from intarsia.partitioning import BodyPlan

    plan, settings = body.plan, body.plan.settings
    return BodyPlan(
        node=body.node,
        body=body.name,
        partitions=plan.partitions,
        embed=settings.embed,
        parallel=settings.parallel,
    )


def body_plan(body: StepBody, settings: RunSettings) -> Plan:
    """The plan of a body of a step that obeys these settings: it has its threads, and spins alike."""
    own = body.plan.settings
    return replace(
        body.plan, settings=replace(settings, embed=own.embed, parallel=own.parallel, pipeline=None, instances=1)
    )


def transitions(partitions: Iterable[Partition | Step]) -> int:
    """How often one engine hands over to another, inside of nested configurations too."""
    leaves = (leaf.target.kind_name for partition in partitions for leaf in partition.leaves)
    return sum(a != b for a, b in pairwise(leaves))
