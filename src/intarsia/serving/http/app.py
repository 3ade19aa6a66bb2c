"""The protocol over HTTP, as an application of ASGI.

It speaks ASGI itself: a router and objects for requests cost more here than eight paths are worth.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from prometheus_client import CONTENT_TYPE_LATEST

from intarsia.serving.access import Access
from intarsia.serving.figures import Figures
from intarsia.serving.http.bodies import HEADER_LENGTH, Decoder
from intarsia.serving.http.deadlines import Deadlines
from intarsia.serving.http.inference import Content, Inference
from intarsia.serving.http.messages import Answer, Receive, Request, Scope, Send, json_answer, readiness, refusal
from intarsia.serving.limits import Limits
from intarsia.serving.logs import tell_error
from intarsia.serving.repository import Repository
from intarsia.serving.served import ServedModel
from intarsia.serving.server_facts import server_metadata
from intarsia.serving.statuses import RequestError, Status
from intarsia.serving.versions import Ticket, put

_READ = ("GET", "HEAD")
_HEADER_LENGTH = HEADER_LENGTH.encode()
_BYTES = (b"content-type", b"application/octet-stream")
_OF_MODEL = re.compile(r"/v2/models/([^/]+)(?:/versions/([^/]+))?(?:/(infer|ready))?")
_Act = Callable[[Request], Awaitable[Answer]]


class _Path(NamedTuple):
    """What a path leads to, by which methods, and whether to anybody."""

    act: _Act
    methods: tuple[str, ...] = _READ
    is_open: bool = False


class HttpEndpoint:
    """Answers requests over HTTP. `app` is what a web server calls."""

    def __init__(self, repository: Repository, figures: Figures, limits: Limits, access: Access) -> None:
        self._repository = repository
        self._figures = figures
        self._limits = limits
        self._access = access
        self._decode = Decoder()
        self._deadlines = Deadlines(limits.timeout_s)
        self._has_answered = False
        """Whether the loop has answered a request itself in this round."""
        self._round: list[Inference] = []
        self.is_draining = False
        """Whether every answer is to end its connection."""
        self._of_model = {
            "infer": _Path(self._infer, ("POST",)),
            "ready": _Path(self._model_ready),
            "": _Path(self._metadata),
        }
        self._others = {
            "/v2": _Path(self._about),
            "/v2/health/live": _Path(self._live, is_open=True),
            "/v2/health/ready": _Path(self._ready, is_open=True),
            "/metrics": _Path(self._metrics),
        }

    async def app(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        methods: tuple[str, ...] = ()
        try:
            path, name, version = self._found(scope["path"])
            methods = path.methods
            headers = dict(scope["headers"])
            if scope["method"] not in methods:
                raise RequestError(Status.WRONG_METHOD, f"{scope['method']} is not for {scope['path']}")
            if not path.is_open and not self._access.admits(headers.get(b"authorization", b"")):
                raise RequestError(Status.UNAUTHENTICATED, "give the server's token: Authorization: Bearer TOKEN")
            answer = await path.act(Request(name, version, headers, receive))
        except RequestError as error:
            answer = refusal(error, methods)
        except _GoneError:
            return
        except Exception as error:
            tell_error("failed", error, path=scope["path"])
            answer = refusal(RequestError(Status.FAILED, f"unexpected {type(error).__name__}"), methods)
        await answer.send(send, and_close=self.is_draining)

    def _found(self, path: str) -> tuple[_Path, str, str]:
        """What a path leads to, with the model and the version that it names."""
        of_model = _OF_MODEL.fullmatch(path)
        if of_model is not None:
            name, version, what = of_model.groups("")
            return self._of_model[what], name, version
        other = self._others.get(path)
        if other is None:
            raise RequestError(Status.NOT_FOUND, f"there is nothing at {path}")
        return other, "", ""

    async def _about(self, _: Request) -> Answer:
        return json_answer(server_metadata())

    async def _live(self, _: Request) -> Answer:
        return json_answer({"live": True})

    async def _ready(self, _: Request) -> Answer:
        return readiness(self._repository.is_ready)

    async def _metrics(self, _: Request) -> Answer:
        return Answer(content=self._figures.text(), headers=((b"content-type", CONTENT_TYPE_LATEST.encode()),))

    async def _model_ready(self, request: Request) -> Answer:
        model = self._repository.model(request.name)
        if model.metadata is not None:
            model.check_version(request.version)
        return readiness(model.is_ready, name=model.name)

    async def _metadata(self, request: Request) -> Answer:
        found = self._repository.model(request.name).check_version(request.version)
        return json_answer(
            {
                "name": found.name,
                "versions": [found.version],
                "platform": "intarsia",
                "inputs": [each.as_json() for each in found.inputs],
                "outputs": [each.as_json() for each in found.outputs],
            }
        )

    async def _infer(self, request: Request) -> Answer:
        model = self._repository.model(request.name)
        try:
            ticket = model.admit(request.version)
        except RequestError as error:
            model.count(error.status)
            raise
        watched = self._deadlines.begin()
        try:
            content, length = await self._answered(request, model, ticket)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if not watched.is_late or task is None or task.uncancel():
                raise
            within = f"within {self._limits.timeout_s:g} s"
            if ticket.size:  # its body was whole
                raise RequestError(Status.OVERLOADED, f"not answered {within}; ask again later") from None
            model.count(Status.SLOW_CLIENT)
            raise RequestError(Status.SLOW_CLIENT, f"the body did not come {within}") from None
        finally:
            self._deadlines.end(watched)
        if length is None:
            return Answer(content=content)
        return Answer(content=content, headers=(_BYTES, (_HEADER_LENGTH, b"%d" % length)))

    async def _answered(self, request: Request, model: ServedModel, ticket: Ticket) -> Content:
        """The answer to a request that was admitted."""
        try:
            body = await self._body(request)
        except BaseException as error:
            model.release(ticket)
            if isinstance(error, RequestError):
                model.count(error.status)
            raise
        ticket.began = time.monotonic()
        ticket.size = len(body)
        length_stated = request.headers.get(_HEADER_LENGTH)
        stated = None if length_stated is None else length_stated.decode("latin-1")
        inference = Inference(model, ticket, body, stated, self._decode)
        if self._is_answered_here(model, ticket):
            return inference.answer()
        inference.future = asyncio.get_running_loop().create_future()
        if not self._round:
            asyncio.get_running_loop().call_soon(self._put_round)
        self._round.append(inference)
        return await inference.future

    def _is_answered_here(self, model: ServedModel, ticket: Ticket) -> bool:
        """Whether the loop is to answer this, the only one in this round, by an instance that is reserved for it."""
        if (
            self._has_answered
            or not self._repository.is_answered_where_read(model, ticket)
            or not model.reserve(ticket)
        ):
            return False
        self._has_answered = True
        asyncio.get_running_loop().call_soon(self._begin_round)
        return True

    def _begin_round(self) -> None:
        self._has_answered = False

    def _put_round(self) -> None:
        """Hand over what came in this round of the loop, all at once: each time, a thread is woken."""
        came, self._round = self._round, []
        put(came)

    async def _body(self, request: Request) -> bytes:
        """The body, read whole within its bounds."""
        headers, most = request.headers, self._limits.body_bytes
        if headers.get(b"content-encoding", b"identity") != b"identity":
            raise RequestError(Status.ENCODED, "send the body as it is, without a Content-Encoding")
        stated = headers.get(b"content-length", b"0")
        if stated.isdigit() and len(stated) < 20 and int(stated) > most:
            raise _too_large(most)
        chunks, size, more = [], 0, True
        while more:
            message = await request.receive()
            if message["type"] == "http.disconnect":
                raise _GoneError
            chunks.append(message.get("body", b""))
            size += len(chunks[-1])
            if size > most:
                raise _too_large(most)
            more = message.get("more_body", False)
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)


class _GoneError(Exception):
    """Who asked hung up."""


def _too_large(most: int) -> RequestError:
    return RequestError(Status.TOO_LARGE, f"a body has at most {most} bytes here; --max-body allows more")
