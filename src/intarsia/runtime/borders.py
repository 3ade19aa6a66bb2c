"""The borders of a plan's steps, as they are in the graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from intarsia.backends.contract import Signature
from intarsia.config.settings import RunSettings
from intarsia.graph import Graph, Value, extract
from intarsia.graph.bodies import bodies_of
from intarsia.graph.graph import PLANS_KEY
from intarsia.partitioning import Inside, Partition, parse_bodies
from intarsia.runtime.plan import Plan, Step, StepBody
from intarsia.target.kinds.catalogue import CONTROL_FLOW


def plan_of(graph: Graph, partitions: Iterable[Partition], settings: RunSettings) -> Plan:
    """Work out the borders of partitions that are already in a runnable order."""
    steps = [_step(graph, partition, settings) for partition in partitions]
    made = {value.name for step in steps for value in step.outputs}
    covered = {node for step in steps for node in step.nodes}
    if len(covered) == len(graph.nodes):
        inputs = tuple(signature(graph.values[name]) for name in graph.inputs)
        outputs = tuple(signature(graph.values[name]) for name in graph.outputs)
    else:
        inputs = _unique(value for step in steps for value in step.inputs if value.name not in made)
        outputs = _unique(value for step in steps for value in step.outputs if _leaves(graph, value.name, covered))
    return Plan(steps=tuple(steps), settings=settings, inputs=inputs, outputs=outputs)


def _step(graph: Graph, partition: Partition, settings: RunSettings) -> Step:
    extracted = extract(graph, partition.nodes)
    step = Step(
        target=partition.target,
        nodes=tuple(node.id for node in extracted.nodes),
        inputs=tuple(map(signature, extracted.inputs)),
        outputs=tuple(map(signature, extracted.outputs)),
        precision=partition.precision,
        bodies=tuple(_bodies(graph, partition, settings)),
    )
    inside = partition.inside
    return step if inside is None else replace(step, inside=_inside(graph, inside, step, settings))


def _inside(graph: Graph, inside: Inside, step: Step, settings: RunSettings) -> Plan:
    """The plan of a nested configuration, which obeys what the plan around it does, on threads of its own."""
    threads = settings.threads if inside.threads is None else min(inside.threads, settings.threads)
    own = replace(
        settings, threads=threads, embed=False, parallel=inside.parallel, pipeline=inside.pipeline, instances=1
    )
    # Of a nest that runs the whole graph, which may have inputs that nothing reads, the step knows the borders.
    return replace(plan_of(graph, inside.partitions, own), inputs=step.inputs, outputs=step.outputs)


def _bodies(graph: Graph, partition: Partition, settings: RunSettings) -> Iterator[StepBody]:
    """The bodies of what is control flow run step by step; their plans are stated, or said by its nodes."""
    if partition.target.kind.name != CONTROL_FLOW:
        return
    for node in map(graph.node, partition.nodes):
        stated = tuple(each for each in partition.bodies if each.node == node.id)
        for plan in stated or parse_bodies(node.metadata.get(PLANS_KEY, "[]")):
            own = replace(settings, embed=plan.embed, parallel=plan.parallel, pipeline=None, instances=1)
            body = bodies_of(graph, node)[plan.body]
            yield StepBody(node=node.id, name=plan.body, plan=plan_of(body.graph, plan.partitions, own))


def signature(value: Value) -> Signature:
    """A graph value as engines see it at their border."""
    return Signature(name=value.name, dtype=value.dtype or "unknown", shape=value.shape)


def _leaves(graph: Graph, name: str, covered: set[str]) -> bool:
    value = graph.values[name]
    return value.is_output or any(graph.nodes[index].id not in covered for index in value.consumers)


def _unique(values: Iterable[Signature]) -> tuple[Signature, ...]:
    return tuple({value.name: value for value in values}.values())
