"""Real workers for tests: processes that listen on loopback, and a link to them that can be dropped."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from intarsia.addresses import Address
from intarsia.remote.place import WorkerPlace

ROOT = Path(__file__).parents[1]
TOKEN = "a-token-of-the-tests"


class RunningWorker:
    """A worker in a process of its own, with its own record store."""

    def __init__(
        self, folder: Path, *flags: str, host: str = "127.0.0.1", port: int = 0, command: tuple[str, ...] = ()
    ) -> None:
        folder.mkdir(exist_ok=True)
        self.token_file = folder / "token"
        self.token_file.write_text(TOKEN, encoding="ascii")
        self.store = folder / "records.sqlite"
        line = [*command, sys.executable, "-m", "intarsia", "worker", "--json", "--token-file", str(self.token_file)]
        self.process = subprocess.Popen(
            [*line, "--store", str(self.store), "--listen", f"{host}:{port}", *flags],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)},
        )
        assert self.process.stdout is not None
        text = ""
        while not text.endswith("}\n"):
            line_read = self.process.stdout.readline()
            assert line_read, f"the worker ended with {self.process.wait()}"
            text += line_read
        self.address = str(json.loads(text)["address"])

    def place(self, timeout: float = 20.0, address: str | None = None) -> WorkerPlace:
        """The place of it, by its own address or that of a way to it."""
        return WorkerPlace.of(address or self.address, self.token_file, timeout=timeout)

    def runtime(self, timeout: float = 20.0) -> str:
        """The runtime that names it."""
        return f"rpc -address={self.address} -token-file={self.token_file} -timeout={timeout}"

    def end(self) -> None:
        """End it as a scheduler does, if it still runs."""
        assert self.process.stdout is not None
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(60)
        self.process.stdout.close()


@contextmanager
def running_worker(folder: Path, *flags: str, port: int = 0) -> Iterator[RunningWorker]:
    """A worker, until the block is done."""
    worker = RunningWorker(folder, *flags, port=port)
    try:
        yield worker
    finally:
        worker.end()


class Way:
    """A port that passes everything on to a worker, and can be closed for a while."""

    def __init__(self, address: str) -> None:
        self._there = Address.parse(address)
        self._pairs: list[socket.socket] = []
        self._listen(0)
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"

    def drop(self) -> None:
        """Close all connections, and take none."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._taking.join()
        self._listener.close()
        for each in self._pairs:
            _shut(each)
        self._pairs.clear()

    def mend(self) -> None:
        """Take connections again."""
        self._listen(Address.parse(self.address).port)

    def close(self) -> None:
        """Close it for good."""
        self.drop()

    def _listen(self, port: int) -> None:
        self._listener = socket.create_server(("127.0.0.1", port), reuse_port=False)
        self._taking = threading.Thread(target=self._take, daemon=True)
        self._taking.start()

    def _take(self) -> None:
        while True:
            try:
                here, _ = self._listener.accept()
            except OSError:
                return
            self._pairs.append(here)
            try:
                there = socket.create_connection((self._there.host, self._there.port))
            except OSError:
                _shut(here)
                continue
            self._pairs.append(there)
            for one, other in ((here, there), (there, here)):
                threading.Thread(target=_pass_on, args=(one, other), daemon=True).start()


def _pass_on(one: socket.socket, other: socket.socket) -> None:
    with suppress(OSError):
        while content := one.recv(1 << 16):
            other.sendall(content)
    _shut(one)
    _shut(other)


def _shut(each: socket.socket) -> None:
    with suppress(OSError):
        each.shutdown(socket.SHUT_RDWR)
    each.close()
