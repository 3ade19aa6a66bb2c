"""A cover of the graph by partitions in a runnable order, validated as a whole when it is made."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from intarsia.errors import PlanError
from intarsia.partitioning.groups import fused_groups, may_cross
from intarsia.partitioning.quotient import (
    Contraction,
    edges,
    join,
    members,
    renumber,
    strong_components,
)
from intarsia.spec.problems import nearest
from intarsia.target.reduced_precision import reduced_type, rounded_type
from intarsia.topological_order import runnable_order
from intarsia.wording import counted

if TYPE_CHECKING:
    from intarsia.config.precision import Precision
    from intarsia.config.settings import Pipeline
    from intarsia.graph import Graph
    from intarsia.partitioning.groups import CrossingOk
    from intarsia.target import Target

T = TypeVar("T")
Places: TypeAlias = Mapping[str, Hashable]
"""Where each node runs, by id."""

SHOWN = 5
"""How many names a message lists before it only counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inside:
    """How a nested configuration runs a partition.

    Attributes:
        partitions: Its nodes among the engines of the configuration, in running order.
        threads: Threads that compute at one time in it; ``None`` for those of the plan around it.
        parallel: Whether those that do not depend on each other run at one time.
        pipeline: How a stream of requests is driven through it; ``None`` for one request after the other.
    """

    partitions: tuple[Partition, ...]
    threads: int | None = None
    parallel: bool = False
    pipeline: Pipeline | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """Nodes that one engine runs in one call.

    Attributes:
        target: The engine.
        nodes: Ids in the order of the graph.
        precision: Which nodes compute in reduced precision; ``None`` where none does.
        inside: How they run, where the engine is a nested configuration; ``None`` too while nobody decided that.
        bodies: How the bodies of its nodes run, where that is planned too; a search leaves it to the graph.
    """

    target: Target
    nodes: tuple[str, ...]
    precision: Precision | None = None
    inside: Inside | None = None

    @property
    def leaves(self) -> tuple[Partition, ...]:
        """What runs it at last: those inside, at any depth, in running order; itself where nothing is inside."""
        if self.inside is None:
            return (self,)
        return tuple(leaf for part in self.inside.partitions for leaf in part.leaves)

    @property
    def targets(self) -> tuple[Target, ...]:
        """Its target, and those of all that is inside it, at any depth."""
        inner = () if self.inside is None else self.inside.partitions
        several = (*inner, *(part for body in self.bodies for part in body.partitions))
        return (self.target, *(target for part in several for target in part.targets))

    bodies: tuple[BodyPlan, ...] = ()

    @property
    def precisions(self) -> tuple[str, ...]:
        """The precisions below fp32 in which it computes: that of its engine's options, and those of its nodes."""
        if self.inside is not None:
            return tuple(dict.fromkeys(name for leaf in self.leaves for name in leaf.precisions))
        own = reduced_type(self.target)
        return (*(() if own is None else (own,)), *(() if self.precision is None else self.precision.names))


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyPlan:
    """How one body of a node with control flow runs.

    Attributes:
        node: The node's id.
        body: Name of the attribute that holds the body: ``then_branch``, ``else_branch`` or ``body``.
        partitions: In running order; their nodes are those of the body.
        embed: Whether they run inside one engine's session.
        parallel: Whether those that do not depend on each other run at one time.
    """

    node: str
    body: str
    partitions: tuple[Partition, ...]
    embed: bool = False
    parallel: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Partitioning:
    """Partitions that hold each node of a graph exactly once, each after all that it reads. Made by `of`."""

    partitions: tuple[Partition, ...]

    @classmethod
    def of(
        cls,
        graph: Graph,
        parts: Iterable[tuple[Target, Iterable[str]]],
        *,
        crossing_ok: CrossingOk | None = None,
        places: Places | None = None,
    ) -> Partitioning:
        """Validate the parts against the graph and put them in a runnable order, by first node where free to choose.

        Args:
            graph: The graph.
            parts: Target and node ids of each partition; messages number them from 1.
            crossing_ok: Asked for each crossing value that is no tensor of known rank; without it these may not cross.
            places: Where each node runs; no partition may span two.

        Raises:
            PlanError: A node is missing, unknown or held twice; a partition is empty, or spans two places; partitions
                wait for each other; a quantised group is cut; or a value crosses that may not.
        """
        listed = [(target, tuple(ids)) for target, ids in parts]
        titles = [f"partition {number} ({target})" for number, (target, _) in enumerate(listed, start=1)]
        labels = _cover(graph, listed, titles)
        _check_places(listed, titles, places)
        _check_runnable(graph, labels, titles)
        _check_groups(graph, labels, titles)
        _check_crossings(graph, labels, titles, crossing_ok)
        return _assemble(graph, labels, [target for target, _ in listed])

    def moved(self, ids: Iterable[str], target: Target) -> Partitioning:
        """The same partitions with these nodes in one of their own, on this target; `of` checks and orders the result.

        Partitions that lose all their nodes are dropped.
        """
        taken = dict.fromkeys(ids)
        rest = (
            Partition(target=part.target, nodes=tuple(id_ for id_ in part.nodes if id_ not in taken))
            for part in self.partitions
        )
        kept = (part for part in rest if part.nodes)
        return Partitioning(partitions=(*kept, Partition(target=target, nodes=tuple(taken))))


