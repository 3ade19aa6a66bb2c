"""Control flow that the executor ``vm`` runs step by step: by which plans its bodies run, and who takes its nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final, TypeAlias

from intarsia.config import CompilationConfig
from intarsia.errors import PlanError
from intarsia.graph import Graph
from intarsia.graph.bodies import bodies_of, holds_bodies
from intarsia.graph.graph import PLANS_KEY
from intarsia.partitioning import BodyPlan, Partitioning, PlanFile, bodies_by_node, parse_bodies
from intarsia.planning.availability import is_native
from intarsia.target import Target
from intarsia.target.kinds.catalogue import CONTROL_FLOW

BodyPlanner: TypeAlias = Callable[[Graph, CompilationConfig], Mapping[str, str]]
"""Finds plans for the bodies of a graph's nodes: by a node's id the text of `bodies_text`."""
RUNS_BODIES: Final = Target(CONTROL_FLOW)
"""The target of nodes whose bodies have plans."""
_VM = "vm"


def runs_bodies(config: CompilationConfig) -> bool:
    """Whether the configuration's executor runs control flow step by step."""
    return config.executor.kind.name == _VM and not is_native(config)


def whole_bodies(config: CompilationConfig, graph: Graph) -> Iterator[str]:
    """That the executor ``vm`` is stated, and that the runtime leaves control flow to an engine all the same."""
    found = [node.id for node in graph.nodes if holds_bodies(node)]
    if found and config.executor.kind.name == _VM and is_native(config):
        yield (
            f"the executor {_VM}: no effect on the bodies of {', '.join(found)}, as the runtime "
            f"{config.runtime.kind.name} leaves each to one engine"
        )


def planned_bodies(
    graph: Graph, config: CompilationConfig, plan: PlanFile | None, find: BodyPlanner | None
) -> Mapping[str, str]:
    """By which plans the bodies of nodes run, by id: those of the plan file, else what is found.

    Raises:
        PlanError: The plan file does not cover the bodies of a node.
    """
    if not runs_bodies(config):
        return {}
    if plan is not None:
        stated = bodies_by_node(body for part in plan.partitions for body in part.bodies)
        for node, text in stated.items():
            _check_bodies(graph, node, parse_bodies(text))
        return stated
    return {} if find is None else find(graph, config)


def split_at_bodies(graph: Graph, several: Iterable[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    """The segments, with nodes whose bodies have plans in segments of their own."""

    def own(id_: str) -> str | None:
        return id_ if PLANS_KEY in graph.node(id_).metadata else None

    return tuple(tuple(run) for segment in several for _, run in groupby(segment, key=own))


def _check_bodies(graph: Graph, node: str, plans: Sequence[BodyPlan]) -> None:
    """Raise a `PlanError` unless there is a plan for each body of a node, which covers its nodes."""
    bodies = bodies_of(graph, graph.node(node))
    if sorted(plan.body for plan in plans) != sorted(bodies):
        raise PlanError(f"the bodies of {node!r} are {', '.join(bodies)}; the plan needs one entry for each")
    for plan in plans:
        inner = bodies[plan.body].graph
        Partitioning.of(inner, [(part.target, part.nodes) for part in plan.partitions])
        for inner_node, text in bodies_by_node(body for part in plan.partitions for body in part.bodies).items():
            _check_bodies(inner, inner_node, parse_bodies(text))
