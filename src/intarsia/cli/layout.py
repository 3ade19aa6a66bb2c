"""Tables as lines of text that fit a width: no word is split, no cell is cut, whatever the width.

Of several ways to lay a table out, the one with the fewest lines is taken: a long text is folded in its column, or it
leaves the row for lines of its own, above or below it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from operator import itemgetter

from rich.cells import cell_len

GAP = "  "
HANG = "  "
"""Before what goes on from the line above, in the first column."""
INDENT = "    "
"""Before what stands below the row that it belongs to."""
_BREAKS = "/\\,;:=-_. "
"""Behind these a word is split that is longer than a whole line."""
Regions = Sequence[str]
Lines = list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """A table whose cells are printable; ``numbers`` are the places of columns that stand flush right, never folded."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: frozenset[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """Some columns of a table, laid out: the lines of their names, and those of the rows."""

    header: Lines
    rows: Lines


def table_bands(header: Regions, rows: Sequence[Regions], numbers: Sequence[str], width: int) -> list[Band]:
    """A table in lines, none wider than ``width`` cells: in one band, or in several where it has many columns.

    Each band begins with the first column. Columns named in ``numbers`` are set flush right; a name may stand twice.
    """
    grid = Grid(
        header=tuple(map(printable, header)),
        rows=tuple(tuple(map(printable, row)) for row in rows),
        numbers=frozenset(place for place, name in enumerate(header) if name in numbers),
    )
    return _bands(grid, width) or [_stacked(grid, width)]


def folded(text: str, width: int, first: str = "", later: str | None = None) -> Lines:
    """A text in lines of a width, broken at blanks alone; ``first`` and ``later`` stand before its lines.

    A word too long for a line behind ``later`` stands at the beginning of a line, and only one that is wider than a
    whole line is split.
    """
    if cell_len(first + text) <= width:
        return [(first + text).rstrip()]
    later = first if later is None else later
    lines, line, blank = [], first, ""
    for word in _words(text, width):
        if cell_len(line + blank + word) > width:
            if line.strip():
                lines.append(line.rstrip())
            line, blank = later if cell_len(later + word) <= width else "", ""
        line, blank = line + blank + word, " "
    return [*lines, line]


def printable(text: str) -> str:
    """A text that stands on one line and moves no cursor, whoever named it."""
    return "".join(
        " " if each.isspace() else each if each.isprintable() else each.encode("unicode_escape").decode()
        for each in text
    )


def _bands(grid: Grid, width: int) -> list[Band] | None:
    """As few as can be, each with as many columns as fit; ``None`` where one does not even fit beside the first."""
    count = len(grid.header)
    for end in range(count, 1 if count > 1 else 0, -1):
        found = _best(_part(grid, range(end)), width)
        if found is None:
            continue
        if end == count:
            return [found]
        rest = _bands(_part(grid, [0, *range(end, count)]), width)
        return None if rest is None else [found, *rest]
    return None


def _part(grid: Grid, places: Sequence[int]) -> Grid:
    return Grid(
        header=tuple(grid.header[place] for place in places),
        rows=tuple(tuple(row[place] for place in places) for row in grid.rows),
        numbers=frozenset(at for at, place in enumerate(places) if place in grid.numbers),
    )


def _best(grid: Grid, width: int) -> Band | None:
    found = [(cost * (len(made.header) + len(made.rows)), made) for way, cost in _WAYS if (made := way(grid, width))]
    return min(found, key=itemgetter(0))[1] if found else None


def _words(text: str, width: int) -> Iterator[str]:
    for word in text.split():
        rest = word
        while cell_len(rest) > width:
            end = 1
            while cell_len(rest[: end + 1]) <= width:
                end += 1
            after_break = max(rest.rfind(each, 0, end) for each in _BREAKS) + 1
            end = after_break or end
            yield rest[:end]
            rest = rest[end:]
        yield rest


def _least(text: str) -> int:
    return max((cell_len(word) for word in text.split()), default=0)


def _column(grid: Grid, place: int) -> list[str]:
    return [row[place] for row in grid.rows]


def _widths(grid: Grid, places: Sequence[int], width: int) -> dict[int, int] | None:
    """The width of each of these columns, so that all are beside each other, or ``None`` if they cannot be."""
    wanted, least = {}, {}
    for place in places:
        cells, name = _column(grid, place), grid.header[place]
        longest = max(map(cell_len, cells), default=0)
        wanted[place] = max(longest, cell_len(name))
        if place in grid.numbers:
            least[place] = max(longest, _least(name))
            continue
        folds = max(map(_least, cells), default=0) + (len(HANG) if place == 0 else 0)
        least[place] = min(wanted[place], max(folds, _least(name)))
    left = width - len(GAP) * (len(places) - 1) - sum(least.values())
    if left < 0:
        return None
    return _filled(wanted, least, left)


def _filled(wanted: dict[int, int], least: dict[int, int], left: int) -> dict[int, int]:
    """Give what is left to the columns that want more, each the same until it has enough."""
    given = dict(least)
    while left > 0 and (hungry := [place for place in given if given[place] < wanted[place]]):
        share = max(1, left // len(hungry))
        for place in hungry:
            more = min(share, wanted[place] - given[place], left)
            given[place] += more
            left -= more
    return given


def _blocks(grid: Grid, row: Regions, widths: dict[int, int]) -> Lines:
    """The cells of a row beside each other, folded in their columns."""
    columns = []
    for place, width in widths.items():
        text = row[place]
        if place in grid.numbers:
            # A name may be folded; a figure never needs it.
            columns.append([f"{line:>{_padded(line, width)}}" for line in folded(text, width)])
        else:
            lines = folded(text, width, "", HANG if place == 0 else "")
            columns.append([f"{line:<{_padded(line, width)}}" for line in lines])
    blanks = [" " * width for width in widths.values()]
    height = max(map(len, columns))
    return [
        GAP.join(column[line] if line < len(column) else blank for column, blank in zip(columns, blanks, strict=True))
        for line in range(height)
    ]


def _padded(line: str, width: int) -> int:
    """The width as ``format`` counts it: in characters, of which some are two cells wide."""
    return max(0, width - (cell_len(line) - len(line)))


def _made(grid: Grid, draw: Callable[[Regions], Lines]) -> Band:
    """A row with nothing in it is a line too."""
    lines = [line.rstrip() for row in grid.rows for line in draw(row)]
    return Band(header=[line.rstrip() for line in draw(grid.header)], rows=lines)


def _side_by_side(grid: Grid, width: int, *, is_key_above: bool = False, is_tail_below: bool = False) -> Band | None:
    """All columns beside each other; a key that is long may stand above its row, and a last text below it."""
    count = len(grid.header)
    last = count - 1
    if (is_key_above and count < 2) or (is_tail_below and (count < 2 + is_key_above or last in grid.numbers)):
        return None
    places = list(range(1 if is_key_above else 0, last if is_tail_below else count))
    key = max(_least(grid.header[0]), len(INDENT)) if is_key_above else 0
    before = key + len(GAP) if is_key_above else 0
    widths = _widths(grid, places, width - before)
    if widths is None:
        return None
    used = before + sum(widths.values()) + len(GAP) * (len(widths) - 1)
    if is_key_above:
        room = width - used
        grown = min(room, max(map(cell_len, (grid.header[0], *_column(grid, 0)))) - key)
        key, used = key + max(0, grown), used + max(0, grown)

    def draw(row: Regions) -> Lines:
        lines = _blocks(grid, row, widths)
        above: Lines = []
        if is_key_above:
            fits = cell_len(row[0]) <= key
            above = [] if fits else folded(row[0], width, "", HANG)
            start = f"{row[0]:<{_padded(row[0], key)}}" if fits else " " * key
            lines = [f"{begun}{GAP}{line}" for begun, line in zip_longest([start], lines, fillvalue=" " * key)]
        if is_tail_below and row[last]:
            lines = _with_tail(lines, row[last], used, width)
        return [*above, *lines] if any(line.strip() for line in lines) or not above else above

    return _made(grid, draw)


def _with_tail(lines: Lines, tail: str, used: int, width: int) -> Lines:
    """A row with its last text beside it, or below it where that takes fewer lines."""
    below = [*lines, *folded(tail, width, INDENT)]
    room = width - used - len(GAP)
    if room < _least(tail):
        return below
    beside = folded(tail, room)
    if max(len(lines), len(beside)) > len(below):
        return below
    return [
        f"{line:<{_padded(line, used)}}{GAP}{more}".rstrip() for line, more in zip_longest(lines, beside, fillvalue="")
    ]


def _stacked(grid: Grid, width: int) -> Band:
    """Each cell on lines of its own, behind the name of its column: fits any width."""
    name = max(map(cell_len, grid.header[1:]), default=0)
    if name > width // 3:
        name = 0

    def draw(row: Regions) -> Lines:
        lines = folded(row[0], width, "", HANG)
        for title, text in list(zip(grid.header, row, strict=True))[1:]:
            if not text:
                continue
            if title and not name:
                lines += folded(title, width, INDENT)
            before = f"{INDENT}{title:<{_padded(title, name)}}{GAP}" if name else INDENT + HANG
            lines += folded(text, width, before if title else INDENT, " " * cell_len(before) if title else INDENT)
        return lines

    return Band(header=folded(grid.header[0], width), rows=[line for row in grid.rows for line in draw(row)])


_APART = 1.3
"""What a line more is worth to have the figures on the line of what they are of."""
_WAYS: tuple[tuple[Callable[[Grid, int], Band | None], float], ...] = (
    (_side_by_side, 1.0),
    (partial(_side_by_side, is_tail_below=True), 1.0),
    (partial(_side_by_side, is_key_above=True), _APART),
    (partial(_side_by_side, is_key_above=True, is_tail_below=True), _APART),
)
