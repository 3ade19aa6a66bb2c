"""Folds the rows of a graph into columns, as a text is set, and leads its edges through them.

A network is a ribbon, often a hundred times as tall as wide: folded, it fills a screen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from math import log

from intarsia.report.page.rows import NODE_WIDTH, Edge, Rows

NODE_HEIGHT = 36
ROW_HEIGHT = 54
PART_GAP = 70
"""Above the first row of a part in a column: room for its title."""
PADDING = 14
"""Of a part around its nodes."""
TITLE_TOP = 24.0
"""Where the title of the first part starts."""
GUTTER = 66
"""Between columns; edges run there."""
ASPECTS = (0.7, 1.4, 2.4)
"""Width by height that the columns may come to: for a phone, a screen and a broad one; the page takes what fits."""
MOST_COLUMNS = 48
_WINDOW = 0.2
"""How far a column may end before the limit, as a share of it, to end where fewer edges cross."""
_LANES, _LANE = 8, 4
"""Lines side by side in a gutter, and from one to the next."""

Point = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A part's area in one column."""

    part: int
    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """Where everything is; y grows downwards.

    Attributes:
        nodes: The centre of each node.
        routes: The bends of each edge that is not a straight line from one row to the next.
        turns: The edges whose bends are right angles: those that run beside the nodes.
        boxes: The areas of the parts, which do not overlap.
        top: Of the highest line or title, which lies above 0 where lines lead over the columns.
        height: Down to the end of the longest column.
    """

    nodes: tuple[Point, ...]
    routes: dict[Edge, tuple[Point, ...]]
    turns: frozenset[Edge]
    boxes: tuple[Box, ...]
    width: float
    top: float
    height: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Column:
    """Rows ``start .. end - 1``, as broad as the widest.

    ``shifts`` bring each row from where it was arranged to where it stands: parts stand in the middle.
    """

    start: int
    end: int
    left: float
    right: float
    shifts: tuple[float, ...]


