"""Amounts of memory as people write them: ``500MB``, ``1.5 GiB``."""

from __future__ import annotations

import re

from intarsia.errors import ConfigError
from intarsia.numbers import shown, whole

BYTES = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
"""Units; their case does not matter."""
MOST_BYTES = 2**63 - 1
_FOLDED = {unit.lower(): count for unit, count in BYTES.items()}
_AMOUNT = re.compile(r"\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*([A-Za-z]+)\s*")


def memory_bytes(amount: int | str) -> int:
    """Bytes of an amount of memory; a number counts bytes.

    Raises:
        ConfigError: It is no positive amount, or a text without a unit.
    """
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
