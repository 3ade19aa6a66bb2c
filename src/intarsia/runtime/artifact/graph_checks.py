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
        yield from _unlike(plan, graph)


def _unlike(plan: Plan, graph: Graph) -> Iterator[Fault]:
    """Where the borders of a plan are not those that its partitions have in the graph."""
    found = plan_of(graph, plan.partitions, plan.settings)
    steps = enumerate(zip(plan.steps, found.steps, strict=True))
    for at, stored, true in [("", plan, found), *((f"steps[{number}].", *pair) for number, pair in steps)]:
        for side in ("inputs", "outputs"):
            if getattr(stored, side) != getattr(true, side):
                yield f"{at}{side}", "the graph has others there"
