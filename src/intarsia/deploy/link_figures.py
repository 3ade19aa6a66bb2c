"""How fast the link to a worker is, by sending it bytes that it sends back."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import Final

from intarsia.cost.timing.statistics import median
from intarsia.remote.reach import Reached

_SMALL: Final = 64
_PINGS: Final = 15
_SIZES: Final = (1 << 16, 1 << 20, 1 << 22)
_LONG_S: Final = 0.25
"""A content that takes so long is large enough."""
_TIMES: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkFigures:
    """What was measured of a link.

    Attributes:
        round_trip_s: Seconds until an answer to almost nothing is there, in the median.
        bytes_per_s: What it carries, both ways together, in the median.
    """

    round_trip_s: float
    bytes_per_s: float


def measured(worker: Reached) -> LinkFigures:
    """The figures of the link to a worker, in at most a few seconds.

    The bytes are random, so that nothing between here and there makes fewer of them.

    Raises:
        RemoteError: The link was lost, or the worker ended.
    """
    _echo_s(worker, _SMALL)  # the first one may connect
    round_trip_s = median([_echo_s(worker, _SMALL) for _ in range(_PINGS)])
    for size in _SIZES:
        first = _echo_s(worker, size)
        if first > _LONG_S or size == _SIZES[-1]:
            times = [first] if first > 4 * _LONG_S else [_echo_s(worker, size) for _ in range(_TIMES)]
            break
    moved = 2 * (size - _SMALL)
    return LinkFigures(round_trip_s=round_trip_s, bytes_per_s=moved / max(1e-6, median(times) - round_trip_s))


def _echo_s(worker: Reached, size: int) -> float:
    content = os.urandom(size)
    start = time.perf_counter()
    worker.echo(content)
    return time.perf_counter() - start
