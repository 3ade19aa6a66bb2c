"""What the application reads of a request over HTTP, and the answers that it sends: messages of ASGI."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

from intarsia.serving.statuses import RequestError, Status

Scope = Mapping[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
Header = tuple[bytes, bytes]
"""A name in lower case, and a value."""
_JSON: Header = (b"content-type", b"application/json")
_CLOSE: Header = (b"connection", b"close")


class Request(NamedTuple):
    """A request whose path was understood, before its body is read.

    Attributes:
        name: The model that the path names; empty where it names none.
        version: The version that it names, empty likewise.
        headers: By their names in lower case.
        receive: Brings what comes next.
    """

    name: str
    version: str
    headers: Mapping[bytes, bytes]
    receive: Receive


class Answer(NamedTuple):
    """What is sent back."""

    content: bytes
    status: int = 200
    headers: tuple[Header, ...] = (_JSON,)

    async def send(self, send: Send, *, and_close: bool) -> None:
        """Send it, and say whether the connection ends behind it."""
        length = (b"content-length", b"%d" % len(self.content))
        headers = [*self.headers, length, _CLOSE] if and_close else [*self.headers, length]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": self.content})


def json_answer(value: Mapping[str, Any], status: int = 200, headers: tuple[Header, ...] = ()) -> Answer:
    """An answer that is an object of JSON."""
    content = json.dumps(value, separators=(",", ":")).encode()
    return Answer(status=status, content=content, headers=(_JSON, *headers))


def readiness(is_ready: bool, **facts: str) -> Answer:
    """The protocol judges by the status alone: 200 or one of 4xx."""
    value = {**facts, "ready": is_ready}
    return json_answer(value if is_ready else {**value, "error": "not ready"}, 200 if is_ready else 400)


def refusal(error: RequestError, methods: tuple[str, ...]) -> Answer:
    """What says why there is no other answer; ``methods`` are those that the path has."""
    headers: list[Header] = []
    if error.status.may_retry:
        headers.append((b"retry-after", b"%d" % error.retry_s))
    if error.status is Status.WRONG_METHOD:
        headers.append((b"allow", ", ".join(methods).encode()))
    if error.status is Status.UNAUTHENTICATED:
        headers.append((b"www-authenticate", b"Bearer"))
    return json_answer({"error": str(error)}, error.status.http, tuple(headers))
