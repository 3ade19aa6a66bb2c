"""The numbers that a compile may be asked with, whether the command line, a file or Python says them."""

from __future__ import annotations

import math
import operator
from typing import Any

from intarsia.errors import ConfigError

MOST_SECONDS = 366 * 24 * 3600.0
"""A year: more is a slip of the hand, and clocks overflow far beyond it."""
MOST_THREADS = 1024
MOST_SEED = 2**63 - 1
_LONGEST = 60


def seconds(value: Any, name: str = "budget") -> float:
    """A time that something may take.

    Raises:
        ConfigError: It is no number from 0 to a year.
    """
    found = _real(value)
    if not 0.0 <= found <= MOST_SECONDS:
        raise ConfigError(f"{name}={shown(value)}: give seconds from 0 on, such as 60, and no more than a year's")
    return found


def seed(value: Any) -> int:
    """What random choices begin with.

    Raises:
        ConfigError: It is no whole number from 0 to `MOST_SEED`.
    """
    found = whole(value)
    if found is None or not 0 <= found <= MOST_SEED:
        raise ConfigError(f"seed={shown(value)}: give a whole number from 0 to 2^63 - 1")
    return found


def threads(value: Any) -> int:
    """How many threads compute at one time; whether there may be so many is for the planning to say.

    Raises:
        ConfigError: It is no whole number.
    """
    found = whole(value)
    if found is None:
        raise ConfigError(f"threads={shown(value)}: give a whole number from 1 on")
    return found


def whole(value: Any) -> int | None:
    """A whole number of any integer type as Python's own; ``None`` for all else, truth values too."""
    if isinstance(value, bool):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


def share(value: Any, name: str = "max_error") -> float:
    """A share of something.

    Raises:
        ConfigError: It is no number between 0 and 1.
    """
    found = _real(value)
    if not 0.0 < found < 1.0:
        raise ConfigError(f"{name}={shown(value)}: give a share between 0 and 1, such as 0.01")
    return found


def shown(value: object) -> str:
    """What a caller handed over, as messages quote it: short, whatever it is."""
    try:
        text = repr(value)
    except Exception:  # an integer of too many digits, or an object of somebody else's
        text = f"a {type(value).__name__}"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _real(value: Any) -> float:
    """The number as a float; not a number for what is none."""
    if isinstance(value, bool | str | bytes):
        return math.nan
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan
