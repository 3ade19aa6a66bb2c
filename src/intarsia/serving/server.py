"""The server: its endpoints, the signals that end it, and the order in which things begin and end."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import uvicorn
import uvloop

from intarsia.addresses import Address
from intarsia.errors import ConfigError
from intarsia.serving.access import Access
from intarsia.serving.figures import Figures
from intarsia.serving.grpc.service import GrpcEndpoint
from intarsia.serving.http.app import HttpEndpoint
from intarsia.serving.limits import GIL_S, KEEP_ALIVE_S, OTHER_CALLS, Limits
from intarsia.serving.loaded import Loader
from intarsia.serving.logs import tell
from intarsia.serving.repository import Repository
from intarsia.target.cores import thread_budget

_INTERRUPTED = 130
_LINGER_S = 0.2
"""How long what still comes is refused in words, after the last request was answered, before connections are cut."""
_GRACE_S = 2.0
"""How long calls over gRPC have to end whose answers were handed over; those that came too late are then cut."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoints:
    """Where a server listens; ``None`` for a protocol that it does not speak."""

    http: Address | None
    grpc: Address | None


class Server:
    """Serves artifacts until it is told to end."""

    def __init__(
        self,
        files: Mapping[str, Path],
        endpoints: Endpoints,
        *,
        loading: Loader,
        limits: Limits,
        access: Access,
        reload_every_s: float,
        log_requests: bool = False,
    ) -> None:
        self._endpoints = endpoints
        self._access = access
        self._limits = limits
        self._reload_every_s = reload_every_s
        self._figures = Figures()
        self._repository = Repository(files, loading, limits, self._figures, log_requests=log_requests)
        self._calls = len(files) * (limits.waiting + (loading.instances or thread_budget())) + OTHER_CALLS

    def run(self, on_listening: Callable[[Endpoints], object], on_ready: Callable[[], object]) -> None:
        """Serve until SIGTERM or SIGINT, then answer what was admitted. The callbacks are called once each.

        Raises:
            IntarsiaError: It cannot listen, or an artifact cannot be loaded.
        """
        before = sys.getswitchinterval()
        sys.setswitchinterval(GIL_S)
        try:
            uvloop.run(self._run(on_listening, on_ready))
        finally:
            sys.setswitchinterval(before)
            self._repository.close()

    async def _run(self, on_listening: Callable[[Endpoints], object], on_ready: Callable[[], object]) -> None:
        ending = self._watch_signals()
        with _stopped() as stop:
            http = HttpEndpoint(self._repository, self._figures, self._limits, self._access)
            web = None if self._endpoints.http is None else _Web(http, self._access)
            grpc = (
                None
                if self._endpoints.grpc is None
                else GrpcEndpoint(self._repository, self._limits, self._access, self._calls)
            )
            try:
                listening = Endpoints(
                    http=None
                    if web is None or self._endpoints.http is None
                    else await web.listen(self._endpoints.http),
                    grpc=None if grpc is None or self._endpoints.grpc is None else grpc.listen(self._endpoints.grpc),
                )
                on_listening(listening)
                await asyncio.to_thread(self._repository.load_all)
                if not ending.is_set():
                    on_ready()
                    if self._reload_every_s:
                        threading.Thread(
                            target=self._repository.watch, args=(self._reload_every_s, stop), name="intarsia-reload"
                        ).start()
                await ending.wait()
                await self._drain(http)
            finally:
                stop.set()
                if grpc is not None:
                    await asyncio.to_thread(grpc.stop, _GRACE_S)
                if web is not None:
                    await web.close()

    async def _drain(self, http: HttpEndpoint) -> None:
        http.is_draining = True
        self._repository.drain()
        tell("draining")
        left = await asyncio.to_thread(self._repository.wait_drained, 2 * self._limits.timeout_s)
        await asyncio.sleep(_LINGER_S)
        tell("ended", unanswered=left)

    def _watch_signals(self) -> asyncio.Event:
        """What is set by the first SIGTERM or SIGINT; the second ends the process at once."""
        ending = asyncio.Event()

        def end() -> None:
            if ending.is_set():
                os._exit(_INTERRUPTED)
            ending.set()

        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, end)
        return ending


class _Web:
    """The web server in front of an application."""

    def __init__(self, endpoint: HttpEndpoint, access: Access) -> None:
        config = uvicorn.Config(
            endpoint.app,
            interface="asgi3",
            proxy_headers=False,  # nothing asks where a request comes from
            access_log=False,
            log_config=None,
            log_level="warning",
            http="httptools",
            ws="none",
            lifespan="off",
            server_header=False,
            timeout_keep_alive=KEEP_ALIVE_S,
            ssl_certfile=access.certificate,
            ssl_keyfile=access.key,
        )
        self._server = _Quiet(config)
        self._task: asyncio.Task[None] | None = None

    async def listen(self, address: Address) -> Address:
        """Begin to answer; the address with the port that was taken.

        Raises:
            ConfigError: Nothing can listen there.
        """
        family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        taken = socket.socket(
            family, socket.SOCK_STREAM, socket.IPPROTO_TCP
        )  # asyncio sends at once only where it says TCP
        try:
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            taken.bind((address.host, address.port))
        except OSError as error:
            taken.close()
            raise ConfigError(f"nothing can listen on {address}: {error.strerror or error}") from error
        self._task = asyncio.create_task(self._server.serve([taken]))
        while not self._server.started and not self._task.done():
            await asyncio.sleep(0.005)
        if self._task.done():
            await self._task
        return Address(address.host, taken.getsockname()[1])

    async def close(self) -> None:
        """Take no connection any more, let those that are being answered be answered, and end."""
        self._server.should_exit = True
        if self._task is not None:
            await self._task


class _Quiet(uvicorn.Server):
    """A web server that leaves signals to us."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


@contextmanager
def _stopped() -> Iterator[threading.Event]:
    """What tells threads to stop, when the block ends at the latest."""
    stop = threading.Event()
    try:
        yield stop
    finally:
        stop.set()
