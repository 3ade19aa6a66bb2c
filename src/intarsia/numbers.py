"""The numbers that a compile may be asked with, whether the command line, a file or Python says them."""

from __future__ import annotations

import math
import operator
import re
from typing import Any

from intarsia.errors import ConfigError

MOST_SECONDS = 366 * 24 * 3600.0
"""A year: more is a slip of the hand, and clocks overflow far beyond it."""
MOST_THREADS = 1024
MOST_SEED = 2**63 - 1
_LONGEST = 60

BYTES = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
"""Units; their case does not matter."""
MOST_BYTES = 2**63 - 1
_FOLDED = {unit.lower(): count for unit, count in BYTES.items()}
_AMOUNT = re.compile(r"\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*([A-Za-z]+)\s*")


def seconds(value: Any, name: str = "budget") -> float:
    """A time that something may take; a `ConfigError` where it is no number from 0 to a year."""
    found = _real(value)
    if not 0.0 <= found <= MOST_SECONDS:
        raise ConfigError(f"{name}={shown(value)}: give seconds from 0 on, such as 60, and no more than a year's")
    return found


def seed(value: Any) -> int:
    """What random choices begin with; a `ConfigError` where it is no whole number from 0 to `MOST_SEED`."""
    found = whole(value)
    if found is None or not 0 <= found <= MOST_SEED:
        raise ConfigError(f"seed={shown(value)}: give a whole number from 0 to 2^63 - 1")
    return found


def threads(value: Any) -> int:
    """How many threads compute at one time, or a `ConfigError`; whether there may be so many, the planning says."""
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
    """A share of something; a `ConfigError` where it is no number between 0 and 1."""
    found = _real(value)
    if not 0.0 < found < 1.0:
        raise ConfigError(f"{name}={shown(value)}: give a share between 0 and 1, such as 0.01")
    return found


def milliseconds(value: Any, name: str = "max_latency") -> float:
    """A time that a call may take; a `ConfigError` where it is no number above 0 of at most a year's."""
    found = _real(value)
    if not 0.0 < found <= 1e3 * MOST_SECONDS:
        raise ConfigError(f"{name}={shown(value)}: give milliseconds above 0, such as 20")
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


def memory_bytes(amount: int | str) -> int:
    """Bytes of an amount of memory, as a number or a text with a unit; a `ConfigError` where it is none above 0."""
    match = _AMOUNT.fullmatch(amount) if isinstance(amount, str) else None
    count = whole(amount) or 0
    if match is not None:
        most = float(match[1]) * _FOLDED.get(match[2].lower(), 0)
        count = round(most) if most <= MOST_BYTES else 0
    if not 0 < count <= MOST_BYTES:
        raise ConfigError(
            f"{shown(amount)} is not an amount of memory; write it as 500MB, with one of {', '.join(BYTES)}"
        )
    return count