def fold(rows: Rows, edges: Sequence[Edge], parts: Sequence[Sequence[int]], aspect: float = ASPECTS[1]) -> Picture:
    """Fold what `arrange` made of the same edges and parts, to about `aspect` times as wide as high."""
    if not rows.rows:
        return Picture(nodes=(), routes={}, turns=frozenset(), boxes=(), width=0, top=0, height=0)
    part_of = {node: number for number, part in enumerate(parts) for node in part}
    part_of_row = _parts_of_rows(rows, part_of)
    extents = [_extent(rows, row) for row in rows.rows]
    best = _best_columns(extents, part_of_row, _crossing(rows, edges), aspect)
    tops = {
        row: y
        for column in best
        for row, y in zip(range(column.start, column.end), _heights(column, part_of_row), strict=False)
    }
    column_of = {row: number for number, column in enumerate(best) for row in range(column.start, column.end)}
    shifts = [shift for column in best for shift in column.shifts]
    nodes = tuple((rows.x[node] + shifts[row], tops[row] + NODE_HEIGHT / 2) for node, row in enumerate(rows.row_of))
    way = _Way(rows=rows, columns=best, column_of=column_of, shifts=shifts, tops=tops, nodes=nodes)
    routes, turns = _routes(way, edges)
    return Picture(
        nodes=nodes,
        routes=routes,
        turns=turns,
        boxes=tuple(_boxes(best, nodes, rows, part_of_row, tops)),
        width=best[-1].right + PADDING,
        top=min((y for edge in turns for _, y in routes[edge]), default=TITLE_TOP),
        height=max(_heights(column, part_of_row)[-1] for column in best),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Way:
    """What edges are led by."""

    rows: Rows
    columns: Sequence[_Column]
    column_of: dict[int, int]
    shifts: Sequence[float]
    tops: dict[int, float]
    nodes: Sequence[Point]


def _parts_of_rows(rows: Rows, part_of: dict[int, int]) -> list[int]:
    parts = [0] * len(rows.rows)
    for node, row in enumerate(rows.row_of):
        parts[row] = part_of[node]
    return parts


def _extent(rows: Rows, row: Sequence[int]) -> tuple[float, float]:
    """Left and right end of a row."""
    count = len(rows.row_of)
    halves = [NODE_WIDTH / 2 if item < count else 0.0 for item in row]
    return (
        min(rows.x[item] - half for item, half in zip(row, halves, strict=True)),
        max(rows.x[item] + half for item, half in zip(row, halves, strict=True)),
    )


def _crossing(rows: Rows, edges: Sequence[Edge]) -> list[int]:
    """How many edges pass between each row and the one above it."""
    change = [0] * (len(rows.rows) + 1)
    for start, end in edges:
        change[rows.row_of[start] + 1] += 1
        change[rows.row_of[end] + 1] -= 1
    passing, found = 0, []
    for each in change:
        passing += each
        found.append(passing)
    return found


def _ends(part_of_row: Sequence[int], crossing: Sequence[int], limit: float) -> list[int]:
    """The row behind the last of each column: columns of at most this height, cut where few edges pass."""
    ends: list[int] = []
    start, count = 0, len(part_of_row)
    while start < count:
        height, before, end = 0.0, None, start
        earliest = start + 1
        while end < count:
            height += ROW_HEIGHT + (PART_GAP if part_of_row[end] != before else 0)
            if height > limit and end > start:
                break
            before = part_of_row[end]
            end += 1
            if height < (1 - _WINDOW) * limit:
                earliest = end
        start = end if end == count else min(range(min(earliest, end), end + 1), key=lambda row: (crossing[row], -row))
        ends.append(start)
    return ends


def _shortest(part_of_row: Sequence[int], crossing: Sequence[int], columns: int) -> list[int]:
    """The ends of so many columns that are as short as can be, so that they come out about equal."""
    low, high = 0.0, float(len(part_of_row) * (ROW_HEIGHT + PART_GAP))
    while high - low > ROW_HEIGHT / 4:
        middle = (low + high) / 2
        if len(_ends(part_of_row, crossing, middle)) > columns:
            low = middle
        else:
            high = middle
    return _ends(part_of_row, crossing, high)


def _best_columns(
    extents: Sequence[tuple[float, float]], part_of_row: Sequence[int], crossing: Sequence[int], aspect: float
) -> list[_Column]:
    """As many columns as come nearest to `aspect`: with each more, the whole gets wider and less tall."""

    @cache
    def tried(count: int) -> tuple[float, list[_Column]]:
        columns = _columns(_shortest(part_of_row, crossing, count), extents, part_of_row)
        height = max(_heights(column, part_of_row)[-1] for column in columns)
        return columns[-1].right / height / aspect, columns

    low, high = 1, min(MOST_COLUMNS, len(extents))
    while low < high:
        middle = (low + high) // 2
        if tried(middle)[0] < 1:
            low = middle + 1
        else:
            high = middle
    return min((tried(count) for count in {max(low - 1, 1), low}), key=lambda each: abs(log(each[0])))[1]


def _columns(ends: Sequence[int], extents: Sequence[tuple[float, float]], part_of_row: Sequence[int]) -> list[_Column]:
    columns = []
    start, x = 0, float(PADDING)
    for end in ends:
        widest, centres, row = 0.0, list[float](), start
        for _, region in groupby(part_of_row[start:end]):
            length = len(list(region))
            left = min(extent[0] for extent in extents[row : row + length])
            right = max(extent[1] for extent in extents[row : row + length])
            widest = max(widest, right - left)
            centres += [(left + right) / 2] * length
            row += length
        shifts = tuple(x + widest / 2 - centre for centre in centres)
        columns.append(_Column(start=start, end=end, left=x, right=x + widest, shifts=shifts))
        x += widest + GUTTER
        start = end
    return columns


def _heights(column: _Column, part_of_row: Sequence[int]) -> list[float]:
    """The top of each row of a column, and the bottom of the last."""
    y, before = 0.0, None
    tops = []
    for row in range(column.start, column.end):
        if part_of_row[row] != before:
            y += PART_GAP
            before = part_of_row[row]
        tops.append(y)
        y += ROW_HEIGHT
    return [*tops, y]


def _boxes(
    columns: Sequence[_Column], nodes: Sequence[Point], rows: Rows, part_of_row: Sequence[int], tops: dict[int, float]
) -> Iterator[Box]:
    for column in columns:
        start = column.start
        for part, region in groupby(part_of_row[column.start : column.end]):
            end = start + len(list(region))
            xs = [nodes[item][0] for each in rows.rows[start:end] for item in each if item < len(nodes)]
            yield Box(
                part=part,
                left=min(xs) - NODE_WIDTH / 2 - PADDING,
                top=tops[start] - PADDING,
                right=max(xs) + NODE_WIDTH / 2 + PADDING,
                bottom=tops[end - 1] + NODE_HEIGHT + PADDING,
            )
            start = end


def _routes(way: _Way, edges: Sequence[Edge]) -> tuple[dict[Edge, tuple[Point, ...]], frozenset[Edge]]:
    routes: dict[Edge, tuple[Point, ...]] = {}
    turns = set()
    for number, edge in enumerate(edges):
        first, last = (way.rows.row_of[node] for node in edge)
        if way.column_of[first] == way.column_of[last] and (edge in way.rows.lanes or last - first == 1):
            lane = way.rows.lanes.get(edge, ())
            if lane:
                routes[edge] = tuple(
                    (way.rows.x[item] + way.shifts[row], way.tops[row] + NODE_HEIGHT / 2)
                    for item, row in zip(lane, range(first + 1, last), strict=True)
                )
        else:
            routes[edge] = _beside(way, edge, number % _LANES)
            turns.add(edge)
    return routes, frozenset(turns)


def _beside(way: _Way, edge: Edge, lane: int) -> tuple[Point, ...]:
    """Down between two rows, to the gutter, along it, to the reader's gutter, and in above its row."""
    (x, y), (to_x, to_y) = (way.nodes[node] for node in edge)
    from_column, to_column = (way.column_of[way.rows.row_of[node]] for node in edge)
    leave = y + NODE_HEIGHT / 2 + 5 + lane
    arrive = to_y - NODE_HEIGHT / 2 - 5 - lane
    out = way.columns[from_column].right + PADDING + 6 + lane * _LANE
    if from_column == to_column:
        return ((x, leave), (out, leave), (out, arrive), (to_x, arrive))
    into = way.columns[to_column].left - GUTTER + PADDING + 6 + lane * _LANE
    if out == into:
        return ((x, leave), (out, leave), (out, arrive), (to_x, arrive))
    head = -PADDING - lane * 3.0
    return ((x, leave), (out, leave), (out, head), (into, head), (into, arrive), (to_x, arrive))
