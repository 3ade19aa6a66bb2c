"""The smallest arena by HiGHS, as a mixed-integer program: shares nothing with the search of our own but its input."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp  # type: ignore[import-untyped]

from intarsia.codegen.memory.liveness import Item
from intarsia.codegen.memory.placing import Conflicts


def smallest(items: Sequence[Item], conflicts: Conflicts, alignment: int, enough: int) -> int | None:
    """Bytes of the smallest arena.

    The unknowns are each address as a multiple of the alignment, the height, and for each barred interval of a distance
    whether the distance lies below it or above.

    Args:
        items: What gets an address.
        conflicts: As `Liveness.conflicts`.
        alignment: Of each address, in bytes.
        enough: Bytes that suffice.

    Returns:
        Bytes; ``None`` if the solver did not end within its minute.
    """
    if not items:
        return 0
    places = {item.key: place for place, item in enumerate(items)}
    bars = [
        (places[one], places[other], low, high)
        for one, rows in conflicts.items()
        for other, intervals in rows.items()
        for low, high in intervals
        if one in places and other in places and places[one] < places[other]
    ]
    count = len(items) + 1 + len(bars)
    top, wide = len(items), 2 * (enough + alignment)
    rows, most = [], []
    for item, place in places.items():
        row = np.zeros(count)
        row[place], row[top] = alignment, -1
        rows.append(row)
        most.append(-next(each.size for each in items if each.key == item))
    for number, (one, other, low, high) in enumerate(bars):
        below, above = np.zeros(count), np.zeros(count)
        below[[other, one, top + 1 + number]] = alignment, -alignment, -wide
        above[[other, one, top + 1 + number]] = -alignment, alignment, wide
        rows += [below, above]
        most += [low, wide - high]
    upper = np.ones(count)
    upper[:top], upper[top] = enough // alignment, enough
    goal = np.zeros(count)
    goal[top] = 1
    whole = np.ones(count)
    whole[top] = 0
    found = milp(
        goal,
        constraints=LinearConstraint(np.array(rows), ub=np.array(most)),
        integrality=whole,
        bounds=Bounds(np.zeros(count), upper),
        options={"time_limit": 60.0, "mip_rel_gap": 0.0},
    )
    return round(found.fun) if found.status == 0 else None
