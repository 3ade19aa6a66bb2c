"""A request for an inference over HTTP, and how its answer comes to the loop from another thread."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from intarsia.serving.batching.asked import Asked
from intarsia.serving.http.bodies import Decoder, Wanted, encode
from intarsia.serving.metadata import ModelMetadata
from intarsia.serving.served import ServedModel
from intarsia.serving.versions import Ticket

if TYPE_CHECKING:
    import numpy as np

Content = tuple[bytes, int | None]
"""The body of an answer, and how many bytes of it are JSON where others follow."""


class Inference(Asked):
    """A request that was admitted, with its body."""

    __slots__ = ("_body", "_decoder", "_header_length", "future", "model")

    def __init__(
        self, model: ServedModel, ticket: Ticket, body: bytes, header_length: str | None, decoder: Decoder
    ) -> None:
        super().__init__(ticket, _send)
        self.model = model
        self._body = body
        self._header_length = header_length
        self._decoder = decoder
        self.future: asyncio.Future[Content] | None = None
        """What the loop waits for, where another thread answers."""

    def decode(self, metadata: ModelMetadata) -> tuple[dict[str, np.ndarray], Wanted]:
        """As a `Decoder`."""
        return self._decoder(metadata, self._body, self._header_length)

    def encode(self, metadata: ModelMetadata, results: Mapping[str, np.ndarray]) -> Content:
        """As `intarsia.serving.http.bodies.encode`."""
        return encode(metadata, self.wanted, results)

    def answer(self) -> Content:
        """The answer, made on this thread."""
        return self.model.answer(self.ticket, self.decode, encode)

    def settle(self, found: Content | None, error: Exception | None) -> None:
        """Let it be the answer, unless there is one already, or nobody waits any more; to be called on the loop."""
        future = self.future
        if future is None or future.done():
            return
        if error is not None:
            future.set_exception(error)
        elif found is not None:
            future.set_result(found)


def _send(asked: list[Inference]) -> None:
    """Hand answers that were made together to the loop, which is woken once for all of them."""
    first = asked[0].future
    assert first is not None, "it is waited for"
    first.get_loop().call_soon_threadsafe(_settle_all, asked)


def _settle_all(asked: list[Inference]) -> None:
    for each in asked:
        each.settle(each.found, each.error)
