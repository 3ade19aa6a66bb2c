"""Collects all errors of a spec while it is read, and raises them together as one `SpecError`."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from heapq import nlargest
from typing import NamedTuple

from intarsia.errors import SpecError
from intarsia.spec.syntax import Piece, unclosed

_LINE = 100
_LONGEST_COMPARED = 64
_NEAR = 0.6
_MOST_HINTS = 8
_MOST_SAID = 50
_MOST_COMPARED = 32


class Where(NamedTuple):
    """A place in the user's input.

    Attributes:
        path: Such as ``targets[1].host.mcpu``; empty at the top.
        piece: The characters, where the form is text.
        depth: How many specs stand around this one.
    """

    path: str = ""
    piece: Piece | None = None
    depth: int = 0

    def field(self, name: str) -> Where:
        """Return the place of option ``name`` of the spec at this place."""
        return Where(f"{self.path}.{name}" if self.path else name, self.piece, self.depth)

    def item(self, index: int) -> Where:
        """Return the place of element ``index`` of the list at this place."""
        return Where(f"{self.path}[{index}]", self.piece, self.depth)

    def on(self, piece: Piece | None) -> Where:
        """Return the same path with these characters."""
        return Where(self.path, piece, self.depth)

    def deeper(self) -> Where:
        """Return the same place, one nesting level deeper."""
        return Where(self.path, self.piece, self.depth + 1)


class Problems:
    """Collects problems, each with its place."""

    def __init__(self) -> None:
        self._found: list[str] = []
        self._unsaid = 0

    def __bool__(self) -> bool:
        return bool(self._found)

    @property
    def is_full(self) -> bool:
        """Whether the limit is reached: further problems are counted, and not described."""
        return len(self._found) == _MOST_SAID

    def add(self, where: Where, what: str) -> None:
        """Record a problem at this place. Beyond the limit it is only counted."""
        if self.is_full:
            self._unsaid += 1
            return
        lines = [f"{where.path}: {what}" if where.path else what]
        if where.piece is not None:
            lines += caret(where.piece)
        self._found.append("\n".join(lines))

    def are_quotes_open(self, where: Where, piece: Piece) -> bool:
        """Whether a quote or escape is not closed; if so, record that as a problem."""
        mark = unclosed(piece)
        if mark is None:
            return False
        what = (
            "a backslash at the end escapes nothing; write '\\\\'" if mark.text == "\\" else "this quote never closes"
        )
        self.add(where.on(mark), f"mismatched quotes: {what}")
        return True

    @property
    def is_past_hints(self) -> bool:
        """Whether there are so many problems that further ones get no hint, since finding a hint takes time."""
        return len(self._found) >= _MOST_HINTS

    def nearest(self, name: str, legal: Iterable[str], otherwise: str = "") -> str:
        """Return the hint of `nearest` for the next problem, or an empty string if `is_past_hints`."""
        return "" if self.is_past_hints else nearest(name, legal, otherwise)

    def raise_any(self) -> None:
        """Raise all problems as one `SpecError`, each with its place. Returns if there are none."""
        if not self._found:
            return
        head = [] if len(self._found) == 1 else [f"{len(self._found) + self._unsaid} problems:"]
        tail = [f"… and {self._unsaid} more"] if self._unsaid else []
        raise SpecError("\n".join([*head, *self._found, *tail]))


def nearest(name: str, legal: Iterable[str], otherwise: str = "") -> str:
    """Return ``; did you mean …?`` with the nearest legal spelling, or ``otherwise`` if none is near."""
    close = closest(name, legal)
    if close is not None:
        return f"; did you mean {close!r}?"
    return f"; {otherwise}" if otherwise else ""


def closest(name: str, legal: Iterable[str]) -> str | None:
    """Return the word that is spelled most like ``name``, or ``None`` if none is near."""
    if len(name) > _LONGEST_COMPARED:
        return None
    import difflib  # slow to import, and needed for errors only

    wanted = name.lower().replace("_", "-")
    folded = {word.lower().replace("_", "-"): word for word in legal}
    likely = [word for word in folded if _may_be_near(wanted, word)]
    if len(likely) > _MOST_COMPARED:
        likely = nlargest(_MOST_COMPARED, likely, key=partial(_ends_shared, wanted))
    close = difflib.get_close_matches(wanted, likely, n=1, cutoff=_NEAR)
    return folded[close[0]] if close else None


def _ends_shared(name: str, word: str) -> int:
    """Count equal characters at both ends of two words: a typing error leaves most of them unchanged."""
    return _beginning_shared(name, word) + _beginning_shared(name[::-1], word[::-1])


def _beginning_shared(name: str, word: str) -> int:
    pairs = enumerate(zip(name, word, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(name), len(word)))


def _may_be_near(name: str, word: str) -> bool:
    """Whether the two words share enough characters for difflib to call them close; a cheap upper bound.

    A bound that costs a hundredth of what difflib needs for a word, where there are a thousand tags to compare with.
    """
    enough = _NEAR * (len(name) + len(word))
    if 2 * min(len(name), len(word)) < enough:
        return False
    letters = set(word)
    return 2 * sum(char in letters for char in name) >= enough


def shown(value: object) -> str:
    """Return a value as messages quote it: short, with its type."""
    if isinstance(value, int | float | bool | type(None)):
        text = "a very large number" if isinstance(value, int) and value.bit_length() > 200 else repr(value)
    elif isinstance(value, str):
        text = shown_name(value)
    else:
        return f"a {type(value).__name__}"
    return f"{text} ({type(value).__name__})"


def shown_name(name: str) -> str:
    """Return a user's name, quoted and shortened."""
    return repr(name if len(name) <= 60 else f"{name[:57]}…")


def caret(piece: Piece) -> tuple[str, str]:
    """Return the source line where a piece begins, and a line with carets under the piece."""
    start, stop = piece.span
    line_start = piece.source.rfind("\n", 0, start) + 1
    line_stop = piece.source.find("\n", start)
    line_stop = len(piece.source) if line_stop < 0 else line_stop
    if line_stop - line_start > _LINE:
        line_start = max(line_start, start - _LINE // 2)
        line_stop = min(line_stop, line_start + _LINE)
    line = "".join(char if char.isprintable() else " " for char in piece.source[line_start:line_stop])
    return f"  {line}", f"  {' ' * (start - line_start)}{'^' * max(1, min(stop, line_stop) - start)}"
