"""How processes of workers are started: forked from a server while one is at hand, else each by itself."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import IO, Any, Final

PROGRAM: Final = "intarsia.cost.worker"
FORK_SERVER: Final = "fork-server"
"""First argument of the program where it is to fork workers, and not to be one."""
_READ_AT_START: Final = ("LD_", "GLIBC_", "MALLOC_", "OPENBLAS_", "PYTHON", "LC_", "LANG")
"""How variables begin that the loader, C's library, numpy and Python read when a process starts."""


class ForkedProcess:
    """A worker that the server forked, used as a `subprocess.Popen`. Its number is free for others after `wait`."""

    def __init__(self, stdin: IO[bytes], stdout: IO[bytes], status: socket.socket) -> None:
        self.stdin: IO[bytes] | None = stdin
        self.stdout: IO[bytes] | None = stdout
        self._status = status
        self._told = status.makefile("rb")
        self._pid: int | None = None
        self._code: int | None = None

    @property
    def pid(self) -> int:
        """The number of the process, or 0 if it never came to be; waits for the server where it still starts."""
        if self._pid is None:
            self._pid = int(self._told.readline() or 0)
        return self._pid

    def kill(self) -> None:
        """End it by SIGKILL, if it has not ended."""
        if self._code is None and self.pid:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        """Its status, or minus the signal that ended it; the server's end is taken for SIGKILL, which follows it."""
        if self._code is None:
            line = self._told.readline() if self.pid else b""
            self._code = int(line) if line else -signal.SIGKILL
            self._told.close()
            self._status.close()
        return self._code


WorkerProcess = subprocess.Popen[bytes] | ForkedProcess


class _Server:
    """The fork server of this process, as long as somebody uses it."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self._environment = _at_start(os.environ)
        self._lock = threading.Lock()
        self._control, theirs = socket.socketpair()
        try:
            with theirs:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", PROGRAM, FORK_SERVER, str(theirs.fileno())],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    env=os.environ | {"PYTHONPATH": os.pathsep.join(_search_path())},
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,
                )
        except OSError:
            self._control.close()
            raise

    def start(self, setup: Mapping[str, Any], log: IO[bytes]) -> ForkedProcess | None:
        """Ask for a worker, which is forked once the server is there; ``None`` if the server cannot make such a one."""
        if self._process.poll() is not None or _at_start(setup["environment"]) != self._environment:
            return None
        status, their_status = socket.socketpair()
        their_input, own_input = os.pipe()
        own_output, their_output = os.pipe()
        stdin, stdout = os.fdopen(own_input, "wb"), os.fdopen(own_output, "rb")
        try:
            with self._lock:
                files = [their_input, their_output, log.fileno(), their_status.fileno()]
                socket.send_fds(self._control, [b"f"], files)
        except OSError:
            stdout.close()
            stdin.close()
            status.close()
            return None
        finally:
            os.close(their_input)
            os.close(their_output)
            their_status.close()
        with suppress(BrokenPipeError):
            stdin.write(json.dumps(setup).encode() + b"\n")
            stdin.flush()
        return ForkedProcess(stdin, stdout, status)

    def close(self) -> None:
        """End it."""
        self._control.close()
        self._process.kill()
        self._process.wait()


_lock = threading.Lock()
_servers: list[_Server] = []
"""The server of each context that is open; of those inside another one, the same."""


@contextmanager
def fork_server() -> Iterator[None]:
    """Have the workers that are started meanwhile forked from one process, where the system can do that safely (Linux).

    It takes as long to start as a worker does, so it is worth it for three or more. Contexts may be inside each other,
    and on several threads at one time: all use one server, which ends with the last.
    """
    if not _can_fork():
        yield
        return
    with _lock:
        own = _current() or _started()
        if own is not None:
            _servers.append(own)
    if own is None:
        yield
        return
    try:
        yield
    finally:
        with _lock:
            _servers.remove(own)
            is_last = own not in _servers
        if is_last and own.owner == os.getpid():
            own.close()


def _current() -> _Server | None:
    """The server that is at hand: not one of the process that this one was forked from."""
    return _servers[-1] if _servers and _servers[-1].owner == os.getpid() else None


def _started() -> _Server | None:
    with suppress(OSError):  # no room for another process: workers say so when they are to start
        return _Server()
    return None


def start_worker(arguments: Sequence[str], environment: Mapping[str, str], log: IO[bytes]) -> WorkerProcess:
    """Start a worker with these variables, whose standard error goes to ``log``.

    Raises:
        OSError: No process can be started.
    """
    path = _search_path()
    wanted = {**environment, "PYTHONPATH": os.pathsep.join(path)}
    with _lock:
        server = _current()
    if server is not None:
        setup = {"arguments": list(arguments), "environment": wanted, "path": ["", *path], "folder": _folder()}
        forked = server.start(setup, log)
        if forked is not None:
            return forked
    return subprocess.Popen(
        [sys.executable, "-m", PROGRAM, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
        env=wanted,
        start_new_session=True,  # Ctrl-C is for us: a worker that died of it would seem to have crashed
    )


def _search_path() -> list[str]:
    """This process's own, so that what it could import a worker can import too."""
    return [entry for entry in sys.path if entry]


def _folder() -> str:
    with suppress(OSError):  # it may have been removed
        return os.getcwd()
    return os.sep


def _at_start(environment: Mapping[str, str]) -> Mapping[str, str]:
    return {
        name: value for name, value in environment.items() if name.startswith(_READ_AT_START) and name != "PYTHONPATH"
    }


def _can_fork() -> bool:
    if sys.platform != "linux":
        return False
    try:
        os.close(os.pidfd_open(os.getpid()))
    except OSError:  # a system that has no such descriptors
        return False
    return True
