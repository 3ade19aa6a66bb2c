"""Turns of requests that the loop answers itself: one in each of its rounds, so that it reads what comes in between."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final

from intarsia.serving.repository import Repository
from intarsia.serving.served import ServedModel
from intarsia.serving.versions import Ticket

_AGAIN_S: Final = 0.001
"""How soon to look again for an instance that a thread uses."""


class Turns:
    """Who may answer a request on the loop, first come, first served."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._is_taken = False

    async def has(self, model: ServedModel, ticket: Ticket) -> bool:
        """Whether to answer this on the loop, now, by an instance that was reserved for it; it is to be soon.

        It may wait for its turn. A request that ends while it waits gives its ticket back.
        """
        if not self._is_taken and model.reserve(ticket):
            self._take()
            return True
        if model.is_batched(ticket):  # it did not come alone
            return False
        model.count_waiting(ticket, 1)
        try:
            await self._wait(model, ticket)
        except BaseException:
            model.release(ticket)
            raise
        finally:
            model.count_waiting(ticket, -1)
        return ticket.instance is not None

    async def _wait(self, model: ServedModel, ticket: Ticket) -> None:
        """Wait for a turn, and in it for an instance, as long as the loop is to answer this."""
        if self._is_taken:
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            try:
                await turn
            except asyncio.CancelledError:
                if not turn.cancelled():  # it was this one's turn already
                    self._next()
                raise
        try:
            self._is_taken = True
            while self._repository.answers_in_turn(model, ticket) and not model.reserve(ticket):
                await asyncio.sleep(_AGAIN_S)
        finally:
            self._take()

    def _take(self) -> None:
        """Let no other have this round of the loop."""
        self._is_taken = True
        asyncio.get_running_loop().call_soon(self._next)

    def _next(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._is_taken = False
