"""Words that hang on figures, for every message and page."""

from __future__ import annotations


def counted(number: int, noun: str, several: str | None = None) -> str:
    """``1 thread``, ``2 threads``: a number with what it counts.

    Args:
        number: How many.
        noun: What one is called; its last word takes the ``s``.
        several: What several are called, where that is not the noun with an ``s``.
    """
    return f"{number} {noun if number == 1 else several or f'{noun}s'}"
