from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from intarsia.addresses import Address
from intarsia.errors import ConfigError
from intarsia.serving.access import Access
from intarsia.serving.figures import Figures
from intarsia.serving.grpc.service import GrpcEndpoint
from intarsia.serving.http.app import HttpEndpoint
from intarsia.serving.limits import Limits
from intarsia.serving.repository import Repository
from intarsia.serving.server import _Web
from tests.unit.serving.fakes import Gated, loaded

FIGURES = Figures()
REPOSITORY = Repository({"m": Path("m")}, lambda *_: loaded(Gated()), Limits(), FIGURES)
UNHAD = Address("192.0.2.1", 80)
"""An address for documents (RFC 5737), which no machine has."""


@pytest.fixture
def taken() -> Iterator[Address]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield Address("127.0.0.1", listening.getsockname()[1])


@pytest.mark.parametrize("is_taken", [True, False])
def test_grpc_says_where_it_cannot_listen(taken: Address, is_taken: bool) -> None:
    address = taken if is_taken else UNHAD
    endpoint = GrpcEndpoint(REPOSITORY, Limits(), Access(), 1)
    with pytest.raises(ConfigError, match=f"nothing can listen on {address}"):
        endpoint.listen(address)
    endpoint.stop(0)


@pytest.mark.parametrize("is_taken", [True, False])
def test_http_says_where_it_cannot_listen(taken: Address, is_taken: bool) -> None:
    address = taken if is_taken else UNHAD
    web = _Web(HttpEndpoint(REPOSITORY, FIGURES, Limits(), Access()), Access())
    with pytest.raises(ConfigError, match=f"nothing can listen on {address}"):
        asyncio.run(web.listen(address))
