"""The protocol over HTTP, as an application of ASGI."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Executor
from functools import partial
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import Message, Receive, Scope, Send

from intarsia.serving.access import Access
from intarsia.serving.figures import Figures
from intarsia.serving.http.bodies import HEADER_LENGTH, decode, encode
from intarsia.serving.limits import Limits
from intarsia.serving.logs import tell_error
from intarsia.serving.repository import Repository
from intarsia.serving.served import ServedModel, Ticket
from intarsia.serving.server_facts import server_metadata
from intarsia.serving.statuses import RequestError, Status

_READ = ("GET", "HEAD")
_Handler = Callable[[Request], Awaitable[Response]]
_MODEL = "/v2/models/{name}"
_VERSION = f"{_MODEL}/versions/{{version}}"


class HttpEndpoint:
    """Answers requests over HTTP. `app` is what a web server calls."""

    def __init__(
        self, repository: Repository, figures: Figures, limits: Limits, access: Access, threads: Executor
    ) -> None:
        self._repository = repository
        self._figures = figures
        self._limits = limits
        self._access = access
        self._threads = threads
        self.is_draining = False
        """Whether every answer is to end its connection."""
        read = partial(self._route, methods=_READ)
        paths = (_MODEL, _VERSION)
        routes = [  # they are tried in this order
            *(self._route(f"{path}/infer", self._infer, methods=("POST",)) for path in paths),
            read("/v2/health/live", self._live, is_open=True),
            read("/v2/health/ready", self._ready, is_open=True),
            read("/metrics", self._metrics),
            read("/v2", self._about),
            *(read(path, self._metadata) for path in paths),
            *(read(f"{path}/ready", self._model_ready) for path in paths),
        ]
        self.app = Router(routes, redirect_slashes=False, default=self._nowhere)

    def _route(self, path: str, handler: _Handler, *, methods: tuple[str, ...], is_open: bool = False) -> Route:
        async def serve(scope: Scope, receive: Receive, send: Send) -> None:
            request = Request(scope, receive)
            try:
                if request.method not in methods:
                    raise RequestError(Status.WRONG_METHOD, f"{request.method} is not for {scope['path']}")
                if not is_open and not self._access.admits(request.headers.get("authorization", "").encode("latin-1")):
                    raise RequestError(Status.UNAUTHENTICATED, "give the server's token: Authorization: Bearer TOKEN")
                response = await handler(request)
            except RequestError as error:
                response = _refusal(error, methods)
            except _GoneError:
                return
            except Exception as error:
                tell_error("failed", error, path=scope["path"])
                response = _refusal(RequestError(Status.FAILED, f"unexpected {type(error).__name__}"), methods)
            if self.is_draining:
                response.headers["connection"] = "close"
            await response(scope, receive, send)

        return Route(path, _Unopened(serve))

    async def _nowhere(self, scope: Scope, receive: Receive, send: Send) -> None:
        error = RequestError(Status.NOT_FOUND, f"there is nothing at {scope.get('path', '')}")
        await _refusal(error, ())(scope, receive, send)

    async def _about(self, _: Request) -> Response:
        return _json(server_metadata())

    async def _live(self, _: Request) -> Response:
        return _json({"live": True})

    async def _ready(self, _: Request) -> Response:
        return _readiness(self._repository.is_ready)

    async def _metrics(self, _: Request) -> Response:
        return Response(self._figures.text(), headers={"content-type": CONTENT_TYPE_LATEST})

    async def _model_ready(self, request: Request) -> Response:
        model = self._model(request)
        if model.metadata is not None:
            model.check_version(_version(request))
        return _readiness(model.is_ready, name=model.name)

    async def _metadata(self, request: Request) -> Response:
        found = self._model(request).check_version(_version(request))
        return _json(
            {
                "name": found.name,
                "versions": [found.version],
                "platform": "intarsia",
                "inputs": [each.as_json() for each in found.inputs],
                "outputs": [each.as_json() for each in found.outputs],
            }
        )

    async def _infer(self, request: Request) -> Response:
        model = self._model(request)
        try:
            ticket = model.admit(_version(request))
        except RequestError as error:
            model.count(error.status)
            raise
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[tuple[bytes, int | None]] | None = None
        try:
            async with asyncio.timeout_at(loop.time() + self._limits.timeout_s):
                body = await self._body(request)
                ticket.began = time.monotonic()
                answer = loop.create_future()
                self._threads.submit(_answer, answer, model, ticket, body, request.headers.get(HEADER_LENGTH))
                content, header_length = await answer
        except BaseException as error:
            raised = self._too_slow(answer is not None) if isinstance(error, TimeoutError) else error
            if answer is None:  # from then on, the thread has the ticket
                model.release(ticket)
                if isinstance(raised, RequestError):
                    model.count(raised.status)
            raise raised from None
        if header_length is None:
            return Response(content, headers={"content-type": "application/json"})
        return Response(
            content, headers={"content-type": "application/octet-stream", HEADER_LENGTH: str(header_length)}
        )

    def _model(self, request: Request) -> ServedModel:
        return self._repository.model(request.path_params["name"])

    def _too_slow(self, was_read: bool) -> RequestError:
        within = f"within {self._limits.timeout_s:g} s"
        if was_read:
            return RequestError(Status.OVERLOADED, f"not answered {within}; ask again later")
        return RequestError(Status.SLOW_CLIENT, f"the body did not come {within}")

    async def _body(self, request: Request) -> bytes:
        """The body, read whole within its bounds."""
        headers, most = request.headers, self._limits.body_bytes
        if headers.get("content-encoding", "identity") != "identity":
            raise RequestError(Status.ENCODED, "send the body as it is, without a Content-Encoding")
        stated = headers.get("content-length", "0")
        if stated.isdecimal() and len(stated) < 20 and int(stated) > most:
            raise _too_large(most)
        chunks, size, more = [], 0, True
        while more:
            message: Message = await request.receive()
            if message["type"] == "http.disconnect":
                raise _GoneError
            chunks.append(message.get("body", b""))
            size += len(chunks[-1])
            if size > most:
                raise _too_large(most)
            more = message.get("more_body", False)
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)


class _Unopened:
    """What makes a route hand over a request without looking into it."""

    def __init__(self, serve: Callable[[Scope, Receive, Send], Awaitable[None]]) -> None:
        self.serve = serve

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.serve(scope, receive, send)


class _GoneError(Exception):
    """Who asked hung up."""


def _answer(
    answer: asyncio.Future[Any], model: ServedModel, ticket: Ticket, body: bytes, header_length: str | None
) -> None:
    """Have a request answered on a thread, and hand the answer to the loop."""
    loop = answer.get_loop()
    try:
        found = model.answer(ticket, lambda metadata: decode(metadata, body, header_length), encode)
        loop.call_soon_threadsafe(_settle, answer, found, None)
    except Exception as error:
        loop.call_soon_threadsafe(_settle, answer, None, error)


def _settle(answer: asyncio.Future[Any], found: Any, error: Exception | None) -> None:
    if answer.cancelled():
        return
    if error is None:
        answer.set_result(found)
    else:
        answer.set_exception(error)
        answer.exception()  # whether or not anybody waits for it still


def _version(request: Request) -> str:
    return str(request.path_params.get("version", ""))


def _json(value: Mapping[str, Any], status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    content = json.dumps(value, separators=(",", ":")).encode()
    return Response(content, status, headers={"content-type": "application/json", **(headers or {})})


def _readiness(is_ready: bool, **facts: str) -> Response:
    """The protocol judges by the status alone: 200 or one of 4xx."""
    value = {**facts, "ready": is_ready}
    return _json(value if is_ready else {**value, "error": "not ready"}, 200 if is_ready else Status.BAD_REQUEST.http)


def _too_large(most: int) -> RequestError:
    return RequestError(Status.TOO_LARGE, f"a body has at most {most} bytes here; --max-body allows more")


def _refusal(error: RequestError, methods: tuple[str, ...]) -> Response:
    headers = {}
    if error.status.may_retry:
        headers["retry-after"] = str(error.retry_s)
    if error.status is Status.WRONG_METHOD:
        headers["allow"] = ", ".join(methods)
    if error.status is Status.UNAUTHENTICATED:
        headers["www-authenticate"] = "Bearer"
    return _json({"error": str(error)}, error.status.http, headers)
