"""The process that workers are forked from, so that each starts in hundredths of a second, not in most of one.

It imports what a worker needs and loads no engine, so a worker still loads its engines under its own environment. A
client sends one byte with four files: the worker's standard input, output and error, and a socket by which the client
learns the worker's number and, behind it, how it ended. The first line of the worker's input says what it is to become.
"""

from __future__ import annotations

import ctypes
import gc
import io
import json
import mmap
import os
import random
import selectors
import signal
import socket
import sys
import traceback
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

_FILES: Final = 4
"""Standard input, output and error, and the socket."""
_LOOKS_S: Final = 1.0
"""How often it looks whether its parent lives: a child that the parent forked may hold the other end of the socket."""
_PAGE: Final = mmap.PAGESIZE
_MOST_PAGES: Final = 1 << 14
"""By so many pages of addresses, at most, workers differ from each other."""
_KEPT: list[mmap.mmap] = []
"""What moves the addresses of this process lives as long as it."""


@dataclass(frozen=True, slots=True)
class _Worker:
    number: int
    end: int
    """Readable once the process has ended."""
    client: socket.socket


class ForkServer:
    """Forks a worker for each request, tells clients how theirs ended, and ends those that nobody holds any more."""

    def __init__(self, control: socket.socket, work: Callable[[], None]) -> None:
        self._control = control
        self._work = work
        self._parent = os.getppid()
        self._selector = selectors.DefaultSelector()
        self._workers: set[_Worker] = set()

    def serve(self) -> None:
        """Answer until the parent closes its end, or is gone; workers end with this process."""
        gc.freeze()  # what is there now is never looked through again, neither here nor in a worker
        self._selector.register(self._control, selectors.EVENT_READ, self._fork)
        while os.getppid() == self._parent:
            for key, _ in self._selector.select(_LOOKS_S):
                if key.data() is False:
                    return

    def _fork(self) -> bool:
        """Fork one worker; false at the end."""
        asked, files, _, _ = socket.recv_fds(self._control, 1, _FILES)
        if not asked:
            return False
        *standard, status = files
        client = socket.socket(fileno=status)
        number = _forked()
        if number == 0:
            _run(standard, self._leave, client, self._work)
        for file in standard:
            os.close(file)
        if number is None:  # its client finds that it has ended
            client.close()
            return True
        with suppress(OSError):
            client.sendall(b"%d\n" % number)
        worker = _Worker(number, os.pidfd_open(number), client)
        self._workers.add(worker)
        self._selector.register(worker.end, selectors.EVENT_READ, lambda: self._ended(worker))
        self._selector.register(client, selectors.EVENT_READ, lambda: self._let_go(worker))
        return True

    def _ended(self, worker: _Worker) -> None:
        """Tell how it ended. Its number stays taken until its client lets go of it, who may still send it a signal."""
        if worker not in self._workers:  # its client has, a moment ago
            return
        self._selector.unregister(worker.end)
        found = os.waitid(os.P_PID, worker.number, os.WEXITED | os.WNOWAIT)
        assert found is not None
        code = found.si_status if found.si_code == os.CLD_EXITED else -found.si_status
        with suppress(OSError):
            worker.client.sendall(b"%d\n" % code)

    def _let_go(self, worker: _Worker) -> None:
        self._workers.discard(worker)
        self._selector.unregister(worker.client)
        with suppress(KeyError):
            self._selector.unregister(worker.end)
        with suppress(ProcessLookupError):
            os.kill(worker.number, signal.SIGKILL)
        os.waitpid(worker.number, 0)
        os.close(worker.end)
        worker.client.close()

    def _leave(self) -> None:
        """Close, in a worker, what is the server's."""
        self._selector.close()
        self._control.close()
        for worker in self._workers:
            os.close(worker.end)
            worker.client.close()


def _forked() -> int | None:
    """As `os.fork`; ``None`` where there is no room for another process."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # numpy's threads wait, and end before a fork
        try:
            return os.fork()
        except OSError:
            return None


def _run(standard: list[int], leave: Callable[[], None], client: socket.socket, work: Callable[[], None]) -> None:
    """Be a worker, to the end of this process."""
    code = 1
    try:
        leave()
        client.close()
        os.setsid()  # Ctrl-C is for the parent
        for place, file in enumerate(standard):
            os.dup2(file, place)
            os.close(file)
        sys.stdin = io.TextIOWrapper(io.FileIO(0), encoding="utf-8")
        sys.stdout = io.TextIOWrapper(io.FileIO(1, "w"), encoding="utf-8", write_through=True)
        sys.stderr = io.TextIOWrapper(
            io.FileIO(2, "w"), encoding="utf-8", errors="backslashreplace", write_through=True
        )
        _move_addresses()
        _become(json.loads(sys.stdin.readline()))
        work()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _become(setup: Mapping[str, Any]) -> None:
    """Take over the arguments, variables, search path and folder of a process that was started by itself."""
    os.environ.clear()
    os.environ.update(setup["environment"])
    sys.argv = ["-m", *setup["arguments"]]
    sys.path[:] = setup["path"]
    with suppress(OSError):
        os.chdir(setup["folder"])


def _move_addresses() -> None:
    """Have libraries and memory from now on at other addresses than in other workers.

    Where these are decides some per cent of a computation's time. Each process that is started has others, so that
    several of them show how much that is; a forked one has those of its parent.
    """
    draw = random.SystemRandom()
    with suppress(OSError, ValueError):
        _KEPT.append(
            mmap.mmap(-1, _PAGE * draw.randint(1, _MOST_PAGES), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=0)
        )
    ctypes.CDLL(None).sbrk(ctypes.c_ssize_t(_PAGE * draw.randrange(_MOST_PAGES)))


def main(descriptor: int, work: Callable[[], None]) -> None:
    """Serve the parent at the other end of a socket."""
    with socket.socket(fileno=descriptor) as control:
        ForkServer(control, work).serve()
