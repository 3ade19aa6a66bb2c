"""A request that may be answered together with others, and what becomes of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from intarsia.serving.metadata import ModelMetadata
from intarsia.serving.statuses import RequestError
from intarsia.serving.tickets import TicketOf

if TYPE_CHECKING:
    import numpy as np


Form = frozenset[tuple[str, tuple[int, ...]]]
"""The inputs by their names, with their shapes behind the first dimension: requests of one form can be joined."""

Send = Callable[[list[Any]], None]
"""Sends what became of requests of one protocol, which are `Asked` of its own kind."""


class Asked(ABC):
    """A request that is whole. Whoever answers it fills in the rest; it is on one thread at a time."""

    __slots__ = ("decode_s", "error", "feeds", "form", "found", "rows", "send", "stages", "ticket", "wanted")

    def __init__(self, ticket: TicketOf[Any], send: Send) -> None:
        """Ask with this ticket; ``send`` is called once it is answered or refused."""
        self.ticket = ticket
        self.send = send
        self.feeds: Mapping[str, np.ndarray] | None = None
        """The inputs, once they are decoded."""
        self.wanted: Any = None
        """How the answer is to come."""
        self.form: Form | None = None
        """What it can be joined by; ``None`` if it goes alone."""
        self.rows = 1
        """Of its inputs, along the first dimension."""
        self.found: Any = None
        """The answer, encoded."""
        self.error: RequestError | None = None
        """Why there is none."""
        self.decode_s = 0.0
        self.stages = (0.0, 0.0, 0.0, 0.0)
        """Seconds in the queue, of decoding, of the call and of encoding, once it is answered."""

    @abstractmethod
    def decode(self, metadata: ModelMetadata) -> tuple[Mapping[str, np.ndarray], Any]:
        """The inputs, and how the answer is to come.

        Raises:
            RequestError: It is not well formed, or not what the model takes.
        """

    @abstractmethod
    def encode(self, metadata: ModelMetadata, results: Mapping[str, np.ndarray]) -> Any:
        """The answer with these outputs, as it is sent.

        Raises:
            RequestError: It cannot be written so.
        """
