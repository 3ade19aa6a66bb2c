"""From coarse to fine: which regions of the line are worth cutting into smaller ones."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import pairwise

from intarsia.search.thresholds import COLLAGE


def finer(
    stops: Sequence[int],
    levels: Sequence[Collection[int]],
    segments: int,
    share_ms: Callable[[int, int], Sequence[float]],
    transitions: Collection[int],
    best_ms: float,
) -> tuple[int, ...]:
    """The stops with those added that part the regions of most promise; the same stops if none has any.

    A region's promise is what its segments would save if each were on the engine that is fastest on it, instead of all
    on the one that is fastest on the region.

    Args:
        stops: Segments at which regions begin now.
        levels: Segments at which regions may begin, from coarse to fine.
        share_ms: What a run of segments costs on each engine.
        transitions: Segments at which one engine hands over to another in the best plans so far.
    """
    regions = [(start, end) for start, end in pairwise((*stops, segments)) if end - start > 1]
    promising = {region: _promise(region, share_ms, transitions) for region in regions}
    wanted = [region for region in regions if promising[region] >= COLLAGE.worth_splitting * best_ms]
    wanted.sort(key=lambda region: (-promising[region], region))
    added = [stop for region in wanted[: COLLAGE.splits] for stop in _split(region, levels)]
    return tuple(sorted({*stops, *added}))


def _promise(
    region: tuple[int, int], share_ms: Callable[[int, int], Sequence[float]], transitions: Collection[int]
) -> float:
    start, end = region
    whole = min(share_ms(start, end))
    parts = sum(min(share_ms(segment, segment + 1)) for segment in range(start, end))
    beside = COLLAGE.near_transition * whole if start in transitions or end in transitions else 0.0
    return max(whole - parts, 0.0) + beside


def _split(region: tuple[int, int], levels: Sequence[Collection[int]]) -> list[int]:
    """The stops of the first level that has some inside the region."""
    inside = ([stop for stop in level if region[0] < stop < region[1]] for level in levels)
    return next((found for found in inside if found), [])
