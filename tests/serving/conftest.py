from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serving.models import protocol_files, protocol_models
from tests.serving.process import Addresses, Calls, Running, Web, serving

ELSEWHERE = "PROTOCOL_SERVED_AT"
"""Where another server listens, ``HTTP,GRPC``, that the tests of the protocol are to ask: `tests.serving.beside`."""


@pytest.fixture(scope="session")
def artifacts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ``net.intarsia``, two layers, and ``types``, ``fp16`` and ``bf16``, identities."""
    return protocol_models(tmp_path_factory.mktemp("served"))


@pytest.fixture(scope="session")
def running(artifacts: Path) -> Iterator[Running]:
    """One server for all tests that end no server; no body may have more than 2 MiB."""
    with serving(*protocol_files(artifacts), "--max-body", "2MiB") as found:
        yield found


@pytest.fixture(scope="session")
def addresses(request: pytest.FixtureRequest) -> Addresses:
    """Of our server, or of another one that the environment names."""
    elsewhere = os.environ.get(ELSEWHERE)
    if elsewhere is None:
        running: Running = request.getfixturevalue("running")
        return Addresses(running.http, running.grpc)
    return Addresses(*elsewhere.split(","))


@pytest.fixture
def web(addresses: Addresses) -> Iterator[Web]:
    with Web(addresses.http, again=True) as found:
        yield found


@pytest.fixture
def calls(addresses: Addresses) -> Iterator[Calls]:
    with Calls(addresses.grpc) as found:
        yield found