def with_precision(graph: Graph, partitioning: Partitioning, precision: Precision) -> Partitioning:
    """The partitioning, in which each partition has what concerns its nodes of a precision; the rest stays fp32."""
    parts = []
    for part in partitioning.partitions:
        read = {id_: graph.node(id_).inputs for id_ in part.nodes}
        parts.append(replace(part, precision=precision.within(read, rounds=rounded_type(part.target) is not None)))
    return Partitioning(partitions=tuple(parts))


def merge_adjacent(graph: Graph, partitioning: Partitioning, places: Places | None = None) -> Partitioning:
    """Merge partitions of one target that read each other or run one after the other, if no path leads around.

    Args:
        places: Where each node runs; partitions at two places are not merged.
    """
    kinds: list[tuple[Target, Hashable]] = []
    labels = [0] * len(graph.nodes)
    for label, partition in enumerate(partitioning.partitions):
        kinds.append((partition.target, None if places is None else places[partition.nodes[0]]))
        for id_ in partition.nodes:
            labels[graph.node(id_).index] = label
    while True:
        count = len(kinds)
        labels, kinds = _merged(labels, kinds, _neighbours(graph, labels, kinds))
        labels, kinds = _merged(labels, kinds, _runs(graph, labels, kinds))
        if len(kinds) == count:
            return _assemble(graph, labels, [target for target, _ in kinds])


def _neighbours(graph: Graph, labels: Sequence[int], kinds: Sequence[object]) -> list[int]:
    contraction = Contraction(edges(graph, labels))
    contraction.contract(kinds)
    return contraction.labels()


def _runs(graph: Graph, labels: Sequence[int], kinds: Sequence[object]) -> list[int]:
    order = runnable_order(edges(graph, labels))
    # Nothing stands between two that follow each other in a runnable order, so no path can lead around.
    return join(len(order), (pair for pair in pairwise(order) if kinds[pair[0]] == kinds[pair[1]]))


def _merged(labels: Sequence[int], kinds: Sequence[T], into: Sequence[int]) -> tuple[list[int], list[T]]:
    """Labels by node and kinds by label, numbered by first node, after each part went into another."""
    parts = [into[label] for label in labels]
    numbers = renumber(parts)
    kind_of = {number: kinds[label] for number, label in zip(numbers, labels, strict=True)}
    return numbers, [kind_of[number] for number in range(len(kind_of))]


def _assemble(graph: Graph, labels: Sequence[int], targets: Sequence[Target]) -> Partitioning:
    labels, targets = _merged(labels, targets, range(len(targets)))
    parts = members(labels)
    return Partitioning(
        partitions=tuple(
            Partition(target=targets[part], nodes=tuple(graph.nodes[index].id for index in parts[part]))
            for part in runnable_order(edges(graph, labels))
        )
    )


