"""What a server may take on at one time."""

from __future__ import annotations

from dataclasses import dataclass


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
