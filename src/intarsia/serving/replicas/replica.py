"""One replica: the application over HTTP, with its models loaded, in a process that Ray Serve started."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from intarsia.files import Scratch, replace_file, sweep_temporary
from intarsia.remote.actors.threads import take_threads_back
from intarsia.serving.access import Access
from intarsia.serving.figures import Figures
from intarsia.serving.http.app import HttpEndpoint
from intarsia.serving.http.messages import Receive, Scope, Send
from intarsia.serving.limits import GIL_S, Limits
from intarsia.serving.loaded import Loading
from intarsia.serving.logs import json_lines
from intarsia.serving.repository import Repository


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaSettings:
    """What every replica is started with.

    Attributes:
        files: The artifacts by the names of their models. They are read where they are, and must not change.
        loading: How they are loaded.
        limits: The bounds of each model in one replica.
        access: Who may call.
        log_requests: Whether each request that is answered is logged.
    """

    files: Mapping[str, Path]
    loading: Loading
    limits: Limits
    access: Access
    log_requests: bool


class Replica:
    """An application of ASGI that loads its models when it is made, and frees them when its lifespan ends."""

    def __init__(self, settings: ReplicaSettings, contents: Mapping[str, bytes] | None = None) -> None:
        """Load the models; ``contents`` are the artifacts where their files are on another machine.

        Raises:
            IntarsiaError: One cannot be loaded.
        """
        sweep_temporary()  # what a replica that was killed left
        take_threads_back()
        sys.setswitchinterval(GIL_S)
        with ExitStack() as stack:
            stack.enter_context(json_lines())
            if contents is not None:
                folder = stack.enter_context(Scratch()).path
                settings = replace(settings, files=_written(settings.files, contents, folder))
            figures = Figures()
            loading = replace(settings.loading, in_place=True)
            self._repository = Repository(
                settings.files, loading, settings.limits, figures, log_requests=settings.log_requests
            )
            stack.callback(self._repository.close)
            self._repository.load_all()
            self._http = HttpEndpoint(self._repository, figures, settings.limits, settings.access)
            self._timeout_s = settings.limits.timeout_s
            self._end = stack.pop_all()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or begin and end with the process."""
        if scope["type"] == "http":
            await self._http.app(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._live(receive, send)
        else:  # a websocket, which the protocol does not have
            await receive()
            await send({"type": "websocket.close", "code": 1000})

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.shutdown":
                self._repository.drain()
                # On other threads: the loop still hands over what it has read.
                await asyncio.to_thread(self._repository.wait_drained, self._timeout_s)
                await asyncio.to_thread(self._end.close)
            await send({"type": f"{message['type']}.complete"})
            if message["type"] == "lifespan.shutdown":
                return


def _written(files: Mapping[str, Path], contents: Mapping[str, bytes], folder: Path) -> dict[str, Path]:
    """Contents as files of the same names, by the names of their models."""
    places: dict[str, Any] = {}
    for number, (name, content) in enumerate(contents.items()):
        place = folder / str(number)
        place.mkdir()
        places[name] = place / files[name].name
        replace_file(places[name], content, lasts=False)
    return places
