"""A shortest path through layers, each in one of its kernels, where a change of layout between two has its price.

Pure: it knows no engine and no clock.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelCost:
    """A layer in one of its kernels.

    Attributes:
        ms: What it takes.
        layout: How the values lie that it reads and writes.
    """

    ms: float
    layout: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelPath:
    """A kernel for each layer in running order, what all take, and how often the layout changes between two."""

    kernels: tuple[str, ...]
    ms: float
    changes: int


def cheapest_kernels(layers: Sequence[Mapping[str, KernelCost]], change_ms: float) -> KernelPath:
    """The kernels that take least together. Of equals, those win that a layer names first.

    Args:
        layers: In running order, each with its kernels by name; none is empty.
        change_ms: What it takes to reorder values between two layers whose layouts differ.
    """
    # By layout of the last layer: the cost, the number of changes, and the kernels so far.
    best: dict[str, tuple[float, int, tuple[str, ...]]] = {}
    for place, layer in enumerate(layers):
        here: dict[str, tuple[float, int, tuple[str, ...]]] = {}
        for name, cost in layer.items():
            before = [
                (ms + (change_ms if layout != cost.layout else 0.0), changes + (layout != cost.layout), kernels)
                for layout, (ms, changes, kernels) in best.items()
            ] or [(0.0, 0, ())] * (place == 0)
            ms, changes, kernels = min(before, key=lambda each: each[:2])
            known = here.get(cost.layout)
            if known is None or (ms + cost.ms, changes) < known[:2]:
                here[cost.layout] = (ms + cost.ms, changes, (*kernels, name))
        best = here
    ms, changes, kernels = min(best.values(), key=lambda each: each[:2], default=(0.0, 0, ()))
    return KernelPath(kernels=kernels, ms=ms, changes=changes)
