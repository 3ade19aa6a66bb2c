"""Amounts of memory as people write them: ``500MB``, ``1.5 GiB``."""

from __future__ import annotations

import re

from intarsia.errors import ConfigError

BYTES = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
"""Units; their case does not matter."""
_FOLDED = {unit.lower(): count for unit, count in BYTES.items()}
_AMOUNT = re.compile(r"\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*([A-Za-z]+)\s*")


def memory_bytes(amount: int | str) -> int:
    """Bytes of an amount of memory; a number counts bytes.

    Raises:
        ConfigError: It is no positive amount, or a text without a unit.
    """
    match = _AMOUNT.fullmatch(amount) if isinstance(amount, str) else None
    count = amount if isinstance(amount, int) else 0
    if match is not None:
        count = round(float(match[1]) * _FOLDED.get(match[2].lower(), 0))
    if count <= 0:
        raise ConfigError(f"{amount!r} is no amount of memory; write it as 500MB, with one of {', '.join(BYTES)}")
    return count
