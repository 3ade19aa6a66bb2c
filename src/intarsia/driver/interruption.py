"""What a Ctrl-C becomes, at whatever moment it comes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from intarsia.errors import Interrupted


@contextmanager
def as_interrupted() -> Iterator[None]:
    """Raise `Interrupted` in place of any other ``KeyboardInterrupt``."""
    try:
        yield
    except Interrupted:
        raise
    except KeyboardInterrupt:
        raise Interrupted from None


@contextmanager
def without_best() -> Iterator[None]:
    """Close the best plan so far, which is of no use to the caller, and pass on that there was an interruption."""
    try:
        yield
    except KeyboardInterrupt as interrupt:
        if isinstance(interrupt, Interrupted) and interrupt.best is not None:
            interrupt.best.close()
        raise Interrupted from None
