"""Splits text at blanks and commas, resolves quotes and escapes, and prints text that reads back.

Every character keeps its position in the source, for carets in errors.

It knows no kind and no option: `intarsia.spec.types` and `intarsia.spec.reader` interpret the pieces.

A value is read in layers. If the whole text of a *container* (list, map, nested spec) is one quoted string, these
quotes and one level of escapes are removed before it is split. For a *leaf* the result is a string. So each nesting
level takes one layer of quotes, and values that need no quotes are printed without.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

BLANKS = " \t\n\r\f\v"
QUOTES = "'\""
_SPECIAL = frozenset(f"{BLANKS}{QUOTES}\\,")


class Piece(NamedTuple):
    """Part of a source text. It is a tuple because a text becomes dozens of pieces, and tuples are made twice as fast.

    Attributes:
        text: The characters of this part, after unquoting.
        at: Position in ``source`` of each character of ``text``, and the position after the last one.
    """

    source: str
    text: str
    at: Sequence[int]

    @classmethod
    def whole(cls, source: str) -> Piece:
        """Return the piece that is all of ``source``."""
        return cls(source, source, range(len(source) + 1))

    @property
    def span(self) -> tuple[int, int]:
        """The first position in the source, and the position after the last."""
        return self.at[0], self.at[len(self.text) - 1] + 1 if self.text else self.at[0]

    def cut(self, start: int, stop: int) -> Piece:
        """Return the characters from ``start`` up to ``stop``."""
        return Piece(self.source, self.text[start:stop], self.at[start : stop + 1])

    def pick(self, indices: Sequence[int]) -> Piece:
        """Return the characters at these indices, in this order."""
        return Piece(self.source, "".join(self.text[i] for i in indices), [*(self.at[i] for i in indices), self.at[-1]])


def _is_plain(text: str) -> bool:
    """Whether the text has no quotes and no escapes, as most texts."""
    return "'" not in text and '"' not in text and "\\" not in text


def shield(text: str) -> tuple[list[bool], int | None]:
    """Return which characters are quoted or escaped, and the position of a quote or escape that never closes."""
    if _is_plain(text):
        return [False] * len(text), None
    mask: list[bool] = []
    quote, opened = "", 0
    while len(mask) < len(text):
        i = len(mask)
        char = text[i]
        if char == "\\":
            if i + 1 == len(text):
                return [*mask, True], i
            mask += (True, True)
            continue
        mask.append(bool(quote) or char in QUOTES)
        if quote:
            quote = "" if char == quote else quote
        elif char in QUOTES:
            quote, opened = char, i
    return mask, opened if quote else None


def unclosed(piece: Piece) -> Piece | None:
    """Return the quote that never closes or the backslash at the end, or ``None``."""
    _, index = shield(piece.text)
    return None if index is None else piece.cut(index, index + 1)


def trim(piece: Piece) -> Piece:
    """Remove blanks at both ends, but not an escaped blank."""
    text = piece.text
    if text and text[0] not in BLANKS and text[-1] not in BLANKS:
        return piece
    start, stop = 0, len(text)
    while start < stop and text[start] in BLANKS:
        start += 1
    while stop > start and text[stop - 1] in BLANKS:
        slashes = stop - 1 - len(text[start : stop - 1].rstrip("\\")) - start
        if slashes % 2:
            break
        stop -= 1
    return piece.cut(start, stop)


def is_quoted(text: str) -> bool:
    """Whether the whole text is one quoted string."""
    if len(text) < 2 or text[0] not in QUOTES:
        return False
    i = 1
    while i < len(text):
        if text[i] == text[0]:
            return i == len(text) - 1
        i += 2 if text[i] == "\\" else 1
    return False


def unquote(piece: Piece) -> Piece:
    """Return the inside of a quoted piece, with one level of escapes resolved."""
    inside = trim(piece.cut(1, len(piece.text) - 1))
    keep, i = [], 0
    while i < len(inside.text):
        i += 1 if inside.text[i] == "\\" and i + 1 < len(inside.text) else 0
        keep.append(i)
        i += 1
    return inside.pick(keep)


def layer(piece: Piece) -> Piece:
    """Return the text of a container to split: without one pair of quotes around the whole."""
    bare = trim(piece)
    return unquote(bare) if is_quoted(bare.text) else bare


def leaf(piece: Piece) -> str:
    """Return the string that a text means. Quotes around only a part of it are ordinary characters."""
    bare = trim(piece)
    if _is_plain(bare.text):
        return bare.text
    if is_quoted(bare.text):
        return unquote(bare).text
    text, quote, out, i = bare.text, "", [], 0
    while i < len(text):
        char = text[i]
        if char == "\\" and i + 1 < len(text):
            out.append(text[i : i + 2] if quote else text[i + 1])
            i += 2
            continue
        if quote:
            quote = "" if char == quote else quote
        elif char in QUOTES:
            quote = char
        out.append(char)
        i += 1
    return "".join(out)


def split(piece: Piece, separators: str) -> list[Piece]:
    """Split at separators that are not quoted or escaped, and drop blank parts."""
    if not any(char in piece.text for char in separators):
        whole = trim(piece)
        return [whole] if whole.text else []
    if _is_plain(piece.text):
        found = _parts(separators).finditer(piece.text)
        return [part for part in (trim(piece.cut(*match.span())) for match in found) if part.text]
    mask, _ = shield(piece.text)
    parts, start = [], 0
    for i, char in enumerate(piece.text):
        if char in separators and not mask[i]:
            parts.append(trim(piece.cut(start, i)))
            start = i + 1
    parts.append(trim(piece.cut(start, len(piece.text))))
    return [part for part in parts if part.text]


@cache
def _parts(separators: str) -> re.Pattern[str]:
    """The pattern of the text between separators, for text without quotes and escapes."""
    return re.compile(f"[^{re.escape(separators)}]+")


def words(piece: Piece) -> list[Piece]:
    """Split at blanks."""
    return split(piece, BLANKS)


def divide(piece: Piece, separator: str) -> tuple[Piece, Piece | None]:
    """Split at the first separator that is not quoted or escaped; the second part is ``None`` if there is none."""
    mask, _ = shield(piece.text)
    for i, char in enumerate(piece.text):
        if char == separator and not mask[i]:
            return piece.cut(0, i), piece.cut(i + 1, len(piece.text))
    return piece, None


def split_specs(piece: Piece, tags: Iterable[str]) -> list[Piece]:
    """Split a priority list into its specs.

    A comma ends a spec when a blank stands beside it or no option was begun; any other belongs to a value. A known tag
    at the head of a spec is taken whole, the longest first, since a tag may contain a comma. Empty parts are kept, for
    the reader to complain about.
    """
    text = piece.text
    if "," not in text:
        return [trim(piece)]
    mask, _ = shield(text)
    with_comma = [tag for tag in tags if "," in tag]
    parts: list[Piece] = []
    start = 0
    while True:
        stop = _end_of_spec(text, mask, start, with_comma)
        parts.append(trim(piece.cut(start, stop)))
        if stop == len(text):
            return parts
        start = stop + 1


def _end_of_spec(text: str, mask: list[bool], start: int, tags: Iterable[str]) -> int:
    head = start
    while head < len(text) and text[head] in BLANKS:
        head += 1
    i = head + max((len(tag) for tag in tags if _stands_at(text, head, tag)), default=0)
    in_options = False
    while i < len(text):
        after_blank = i > head and text[i - 1] in BLANKS and not mask[i - 1]
        if text[i] == "," and not mask[i]:
            if not in_options or after_blank or i + 1 == len(text) or text[i + 1] in BLANKS:
                return i
        elif after_blank and text[i] not in BLANKS:
            in_options = True
        i += 1
    return i


def _stands_at(text: str, index: int, tag: str) -> bool:
    after = index + len(tag)
    return text.startswith(tag, index) and (after == len(text) or text[after] in f"{BLANKS},:")


def quote(text: str) -> str:
    """Return the quoted string that `unquote` turns back into ``text``."""
    mark = '"' if "'" in text and '"' not in text else "'"
    inside = text.replace("\\", "\\\\").replace(mark, f"\\{mark}")
    if text[:1] and text[0] in BLANKS:
        inside = f"\\{inside}"
    if len(text) > 1 and text[-1] in BLANKS:
        inside = f"{inside[:-1]}\\{inside[-1]}"
    return f"{mark}{inside}{mark}"


def print_leaf(text: str, *, shun: str = "") -> str:
    """Return the shortest text that `leaf` reads as this string. Characters in ``shun`` need quotes too."""
    if text and _SPECIAL.isdisjoint(text) and (not shun or shun not in text):
        return text
    return quote(text)


def print_container(body: str, *, inside: bool) -> str:
    """Return the text of a container, quoted where needed; ``inside`` another one, commas need quotes too."""
    mask, _ = shield(body)
    split_marks = f"{BLANKS}," if inside else BLANKS
    needs = not body or is_quoted(body) or any(not mask[i] and char in split_marks for i, char in enumerate(body))
    return quote(body) if needs else body
