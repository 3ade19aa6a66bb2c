"""Where workers are forked from, and when they are started by themselves after all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Never

import pytest

from intarsia.cost.worker import process
from intarsia.cost.worker.client import WorkerClient, ask_twice
from intarsia.cost.worker.process import ForkedProcess, WorkerProcess, fork_server
from intarsia.cost.worker.protocol import Wait, Waited

PATIENCE_S = 300.0
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="workers are forked on Linux alone")


@pytest.fixture(autouse=True)
def no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """That of all tests is none here."""
    monkeypatch.setattr(process, "_servers", [])


@pytest.fixture
def client(tmp_path: Path) -> Iterator[WorkerClient]:
    with WorkerClient(tmp_path, {}) as worker:
        yield worker


def started(client: WorkerClient) -> WorkerProcess:
    assert isinstance(client.ask(Wait(), PATIENCE_S), Waited)
    return client._running()


def test_contexts_inside_each_other_use_one_server_which_ends_with_the_last(client: WorkerClient) -> None:
    with fork_server():
        outer = process._servers[-1]
        with fork_server():
            assert process._servers[-1] is outer
            assert isinstance(started(client), ForkedProcess)
        assert isinstance(client.ask(Wait(), PATIENCE_S), Waited)
        client.close()
    assert process._servers == []
    assert outer._process.returncode is not None


def test_without_one_a_worker_is_started_by_itself(client: WorkerClient) -> None:
    assert isinstance(started(client), subprocess.Popen)


@pytest.mark.parametrize("variable", ["LD_DEBUG_OUTPUT", "PYTHONHASHSEED", "MALLOC_ARENA_MAX"])
def test_so_is_one_with_variables_that_are_read_at_the_start_of_a_process(tmp_path: Path, variable: str) -> None:
    with fork_server(), WorkerClient(tmp_path, {variable: "1"}) as worker:
        assert isinstance(started(worker), subprocess.Popen)


def test_so_are_all_where_the_system_cannot_hold_on_to_a_process(
    client: WorkerClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: int) -> Never:
        raise OSError("not implemented")

    monkeypatch.setattr(os, "pidfd_open", refuse)
    with fork_server():
        assert isinstance(started(client), subprocess.Popen)


def test_workers_end_with_their_server_and_the_next_is_started_by_itself(client: WorkerClient) -> None:
    with fork_server():
        assert isinstance(started(client), ForkedProcess)
        server = process._servers[-1]._process
        os.kill(server.pid, signal.SIGKILL)
        server.wait()
        assert isinstance(ask_twice(client, Wait(), PATIENCE_S), Waited)
        assert isinstance(client._running(), subprocess.Popen)


def test_a_forked_child_of_this_process_has_no_part_in_its_server() -> None:
    with fork_server():
        own = process._servers[-1]
        own.owner += 1  # as a child finds it
        try:
            assert process._current() is None
        finally:
            own.owner -= 1
