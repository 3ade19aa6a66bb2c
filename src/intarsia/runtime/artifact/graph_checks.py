"""A manifest held against the graph in its file: what only the graph can tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from intarsia.graph import Graph
from intarsia.json_types import Fault
from intarsia.runtime.artifact.manifest import Manifest
from intarsia.runtime.borders import plan_of
from intarsia.runtime.plan import Plan


def graph_faults(manifest: Manifest, graph: Graph, plans: Sequence[Plan]) -> Iterator[Fault]:
    """Where a manifest does not agree with the graph in its file."""
    for name, weight in manifest.weights.items():
        known = graph.weights.get(name)
        if known is None or (known.dtype, known.shape) != (weight.dtype, weight.shape):
            yield f"weights.{name}", "the graph has no weight of such a name, type and shape"
    ids = {node.id for node in graph.nodes}
    for number, step in enumerate(manifest.steps):
        for place, node in enumerate(step.nodes):
            if node not in ids:
                yield f"steps[{number}].nodes[{place}]", f"the graph has no node {node!r}"
    for plan in plans:
        covered = [node for step in plan.steps for node in step.nodes]
        if len(covered) != len(set(covered)):
            yield "steps", "a node of the graph is in two of them"
        yield from _unlike(plan, plan_of(graph, plan.partitions, plan.settings), "")


def _unlike(plan: Plan, found: Plan, where: str) -> Iterator[Fault]:
    """Where the borders of a plan, and of those inside, are not those that its partitions have in the graph."""
    steps = [
        (f"{where}steps[{number}].", *pair) for number, pair in enumerate(zip(plan.steps, found.steps, strict=True))
    ]
    for at, stored, true in [(where, plan, found), *steps]:
        for side in ("inputs", "outputs"):
            if getattr(stored, side) != getattr(true, side):
                yield f"{at}{side}", "the graph has others there"
    for at, step, true_step in steps:
        if step.inside is not None and true_step.inside is not None:
            yield from _unlike(step.inside, true_step.inside, f"{at}inside.")
        for number, (body, true_body) in enumerate(zip(step.bodies, true_step.bodies, strict=True)):
            yield from _unlike(body.plan, true_body.plan, f"{at}bodies[{number}].plan.")
