"""The partitioning that is there before anything is measured: the one of a plan file, or the one by priority."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from intarsia.config import SearchSettings, engine_of_plan, target_of
from intarsia.config.precision import Precision
from intarsia.devices import DevicePlan, serves
from intarsia.errors import PlanError
from intarsia.graph import Graph
from intarsia.partitioning import (
    Inside,
    Partition,
    Partitioning,
    PlanFile,
    divide,
    divided_inside,
    with_precision,
)
from intarsia.partitioning.partitioning import Places
from intarsia.planning.engine_set import EngineSet
from intarsia.target import Target


def canonical_plan(plan: PlanFile) -> PlanFile:
    """The plan file with nested configurations as canonical text, however a person wrote them.

    Raises:
        SpecError: One of them is no configuration.
    """
    return replace(plan, partitions=tuple(map(_canonical, plan.partitions)))


def _canonical(part: Partition) -> Partition:
    inside = part.inside
    if inside is not None:
        inside = replace(inside, partitions=tuple(map(_canonical, inside.partitions)))
    return replace(part, target=target_of(engine_of_plan(part.target, ())), inside=inside)


def given_partitioning(
    graph: Graph, engine_set: EngineSet, plan: PlanFile | None, search: SearchSettings, devices: DevicePlan | None
) -> Partitioning:
    """The partitioning of a plan file, else the one by priority; with the inside of nested configurations.

    Raises:
        PlanError: The plan file does not fit the model or its devices.
        NoCoverError: No engine takes some node.
    """
    places = None if devices is None else devices.places
    if plan is not None:
        parts: list[tuple[Target, tuple[str, ...]]] = [(p.target, p.nodes) for p in plan.partitions]
        if devices is not None:
            _check_devices(parts, devices)
        checked = Partitioning.of(graph, parts, places=places)
        return _with_insides(graph, _with_precision(graph, checked, plan), plan, engine_set, places)
    return divide(graph, engine_set.engines, engine_set.capabilities, search.min_nodes, search.min_flops, places=places)


def _with_insides(
    graph: Graph, partitioning: Partitioning, plan: PlanFile, engine_set: EngineSet, places: Places | None
) -> Partitioning:
    """The partitioning with what the plan file says of the inside of partitions; else by their own priority."""
    stated = {(part.target, frozenset(part.nodes)): part.inside for part in plan.partitions}
    nests = engine_set.nests

    def filled(part: Partition) -> Partition:
        nest = nests.get(part.target)
        if nest is None:
            return part
        inside = stated[part.target, frozenset(part.nodes)]
        if inside is not None:
            return replace(part, inside=inside)
        divided = divided_inside(graph, nest, part.nodes, engine_set.capabilities, places=places)
        return replace(part, inside=Inside(partitions=divided))

    return Partitioning(partitions=tuple(map(filled, partitioning.partitions)))


def _with_precision(graph: Graph, partitioning: Partitioning, plan: PlanFile) -> Partitioning:
    """The partitioning in its runnable order, with the precisions that the plan file states."""
    stated = [partition.precision for partition in plan.partitions if partition.precision is not None]
    if not stated:
        return partitioning
    schemes = dict(pair for precision in stated for pair in precision.schemes)
    ranges = dict(pair for precision in stated for pair in precision.ranges)
    means = dict(pair for precision in stated for pair in precision.means)
    return with_precision(graph, partitioning, Precision.of(schemes, ranges, means))


def _check_devices(parts: Iterable[tuple[Target, tuple[str, ...]]], devices: DevicePlan) -> None:
    for number, (target, ids) in enumerate(parts, start=1):
        wrong = next((id_ for id_ in ids if id_ in devices.nodes and not serves(target, devices.nodes[id_])), None)
        if wrong is not None:
            raise PlanError(
                f"partition {number} ({target}) holds {wrong!r}, which is planned on {str(devices.nodes[wrong])!r} "
                f"({devices.reasons[wrong]}), and its target does not serve that device; give it another"
            )
