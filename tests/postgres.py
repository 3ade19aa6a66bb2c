"""A server of PostgreSQL for tests: of its own, in a temporary folder, under a user without rights, for one process."""

from __future__ import annotations

import ctypes
import itertools
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psutil
import pytest

MISSING = "PostgreSQL is not installed here: `make postgres` does it, as root on Debian"
PASSWORD = "p@ss:w/rd%?"
"""Of the user ``guest``, who needs it over TCP: each of its signs means something in a URL."""
PATIENCE_S = 120.0
_END_WITH_PARENT, _AT_ONCE = 1, signal.SIGQUIT
_WITHOUT_RIGHTS = ("postgres", "nobody")


def program(name: str) -> Path | None:
    """A program of the server: Debian has them outside the search path."""
    beside = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    found = shutil.which(name)
    return beside[-1] if beside else None if found is None else Path(found)


class Cluster:
    """A server that runs; over its socket everybody is let in, over TCP by password."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._user = _user()
        if self._user is not None:
            os.chown(folder, pwd.getpwnam(self._user).pw_uid, -1)
        line = ("-U", "postgres", "--auth-local=trust", "--auth-host=scram-sha-256", "--no-sync", "--locale=C")
        self._run("initdb", "-D", str(folder / "data"), "--encoding=UTF8", *line)
        self.port = _free_port()
        self.start()
        self.sql(f"CREATE ROLE guest LOGIN PASSWORD '{PASSWORD}'")
        self._numbers = itertools.count()

    def start(self) -> None:
        """Start it, again after it was killed too."""
        end = time.monotonic() + PATIENCE_S
        while True:
            self._server = self._started()
            while self._server.poll() is None:
                if self._answers():
                    return
                assert time.monotonic() < end, (self.folder / "log").read_text()
                time.sleep(0.02)
            assert time.monotonic() < end, (self.folder / "log").read_text()  # its shared memory is still in use
            time.sleep(0.1)

    def kill(self) -> None:
        """End the server and all processes of it in no order: what was not written by then is lost."""
        processes = [psutil.Process(self._server.pid)]
        processes += processes[0].children(recursive=True)
        for each in processes:
            with suppress(psutil.NoSuchProcess):  # a session's process ends with the session
                each.kill()
        psutil.wait_procs(processes, timeout=PATIENCE_S)
        self._server.wait()

    def stop(self) -> None:
        """End it, without a last word to its disk."""
        self._server.send_signal(_AT_ONCE)
        self._server.wait()

    def pause(self) -> None:
        """Let it hang: connections stay, and nothing answers."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it answer again."""
        self._signal(signal.SIGCONT)

    def sql(self, *statements: str, schema: str = "public") -> list[tuple[Any, ...]]:
        """What the last statement gives."""
        import psycopg

        found: list[tuple[Any, ...]] = []
        with psycopg.connect(self.url(schema), autocommit=True) as db:
            for statement in statements:
                cursor = db.execute(statement)
                found = cursor.fetchall() if cursor.description else []
        return found

    def schema(self) -> str:
        """A place for one store: a new schema, which everybody may use."""
        name = f"s{next(self._numbers)}"
        self.sql(f"CREATE SCHEMA {name}", f"GRANT ALL ON SCHEMA {name} TO PUBLIC")
        return name

    def url(self, schema: str = "public", user: str = "postgres", database: str = "postgres") -> str:
        """A schema by the socket, without a password."""
        return f"postgresql://{user}@/{database}?host={self.folder}&port={self.port}&{_path(schema)}"

    def tcp(self, schema: str = "public", user: str = "guest", password: str = PASSWORD) -> str:
        """A schema over TCP."""
        secret = f":{quote(password, safe='')}" if password else ""
        return f"postgresql://{user}{secret}@127.0.0.1:{self.port}/postgres?{_path(schema)}"

    def _started(self) -> subprocess.Popen[bytes]:
        prctl = ctypes.CDLL(None).prctl
        settings = [f"port={self.port}", f"unix_socket_directories={self.folder}", "listen_addresses=127.0.0.1"]
        # The processes of the server are killed, never the machine: what they wrote, the system has.
        settings += ["fsync=off", "max_connections=60", "shared_buffers=16MB"]
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                [_found("postgres"), "-D", self.folder / "data", *(part for each in settings for part in ("-c", each))],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                start_new_session=True,
                preexec_fn=lambda: prctl(_END_WITH_PARENT, _AT_ONCE),
                **self._as_user(),
            )

    def _answers(self) -> bool:
        import psycopg

        try:
            psycopg.connect(self.url(), connect_timeout=5).close()
        except psycopg.OperationalError:
            return False
        return True

    def _signal(self, number: int) -> None:
        server = psutil.Process(self._server.pid)
        for each in (server, *server.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                each.send_signal(number)

    def _run(self, name: str, *arguments: str) -> None:
        line = [str(_found(name)), *arguments]
        done = subprocess.run(line, cwd=self.folder, capture_output=True, text=True, check=False, **self._as_user())
        assert done.returncode == 0, done.stderr

    def _as_user(self) -> dict[str, Any]:
        if self._user is None:
            return {}
        return {"user": self._user, "group": pwd.getpwnam(self._user).pw_gid, "extra_groups": []}


@contextmanager
def running() -> Iterator[Cluster]:
    """A server while this runs; skips the test where there is no PostgreSQL."""
    if program("initdb") is None or program("postgres") is None:
        pytest.skip(MISSING)
    pytest.importorskip("psycopg", reason="pip install 'intarsia[postgres]'")
    # Its user may not look into the folders of tests, and the path of a socket is short.
    with tempfile.TemporaryDirectory(prefix="intarsia-pg-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        made = Cluster(Path(folder))
        try:
            yield made
        finally:
            made.stop()


def _found(name: str) -> Path:
    found = program(name)
    assert found is not None
    return found


def _user() -> str | None:
    """Whom it runs as, as it refuses root."""
    if os.geteuid():
        return None
    known = {each.pw_name for each in pwd.getpwall()}
    return next(name for name in _WITHOUT_RIGHTS if name in known)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _path(schema: str) -> str:
    return f"options=-csearch_path%3D{schema}"
