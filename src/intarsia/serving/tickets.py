"""The tickets of requests that were admitted."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from intarsia.serving.steady import Model

Admitting = TypeVar("Admitting")


class TicketOf(Generic[Admitting]):
    """The right of one request to be answered. Whoever has it gives it back, or has it answered, once."""

    __slots__ = ("began", "deadline", "instance", "size", "version")

    def __init__(self, version: Admitting, timeout_s: float) -> None:
        self.version = version
        """Of the model, which admitted it."""
        self.began = time.monotonic()
        """When it was whole; set anew once its body was read."""
        self.deadline = self.began + timeout_s
        self.size = 0
        """Bytes of what is asked, once it is whole."""
        self.instance: Model | None = None
        """What is reserved for it."""
