"""Words that hang on figures, and signs that must not reach a screen as they are, for every message and page."""

from __future__ import annotations

from collections.abc import Iterable


def counted(number: int, noun: str, several: str | None = None) -> str:
    """``1 thread``, ``2 threads``: a number with what it counts.

    The noun's last word takes the ``s``, unless it is stated what ``several`` are called.
    """
    return f"{number} {noun if number == 1 else several or f'{noun}s'}"


def visible(text: str) -> str:
    """A text that a terminal or a browser shows and does not obey, whoever wrote it.

    Controls, and marks that turn the direction of writing, become escapes as in Python; ends of lines and tabs stay.
    """
    if text.isprintable():
        return text
    return "".join(
        sign
        if sign.isprintable() or sign in "\n\t" or (sign.isspace() and sign > "\x9f" and sign not in _ENDS)
        else sign.encode("unicode_escape").decode()
        for sign in text
    )


_ENDS = "\u2028\u2029"
"""Blanks that end a line or a paragraph."""


def listed(words: Iterable[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last
