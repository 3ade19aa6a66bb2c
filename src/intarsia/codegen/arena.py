"""Gives every value between two calls an address in one arena, so that no two that are alive at one time overlap.

The exception is what works in place, see `Overlap`. Finding the smallest arena is NP-hard. For few values it is found
all the same (`arena_exact`); for many, the best of several orders of placing is improved by small changes until it
reaches the lower bound or its tries are used up. The same module always gets the same addresses.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import reduce

from intarsia.codegen.copying import drifting, gathered, with_copies, with_moves
from intarsia.codegen.memory.arena_exact import FEW, exact
from intarsia.codegen.memory.liveness import Key, Liveness
from intarsia.codegen.memory.order import good_orders
from intarsia.codegen.memory.placing import climb, height, in_order, orders
from intarsia.codegen.module import SourceModule

TRIES = 4000
"""Small changes of an order of placing that are tried in vain."""
STARTS = 3
"""Orders of placing that are improved."""
STEPS = 20_000
"""Addresses that the exact search tries at most in a compile."""
MOST_SINGLE = 12
"""Concatenations up to which each is also undone alone, and buffers up to which each is also moved or not alone."""
WORTH = 0.02
"""The share of an arena that moving a value has to save, since it costs instructions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arena:
    """Where everything lies.

    Attributes:
        size: Bytes.
        offsets: By name of a buffer of the module.
        scratch: By number of a call that has memory of its own.
        alignment: Of the arena and of each offset in it, in bytes.
        floor: Bytes that no arena can do without for these calls in this order.
    """

    size: int
    offsets: Mapping[str, int]
    scratch: Mapping[int, int]
    alignment: int
    floor: int = 0

    @property
    def places(self) -> dict[Key, int]:
        """Offsets of buffers and of scratch memory."""
        found: dict[Key, int] = dict(self.offsets.items())
        return found | dict(self.scratch.items())


def plan(module: SourceModule, alignment: int = 16, only: Collection[Key] | None = None, tries: int = TRIES) -> Arena:
    """Addresses of the values and the scratch memory of a module, its calls in the order in which they stand.

    Args:
        module: The calls and the values between.
        alignment: Of each address, in bytes.
        only: The items that lie in this arena; all if left out.
        tries: Small changes of an order of placing that are tried in vain.
    """
    live = Liveness(module)
    items = [item for item in live.items if only is None or item.key in only]
    conflicts, alive = live.conflicts, live.alive()
    floor = live.lower_bound(only)
    known = sorted(
        (height(items, placed), place, placed)
        for place, placed in enumerate(in_order(order, conflicts, alignment) for order in orders(items, alive))
    )
    size, _, best = known[0]
    if size > floor and len(items) <= FEW:
        best, _ = exact(items, conflicts, alignment, floor, best, STEPS)
        size = height(items, best)
    else:
        ways = list(orders(items, alive))
        for _, place, _ in known[:STARTS]:
            if size > floor:
                found, placed = climb(ways[place], conflicts, alignment, floor, _tries(tries, len(items)), seed=place)
                size, best = min((size, best), (found, placed), key=lambda each: each[0])
    return Arena(
        size=size,
        offsets={key: offset for key, offset in best.items() if isinstance(key, str)},
        scratch={key: offset for key, offset in best.items() if isinstance(key, int)},
        alignment=alignment,
        floor=floor,
    )


def laid_out(module: SourceModule, alignment: int = 16, tries: int = TRIES) -> tuple[SourceModule, Arena]:
    """The module with its calls in the order that needs least, and where all lies.

    Concatenations whose parts lie inside of them are undone where that needs fewer bytes: all of them, or one. Values
    that drift are moved back where that saves some percent, as few of them as do.
    """
    roots = gathered(module)
    ways = [module, *(with_copies(module, root) for root in roots if 1 < len(roots) <= MOST_SINGLE)]
    if roots:
        ways.insert(1, reduce(with_copies, roots, module))
    best: tuple[SourceModule, Arena] | None = None
    for way in ways:
        for ordered in good_orders(way):
            if best is None or Liveness(ordered).lower_bound() < best[1].size:
                arena = plan(ordered, alignment, tries=tries)
                best = (ordered, arena) if best is None or arena.size < best[1].size else best
    assert best is not None, "there is an order"
    return _with_moves(*best, alignment, tries)


def _with_moves(module: SourceModule, arena: Arena, alignment: int, tries: int) -> tuple[SourceModule, Arena]:
    """The same, with as few values moved as make it smaller by so much that it is worth it; often none."""
    names = drifting(module)
    if not names or len(names) > MOST_SINGLE or arena.size <= (1 + WORTH) * arena.floor:
        return module, arena
    best = with_moves(module, names)
    found = plan(best, alignment, tries=tries)
    if found.size > (1 - WORTH) * arena.size:
        return module, arena
    for name in names:
        fewer = tuple(each for each in names if each != name)
        tried = with_moves(module, fewer)
        planned = plan(tried, alignment, tries=tries)
        if planned.size <= found.size:
            best, found, names = tried, planned, fewer
    return best, found


def _tries(tries: int, items: int) -> int:
    """Fewer where each takes longer."""
    return min(tries, tries * 150 // max(1, items))
