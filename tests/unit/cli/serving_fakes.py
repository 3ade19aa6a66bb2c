"""A server that notes what it is to serve, and listens nowhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from intarsia.addresses import Address
from intarsia.serving import Endpoints, Server


class Noted(Server):
    """Takes what a server takes, listens nowhere, and is ready at once."""

    made: dict[str, Any] = {}  # noqa: RUF012 - filled anew by each

    def __init__(self, files: Any, endpoints: Endpoints, **settings: Any) -> None:
        Noted.made = {"files": files, "endpoints": endpoints, **settings}

    def run(self, on_listening: Callable[[Endpoints], object], on_ready: Callable[[], object]) -> None:
        on_listening(Endpoints(http=Address("127.0.0.1", 4000), grpc=None))
        on_ready()
