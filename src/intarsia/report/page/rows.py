"""The rows of a drawn graph: who stands in which row, in what order, and how far to the right.

The partitions come in running order, each in rows of its own; within one, a node stands below what it reads (Sugiyama,
Tagawa and Toda, 1981: rows, then orders by barycentres). No step recurses: models are thousands of nodes deep.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

NODE_WIDTH = 132
NODE_GAP = 18
LANE_WIDTH = 14
"""What a line takes that passes a row, with its gap."""
LONGEST_LANE = 12
"""Rows that an edge may pass between nodes; a longer one runs beside them."""
MOST_IN_ROW = 12
"""Nodes; what would be wider is spread over several rows."""
_ORDER_SWEEPS = 6
_PLACE_SWEEPS = 8

Edge = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Nodes and passing lines, row by row from the top.

    Attributes:
        row_of: The row of each node.
        rows: The items of each row from left to right: a node by its index, a passing line by a number from the count
            of nodes on.
        x: The centre of each item.
        lanes: The passing lines of each edge that has some, from its start to its end.
    """

    row_of: tuple[int, ...]
    rows: tuple[tuple[int, ...], ...]
    x: tuple[float, ...]
    lanes: dict[Edge, tuple[int, ...]]


def arrange(count: int, edges: Sequence[Edge], parts: Sequence[Sequence[int]]) -> Rows:
    """Put nodes ``0 .. count - 1``, which are in topological order, in rows.

    ``edges`` are pairs of who writes and who reads, each once; each node is in one of ``parts``, in running order.
    """
    row_of = _rows_of(count, edges, parts)
    lanes: dict[Edge, tuple[int, ...]] = {}
    rows: list[list[int]] = [[] for _ in range(max(row_of, default=-1) + 1)]
    for node in range(count):
        rows[row_of[node]].append(node)
    items = count
    above: dict[int, list[int]] = defaultdict(list)
    for start, end in edges:
        span = row_of[end] - row_of[start]
        if span - 1 > LONGEST_LANE:
            continue
        lane = tuple(range(items, items + span - 1))
        items += len(lane)
        if lane:
            lanes[start, end] = lane
        for offset, item in enumerate(lane, start=1):
            rows[row_of[start] + offset].append(item)
        for upper, lower in zip((start, *lane), (*lane, end), strict=True):
            above[lower].append(upper)
    below: dict[int, list[int]] = defaultdict(list)
    for lower, uppers in above.items():
        for upper in uppers:
            below[upper].append(lower)
    _order(rows, above, below)
    return Rows(
        row_of=tuple(row_of),
        rows=tuple(map(tuple, rows)),
        x=tuple(_places(rows, items, count, above, below)),
        lanes=lanes,
    )


def _rows_of(count: int, edges: Sequence[Edge], parts: Sequence[Sequence[int]]) -> list[int]:
    reads: list[list[int]] = [[] for _ in range(count)]
    readers: list[list[int]] = [[] for _ in range(count)]
    for start, end in edges:
        reads[end].append(start)
        readers[start].append(end)
    part_of = [0] * count
    for number, part in enumerate(parts):
        for node in part:
            part_of[node] = number
    row_of = [0] * count
    first = 0
    for number, part in enumerate(parts):
        depth: dict[int, int] = {}
        for node in sorted(part):
            own = [depth[start] for start in reads[node] if part_of[start] == number and start in depth]
            depth[node] = max(own, default=-1) + 1
        for node in sorted(part, reverse=True):  # what reads nothing here stands right above what reads it
            mine = [depth[end] for end in readers[node] if part_of[end] == number and end in depth]
            if mine and not any(part_of[start] == number for start in reads[node]):
                depth[node] = min(mine) - 1
        first = _spread(depth, first, row_of)
    return row_of


def _spread(depth: dict[int, int], first: int, row_of: list[int]) -> int:
    """Give each depth a row, or several where it holds too much; the first row that is free then."""
    by_depth: dict[int, list[int]] = defaultdict(list)
    for node, own in depth.items():
        by_depth[own].append(node)
    for own in sorted(by_depth):
        nodes = by_depth[own]
        for start in range(0, len(nodes), MOST_IN_ROW):
            for node in nodes[start : start + MOST_IN_ROW]:
                row_of[node] = first
            first += 1
    return first


def _order(rows: list[list[int]], above: dict[int, list[int]], below: dict[int, list[int]]) -> None:
    """Sort each row by the mean place of what each item is tied to, in sweeps down and up."""
    place: dict[int, float] = {item: float(number) for row in rows for number, item in enumerate(row)}
    for sweep in range(_ORDER_SWEEPS):
        neighbours, order = (above, rows) if sweep % 2 == 0 else (below, rows[::-1])
        for row in order:
            wanted = {item: _mean([place[tied] for tied in neighbours.get(item, ())], place[item]) for item in row}
            row.sort(key=wanted.__getitem__)
            for number, item in enumerate(row):
                place[item] = number - (len(row) - 1) / 2


def _places(
    rows: list[list[int]], items: int, count: int, above: dict[int, list[int]], below: dict[int, list[int]]
) -> list[float]:
    """The centre of each item: as near to what it is tied to as the order and the widths of its row allow."""
    x = [0.0] * items
    offsets = [_offsets(row, count) for row in rows]
    for row, offset in zip(rows, offsets, strict=True):
        for item, at in zip(row, offset, strict=True):
            x[item] = at - offset[-1] / 2
    numbers = range(len(rows))
    for sweep in range(_PLACE_SWEEPS):
        neighbours, order = (above, numbers) if sweep % 2 == 0 else (below, reversed(numbers))
        for number in order:
            row, offset = rows[number], offsets[number]
            aims = [_pull(item, neighbours.get(item, ()), x, count) - at for item, at in zip(row, offset, strict=True)]
            # A line that starts here gives way, or each would push the chain beside it a little further.
            weights = [1.0 if item < count else 0.005 for item in row]
            for item, at, aim in zip(row, offset, _ascending(aims, weights), strict=True):
                x[item] = aim + at
    return x


def _offsets(row: Sequence[int], count: int) -> list[float]:
    """How far right of the first item of a row each stands at least."""
    halves = [(NODE_WIDTH + NODE_GAP if item < count else LANE_WIDTH) / 2 for item in row]
    offsets = [0.0]
    for left, right in pairwise(halves):
        offsets.append(offsets[-1] + left + right)
    return offsets


def _ascending(aims: Sequence[float], weights: Sequence[float]) -> Iterator[float]:
    """The ascending numbers nearest to the aims by least squares: pool adjacent violators (Ayer et al., 1955)."""
    pools: list[tuple[float, float, int]] = []  # mean, weight, count
    for aim, weight in zip(aims, weights, strict=True):
        mean, heavy, many = aim, weight, 1
        while pools and pools[-1][0] > mean:
            before, its, more = pools.pop()
            mean = (before * its + mean * heavy) / (its + heavy)
            heavy += its
            many += more
        pools.append((mean, heavy, many))
    for mean, _, many in pools:
        yield from (mean for _ in range(many))


def _pull(item: int, neighbours: Sequence[int], x: Sequence[float], count: int) -> float:
    """Where its neighbours pull an item: nodes below nodes, lines below lines, or a skip would push a chain aside."""
    alike = [x[tied] for tied in neighbours if (tied < count) == (item < count)]
    return _mean(alike or [x[tied] for tied in neighbours], x[item])


def _mean(numbers: Sequence[float], otherwise: float) -> float:
    return sum(numbers) / len(numbers) if numbers else otherwise
