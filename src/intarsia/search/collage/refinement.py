"""From coarse to fine: which cells of the line are worth cutting into smaller ones."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import pairwise

MAX_SPLITS = 4
"""Cells that are split at one time."""
WORTH_SPLITTING = 0.005
"""A cell is left whole if splitting it promises less than this share of the best plan."""
NEAR_SWITCH = 0.05
"""Beside a switch the border may stand at the wrong place: worth this share of the cell's cost to look."""


def finer(
    stops: Sequence[int],
    levels: Sequence[Collection[int]],
    atoms: int,
    share_ms: Callable[[int, int], Sequence[float]],
    switches: Collection[int],
    best_ms: float,
) -> tuple[int, ...]:
    """The stops with those added that part the cells of most promise; the same stops if none has any.

    A cell's promise is what its atoms would save if each were on the engine that is fastest on it, instead of all on
    the one that is fastest on the cell.

    Args:
        stops: Atoms at which cells begin now.
        levels: Atoms at which cells may begin, from coarse to fine.
        atoms: How many there are.
        share_ms: What a run of atoms costs on each engine.
        switches: Atoms at which one engine hands over to another in the best plans so far.
        best_ms: What the best plan takes.
    """
    cells = [(start, end) for start, end in pairwise((*stops, atoms)) if end - start > 1]
    promising = {cell: _promise(cell, share_ms, switches) for cell in cells}
    wanted = [cell for cell in cells if promising[cell] >= WORTH_SPLITTING * best_ms]
    wanted.sort(key=lambda cell: (-promising[cell], cell))
    added = [stop for cell in wanted[:MAX_SPLITS] for stop in _split(cell, levels)]
    return tuple(sorted({*stops, *added}))


def _promise(
    cell: tuple[int, int], share_ms: Callable[[int, int], Sequence[float]], switches: Collection[int]
) -> float:
    start, end = cell
    whole = min(share_ms(start, end))
    parts = sum(min(share_ms(atom, atom + 1)) for atom in range(start, end))
    beside = NEAR_SWITCH * whole if start in switches or end in switches else 0.0
    return max(whole - parts, 0.0) + beside


def _split(cell: tuple[int, int], levels: Sequence[Collection[int]]) -> list[int]:
    """The stops of the first level that has some inside the cell."""
    inside = ([stop for stop in level if cell[0] < stop < cell[1]] for level in levels)
    return next((found for found in inside if found), [])
