"""The units of which convex partitions are made: nodes of a small graph; of a large one the regions of the search, cut
where an engine's largest possible regions begin and end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from intarsia.errors import NoCoverError
from intarsia.graph import Graph
from intarsia.partitioning import Capability, Partitioning, cuts, greedy, linear_order
from intarsia.partitioning.groups import indivisible
from intarsia.partitioning.quotient import edges, members
from intarsia.planning.problem import Problem
from intarsia.target import Target
from intarsia.topological_order import runnable_order

Units = tuple[tuple[str, ...], ...]
GROUP_NODES = 32
"""In a graph with more nodes than so many a group, groups are not looked for."""


def divisions(problem: Problem, capabilities: Mapping[Target, Capability]) -> list[Partitioning]:
    """What greedy makes of the graph in the order of the targets, and with each other target before the rest.

    Only those with several engines: one that takes the whole model or none of it makes none.
    """
    found: list[Partitioning] = []
    for first, capability in capabilities.items():
        if not 0 < len(capability.refusals) < len(problem.graph.nodes):
            continue
        order = [first, *(target for target in capabilities if target != first)]
        limits = (problem.settings.min_nodes, problem.settings.min_flops)
        try:
            division = greedy(problem.graph, order, capabilities, *limits, places=problem.places)
        except NoCoverError:
            continue
        if len({partition.target for partition in division.partitions}) > 1 and division not in found:
            found.append(division)
    return found


def single_nodes(graph: Graph, most: int) -> Units | None:
    """Each group of nodes that must stay whole, in an order of the graph; ``None`` if there are more than ``most``."""
    if len(graph.nodes) > most * GROUP_NODES:
        return None
    groups = members(indivisible(graph))
    if len(groups) > most:
        return None
    line = linear_order(graph)
    place = {id_: number for number, id_ in enumerate(line)}
    several = [sorted((graph.nodes[index].id for index in group), key=place.__getitem__) for group in groups]
    several.sort(key=lambda ids: place[ids[0]])
    return tuple(tuple(several[unit]) for unit in runnable_order(readers(graph, several)))


def cut_units(
    graph: Graph, regions: Sequence[Sequence[str]], several: Sequence[Partitioning], most: int
) -> tuple[Units, list[Partitioning]]:
    """The regions, cut where branches begin and end, and at the borders of these partitionings.

    What would leave more than ``most`` units is not cut. A row of regions without branches is only cut at borders.

    Returns:
        The units, and the partitionings all of whose partitions are unions of them.
    """
    units = [tuple(region) for region in regions]
    kept: list[Partitioning] = []
    if not several and _is_row(graph, units):
        return tuple(units), kept
    allowed = {cut.position for cut in cuts(graph)}
    finer = list(_cut(units, _branch_ends(graph, units), allowed))
    if len(finer) <= most:
        units = finer
    for division in several:
        label = {id_: number for number, part in enumerate(division.partitions) for id_ in part.nodes}
        ends = {one for one, other in pairwise(id_ for unit in units for id_ in unit) if label[one] != label[other]}
        finer = list(_cut(units, ends, allowed))
        if len(finer) <= most and all(len({label[id_] for id_ in unit}) == 1 for unit in finer):
            units = finer
            kept.append(division)
    return tuple(units), kept


def readers(graph: Graph, units: Sequence[Sequence[str]]) -> list[set[int]]:
    """For each unit, the units that read its values."""
    of = {id_: number for number, unit in enumerate(units) for id_ in unit}
    return edges(graph, [of[node.id] for node in graph.nodes])


def order_of(division: Partitioning, units: Units) -> list[int]:
    """The units in the order in which a partitioning runs them."""
    step = {id_: number for number, part in enumerate(division.partitions) for id_ in part.nodes}
    return sorted(range(len(units)), key=lambda unit: (step[units[unit][0]], unit))


def _is_row(graph: Graph, units: Sequence[Sequence[str]]) -> bool:
    """Whether each unit reads the one before it, so that there is one order only."""
    return all(unit + 1 in after for unit, after in enumerate(readers(graph, units)[:-1]))


def _branch_ends(graph: Graph, units: Sequence[tuple[str, ...]]) -> set[str]:
    """The nodes inside a unit whose values go elsewhere too, and those before a node that reads from elsewhere too."""
    ends = set()
    for unit in units:
        inside = {graph.node(id_).index for id_ in unit}
        for one, other in pairwise(unit):
            behind = {reader for name in graph.node(one).outputs if name for reader in graph.values[name].consumers}
            before = {graph.values[name].producer for name in graph.node(other).reads} - {None}
            if not behind <= inside or not before <= inside:
                ends.add(one)
    return ends


def _cut(units: Sequence[tuple[str, ...]], ends: set[str], allowed: set[int]) -> Iterator[tuple[str, ...]]:
    """The units, each cut behind these nodes where a cut is allowed."""
    position = 0
    for unit in units:
        start = 0
        for end, id_ in enumerate(unit[:-1], start=1):
            if id_ in ends and position + end in allowed:
                yield unit[start:end]
                start = end
        yield unit[start:]
        position += len(unit)
