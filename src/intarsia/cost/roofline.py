"""Costs for a target that is not here, from a roofline of its figures. They are estimates, and never mixed with times.

How to call it: ``roofline_of(target)`` is ``None`` where the target, or the device that it generates code for, does not
state both ``peak-flops`` and ``memory-bandwidth``; ``estimate(graph, nodes, target)`` says the same of nodes, as
milliseconds with `LABEL` in their text. Nothing is assumed in place of a figure that is not stated.

The model is that of S. Williams, A. Waterman and D. Patterson, "Roofline: An Insightful Visual Performance Model for
Multicore Architectures", CACM 52 (2009): what a node takes is bounded by its operations or by the bytes it moves,
whichever takes longer at the device's peak. So the time of a real engine is longer; how much longer is not known.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from intarsia.graph import Graph
from intarsia.graph.sizes import estimated
from intarsia.graph.work import bytes_moved, flops
from intarsia.target import Target

LABEL = "estimated (roofline)"
"""What stands with every figure of this kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Roofline:
    """What a device does at its best.

    Attributes:
        peak_flops: Operations in fp32 in a second.
        memory_bandwidth: Bytes in a second.
    """

    peak_flops: int
    memory_bandwidth: int

    def ms(self, operations: float, moved_bytes: float) -> float:
        """The least milliseconds that so many operations and bytes take."""
        return 1e3 * max(operations / self.peak_flops, moved_bytes / self.memory_bandwidth)


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """The least milliseconds that nodes take on a device, one after the other.

    Attributes:
        ms: Every value is read and written; an engine that fuses nodes moves less.
        by_bytes: Share of it in which the memory is the bound.
    """

    ms: float
    by_bytes: float

    def __str__(self) -> str:
        return f"{self.ms:.3g} ms, {LABEL}"


def roofline_of(target: Target) -> Roofline | None:
    """The roofline of what a target states; ``None`` where it does not state both figures."""
    device = target.base or target
    peak, bandwidth = device.options.get("peak-flops"), device.options.get("memory-bandwidth")
    if peak is None or bandwidth is None:
        return None
    return Roofline(peak_flops=int(peak), memory_bandwidth=int(bandwidth))


def estimate(graph: Graph, nodes: Iterable[str], target: Target) -> Estimate | None:
    """The estimate for some nodes of a graph, by their ids; ``None`` where the target states no figures for it.

    Sizes that are open count as they are measured at, and what is not known counts nothing.
    """
    roofline = roofline_of(target)
    if roofline is None:
        return None
    sized = estimated(graph)
    total = bound_by_bytes = 0.0
    for node in map(sized.node, nodes):
        operations, moved = flops(sized, node), bytes_moved(sized, node)
        ms = roofline.ms(operations, moved)
        total += ms
        bound_by_bytes += ms if roofline.ms(0, moved) >= roofline.ms(operations, 0) else 0.0
    return Estimate(ms=total, by_bytes=bound_by_bytes / total if total else 0.0)
