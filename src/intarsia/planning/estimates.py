"""What a plan for a machine that is not here would take at least, in sentences for its file and for the error."""

from __future__ import annotations

from collections.abc import Iterator

from intarsia.cost.roofline import LABEL, estimate
from intarsia.graph import Graph
from intarsia.partitioning import Partitioning

_FIGURES = "peak-flops and memory-bandwidth"


def estimates(graph: Graph, partitioning: Partitioning) -> Iterator[str]:
    """One sentence for each partition, and one for all; nothing where no target states figures."""
    found = [(part.target, estimate(graph, part.nodes, part.target)) for part in partitioning.partitions]
    known = [each for _, each in found if each is not None]
    if not known:
        return
    for number, (target, each) in enumerate(found, start=1):
        device = target.base or target
        if each is None:
            yield f"partition {number}: no estimate, as '{device}' does not state {_FIGURES}"
        else:
            yield f"partition {number}: at least {each}, {each.by_bytes:.0%} of it bound by memory"
    if len(known) == len(found) > 1:
        together = sum(each.ms for each in known)
        yield f"together: at least {together:.3g} ms, {LABEL}; copies between devices are not counted"
