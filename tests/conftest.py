"""What holds for every test: an environment and a machine lock of its own, a hypothesis profile without time limits."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from intarsia.cost.worker.process import fork_server

if TYPE_CHECKING:
    from tests.postgres import Cluster

settings.register_profile("intarsia", deadline=None, print_blob=True)
settings.load_profile("intarsia")


@pytest.fixture(scope="session", autouse=True)
def own_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test reads the user's settings or touches the user's record store; worker processes inherit this.

    The machine lock lies among the temporary files: with a folder of its own, no other test process or compile on this
    machine is waited for.
    """
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("INTARSIA_")]:
            patch.delenv(name)
        for name in (
            "MAKEFLAGS",
            "MAKELEVEL",
            "MFLAGS",
        ):  # `make` in a test says no more where `make` started the tests
            patch.delenv(name, raising=False)
        patch.setenv("ORT_DISABLE_TELEMETRY", "1")  # of tests that use ONNX Runtime without us
        patch.setenv("XDG_CACHE_HOME", str(_cache(tmp_path_factory)))
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
        temporary = tmp_path_factory.mktemp("tmp")
        patch.setenv("TMPDIR", str(temporary))
        patch.setattr(tempfile, "tempdir", str(temporary))  # what this process has already looked up
        yield


def _cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder in which our kernels, which take half a minute to compile, are those of all test processes."""
    base = tmp_path_factory.getbasetemp()
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "native"
    shared.mkdir(exist_ok=True)
    cache = tmp_path_factory.mktemp("cache")
    (cache / "intarsia").mkdir()
    (cache / "intarsia" / "native").symlink_to(shared, target_is_directory=True)
    return cache


@pytest.fixture(scope="session", autouse=True)
def forked_workers(own_environment: None) -> Iterator[None]:
    """Compiles in this process share what their workers are forked from, which takes most of a second to start."""
    with fork_server():
        yield


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A server of PostgreSQL."""
    from tests.postgres import running

    with running() as made:
        yield made


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """What names an empty record store, in each kind of database."""
    if request.param == "sqlite":
        return str(tmp_path / "r.sqlite")
    server: Cluster = request.getfixturevalue("cluster")
    return server.url(server.schema())


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--regenerate", action="store_true", help="write the transcripts under tests/golden anew")
    parser.addoption("--cases", metavar="FILE", help="case file of tests/conformance/test_rows.py, instead of its own")
    parser.addoption(
        "--records", metavar="FOLDER", help="where the node cases of an engine that is not ours are on file"
    )
