"""Workers that are forked are what they were told to be, and their clients learn how they end."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from intarsia.cost.worker.process import ForkedProcess

PROGRAM = """
import ctypes, json, os, sys
from intarsia.cost.worker import fork_server

def work():
    if sys.argv[1] == "exit":
        sys.exit(int(sys.argv[2]))
    if sys.argv[1] == "fail":
        raise ValueError("no such work")
    memory = ctypes.create_string_buffer(1 << 24)
    told = {"word": os.environ["WORD"], "names": len(os.environ), "arguments": sys.argv[1:], "path": sys.path}
    told |= {"folder": os.getcwd(), "session": os.getsid(0), "number": os.getpid(), "place": ctypes.addressof(memory)}
    print(json.dumps(told), flush=True)
    sys.stdin.read()

if __name__ == "__main__":
    fork_server.main(int(sys.argv[1]), work)
"""
PATIENCE_S = 300.0


class Server:
    """A fork server with work of its own, and the parent's end of its socket."""

    def __init__(self, program: Path, log: Path) -> None:
        self.control, theirs = socket.socketpair()
        self.log = log.open("wb")
        with theirs:
            command = [sys.executable, str(program), str(theirs.fileno())]
            self.process = subprocess.Popen(command, pass_fds=[theirs.fileno()])

    def start(self, setup: dict[str, Any]) -> ForkedProcess:
        status, their_status = socket.socketpair()
        (their_input, stdin), (stdout, their_output) = os.pipe(), os.pipe()
        files = [their_input, their_output, self.log.fileno(), their_status.fileno()]
        socket.send_fds(self.control, [b"f"], files)
        os.close(their_input)
        os.close(their_output)
        their_status.close()
        worker = ForkedProcess(os.fdopen(stdin, "wb"), os.fdopen(stdout, "rb"), status)
        assert worker.stdin is not None
        worker.stdin.write(json.dumps(setup).encode() + b"\n")
        worker.stdin.flush()
        return worker


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    made = Server(program, tmp_path / "log")
    yield made
    made.control.close()
    assert made.process.wait(PATIENCE_S) == 0  # it ends with its parent's end of the socket
    made.log.close()


def setup(folder: Path, *arguments: str) -> dict[str, Any]:
    return {"environment": {"WORD": "yes"}, "arguments": list(arguments), "path": ["here"], "folder": str(folder)}


def close(worker: ForkedProcess) -> int:
    assert worker.stdin is not None
    assert worker.stdout is not None
    worker.stdin.close()
    worker.stdout.close()
    return worker.wait()


def let_go(worker: ForkedProcess) -> None:
    """As if whoever started it were gone."""
    worker._told.close()
    worker._status.close()
    for pipe in (worker.stdin, worker.stdout):
        assert pipe is not None
        pipe.close()


def told(worker: ForkedProcess) -> dict[str, Any]:
    assert worker.stdout is not None
    found: dict[str, Any] = json.loads(worker.stdout.readline())
    return found


def test_a_worker_has_variables_arguments_and_a_folder_of_its_own(server: Server, tmp_path: Path) -> None:
    worker = server.start(setup(tmp_path, "tell", "more"))
    found = told(worker)
    assert (found["word"], found["names"], found["arguments"]) == ("yes", 1, ["tell", "more"])
    assert (found["path"], found["folder"]) == (["here"], str(tmp_path))
    assert found["number"] == found["session"] == worker.pid  # Ctrl-C in a terminal is for another session
    assert close(worker) == 0


def test_no_two_have_their_memory_at_one_place(server: Server, tmp_path: Path) -> None:
    workers = [server.start(setup(tmp_path, "tell")) for _ in range(4)]
    assert len({told(worker)["place"] for worker in workers}) == 4
    assert [close(worker) for worker in workers] == [0] * 4


def test_how_a_worker_ended_is_told(server: Server, tmp_path: Path) -> None:
    assert close(server.start(setup(tmp_path, "exit", "3"))) == 3
    assert close(server.start(setup(tmp_path, "fail"))) == 1
    assert "ValueError: no such work" in (tmp_path / "log").read_text(encoding="utf-8")
    killed = server.start(setup(tmp_path, "tell"))
    os.kill(killed.pid, signal.SIGTERM)
    assert close(killed) == -signal.SIGTERM


def test_who_is_killed_is_waited_for_once(server: Server, tmp_path: Path) -> None:
    worker = server.start(setup(tmp_path, "tell"))
    worker.kill()
    assert worker.wait() == worker.wait() == -signal.SIGKILL
    worker.kill()  # its number may be another process's by now
    close(worker)


def test_one_that_ends_as_its_client_lets_go_leaves_the_server_at_work(server: Server, tmp_path: Path) -> None:
    worker = server.start(setup(tmp_path, "tell"))
    number = told(worker)["number"]
    server.process.send_signal(signal.SIGSTOP)  # so that it finds both at one time
    let_go(worker)
    os.kill(number, signal.SIGKILL)
    server.process.send_signal(signal.SIGCONT)
    assert close(server.start(setup(tmp_path, "exit", "3"))) == 3


def test_a_worker_that_nobody_holds_is_ended(server: Server, tmp_path: Path) -> None:
    worker = server.start(setup(tmp_path, "tell"))
    child = psutil.Process(told(worker)["number"])
    let_go(worker)
    child.wait(PATIENCE_S)