def _cover(graph: Graph, parts: Sequence[tuple[Target, tuple[str, ...]]], titles: Sequence[str]) -> list[int]:
    """The part of each node."""
    index_of = {node.id: node.index for node in graph.nodes}
    holder: dict[str, str] = {}
    labels = [-1] * len(graph.nodes)
    for number, (title, (_, ids)) in enumerate(zip(titles, parts, strict=True)):
        if not ids:
            raise PlanError(f"{title} holds no node; remove it")
        for id_ in ids:
            if id_ not in index_of:
                hint = nearest(id_, index_of, "remove it")
                raise PlanError(f"{title} holds {id_!r}, which is not a node of the model{hint}")
            if id_ in holder:
                raise PlanError(f"node {id_!r} is in {holder[id_]} and in {title}; leave it in one of them, once")
            holder[id_] = title
            labels[index_of[id_]] = number
    missing = [node.id for node in graph.nodes if labels[node.index] < 0]
    if missing:
        them = counted(len(labels), "node is", "nodes are")
        raise PlanError(f"{len(missing)} of {them} in no partition: {listing(missing)}; add them")
    return labels


def _check_places(
    parts: Sequence[tuple[Target, tuple[str, ...]]], titles: Sequence[str], places: Places | None
) -> None:
    for title, (_, ids) in zip(titles, parts, strict=True):
        other = None if places is None else next((id_ for id_ in ids if places[id_] != places[ids[0]]), None)
        if places is not None and other is not None:
            raise PlanError(
                f"{title} spans two devices: {ids[0]!r} is planned on {places[ids[0]]}, and {other!r} on "
                f"{places[other]}; split it there"
            )


def _check_runnable(graph: Graph, labels: Sequence[int], titles: Sequence[str]) -> None:
    after = edges(graph, labels)
    components = members(strong_components(after))
    cycle = next((set(component) for component in components if len(component) > 1), None)
    if cycle is None:
        return
    first = min(cycle)
    second = min(after[first] & cycle)
    value = _crossing(graph, labels, first, second)
    raise PlanError(
        f"{titles[first]} and {titles[second]} depend on each other: the second reads {value!r} from the first, and "
        "the first needs, directly or through others, a value of the second; move nodes, or split one of them"
    )


def _crossing(graph: Graph, labels: Sequence[int], first: int, second: int) -> str:
    """A value that the first part computes and the second reads."""
    return next(
        value.name
        for value in graph.values.values()
        if value.producer is not None
        and labels[value.producer] == first
        and any(labels[consumer] == second for consumer in value.consumers)
    )


def _check_groups(graph: Graph, labels: Sequence[int], titles: Sequence[str]) -> None:
    for group in fused_groups(graph):
        ids = sorted(group, key=lambda id_: graph.node(id_).index)
        parts = sorted({labels[graph.node(id_).index] for id_ in ids})
        if len(parts) > 1:
            raise PlanError(
                f"{titles[parts[0]]} and {titles[parts[1]]} cut a quantised group; put these nodes into one partition: "
                f"{listing(ids)}"
            )


def _check_crossings(
    graph: Graph, labels: Sequence[int], titles: Sequence[str], crossing_ok: CrossingOk | None
) -> None:
    for value in graph.values.values():
        if value.producer is None or may_cross(value, crossing_ok):
            continue
        source = labels[value.producer]
        other = next((labels[consumer] for consumer in value.consumers if labels[consumer] != source), None)
        if other is not None:
            raise PlanError(
                f"value {value.name!r} would pass from {titles[source]} to {titles[other]}, but it is not a tensor of "
                "known rank; put the nodes that compute it and read it into one partition"
            )


def listing(names: Sequence[str]) -> str:
    """The first few names, and the number of the others."""
    rest = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {rest} more" if rest > 0 else "")
