"""What a server may take on at one time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

GIL_S: Final = 0.0005
"""How long a thread of Python may keep others waiting: a tenth of the default, since a call that an engine has ended
waits for whoever decodes the next request."""
QUICK_S: Final = 0.002
"""A request that takes up to this long is quick: what Python does around its call is a good part of it. Others may wait
so long while the thread that reads answers one."""
OTHER_CALLS: Final = 16
"""Calls that are no inference, which may be there beside the others."""
KEEP_ALIVE_S: Final = 75
"""Longer than balancers keep a connection, so that they are the ones that end it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The bounds of each model that is served.

    Attributes:
        waiting: Requests that may wait for an instance; one more is refused.
        body_bytes: Size of a request's body.
        timeout_s: Seconds from the beginning of a request until a call of the model must have begun.
    """

    waiting: int = 64
    body_bytes: int = 64 * 2**20
    timeout_s: float = 30.0
