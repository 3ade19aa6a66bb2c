"""A worker in the process of the tests, which compiles in processes of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from intarsia.addresses import Address
from intarsia.remote.listening import Listener, Listening
from intarsia.remote.place import WorkerPlace
from intarsia.remote.service import Limits
from tests.remote_workers import TOKEN

LIMITS = Limits(content_bytes=1 << 20, budget_s=100.0, models=1, compiles=1)


@pytest.fixture(scope="session")
def token_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("token") / "token"
    path.write_text(TOKEN, encoding="ascii")
    return path


@pytest.fixture(scope="session")
def listener(tmp_path_factory: pytest.TempPathFactory, token_file: Path) -> Iterator[Listener]:
    store = tmp_path_factory.mktemp("store") / "records.sqlite"
    how = Listening(address=Address.parse("127.0.0.1:0"), token_file=token_file, store=store, limits=LIMITS)
    with Listener(how) as made:
        yield made


@pytest.fixture
def place(listener: Listener, token_file: Path) -> WorkerPlace:
    return WorkerPlace.of(str(listener.address), token_file, timeout=5.0)
