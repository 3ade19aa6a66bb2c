"""The connection of a process to PostgreSQL, by psycopg: opened once, as that takes longer than a look-up, opened again
where it broke, so that a server that restarts is waited for, and never shared with a forked child.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, urlencode

from intarsia.cost.records.database import LostError
from intarsia.cost.records.postgres_failures import said, unusable
from intarsia.cost.records.store_url import FORM, SECRETS, StoreUrl
from intarsia.cost.thresholds import PATIENCE
from intarsia.errors import BackendUnavailableError, ConfigError
from intarsia.forks import NO_FORK, Forkable, left_behind

if TYPE_CHECKING:
    from psycopg import Connection

T = TypeVar("T")
EXTRA = "postgres"
_DEFAULTS: Mapping[str, object] = {
    "connect_timeout": int(PATIENCE.store_s),
    "keepalives_idle": 10,
    "keepalives_interval": 3,
    "keepalives_count": 3,
    "tcp_user_timeout": int(1000 * PATIENCE.store_s),
    "fallback_application_name": "intarsia",
}
"""How long a server may be silent, where the URL and libpq's variables do not say it."""
_PAUSE_S = 0.1


class PostgresConnection(Forkable):
    """Asks a database, and tells what comes of it.

    Attributes:
        place: Its URL without the password.

    Raises:
        ConfigError: The URL is none.
        BackendUnavailableError: psycopg is not installed.
    """

    def __init__(self, url: StoreUrl) -> None:
        self._settings = _settings(url)
        self.place = _shown(self._settings)
        self._lock = threading.RLock()
        self._open: list[Any] = []
        self._was_open = False
        weakref.finalize(self, _close, self._open)

    def after_fork(self) -> None:
        """Let go of the parent's connection: a word on it, and its end, would be the parent's."""
        self._lock = threading.RLock()
        for inherited in self._open:
            with suppress(OSError, _error()):
                os.close(inherited.fileno())
            left_behind(inherited)
        self._open.clear()

    def ask(self, question: Callable[[Connection[Any]], T], *, is_limited: bool = True) -> T:
        """What comes of a question; it is asked once more where the connection broke, so it must be one that may be.

        Args:
            question: Asks, and may raise psycopg's errors.
            is_limited: Whether the server has little time for each answer; not where that may be all records.

        Raises:
            LostError: There is no answer.
        """
        limit_s = PATIENCE.store_s if is_limited else None
        with self._lock:
            try:
                return self._answer(question, limit_s)
            except _error() as error:
                what = "the record store cannot be used" if self._was_open else "not a usable record store"
                cause = error
                raise LostError(said(error), lambda: unusable(self.place, what, cause)) from error

    def _answer(self, question: Callable[[Connection[Any]], T], limit_s: float | None) -> T:
        for is_last in (False, True):
            connection = self._connected()
            connection.limit_s = limit_s
            began = time.monotonic()
            try:
                found = question(connection)
            except _error():
                is_broken = self._dropped()
                was_in_time = limit_s is None or time.monotonic() - began < limit_s
                if is_last or not is_broken or not was_in_time:
                    raise
            except BaseException:  # interrupted, perhaps between a question and its answer
                self._dropped()
                raise
            else:
                self._was_open = True
                return found
        raise AssertionError("the second try ends it")

    def _connected(self) -> Any:
        """The connection of this process. A server that was there before may be restarting, so it is waited for."""
        end = time.monotonic() + PATIENCE.store_s
        while not self._open:
            try:
                with NO_FORK:
                    self._open.append(_connection_class().connect(**self._settings))
            except _error() as error:
                if not (self._was_open or "starting up" in str(error)) or time.monotonic() > end:
                    raise
                time.sleep(_PAUSE_S)
        return self._open[0]

    def _dropped(self) -> bool:
        """Close a connection that is not at rest, so that the next question opens another; whether it was closed."""
        from psycopg.pq import TransactionStatus

        if self._open and self._open[0].info.transaction_status is TransactionStatus.IDLE:
            return False
        _close(self._open)
        return True


def _settings(url: StoreUrl) -> Mapping[str, Any]:
    """What libpq is told.

    Raises:
        ConfigError: libpq does not read this URL. What it says of that may hold the password, so it is not repeated.
        BackendUnavailableError: psycopg is not installed.
    """
    try:
        from psycopg import Error
        from psycopg.conninfo import conninfo_to_dict
    except ImportError as error:
        told = f"--store {FORM} needs the package psycopg, which is not installed"
        raise BackendUnavailableError(f"{told}: pip install 'intarsia[{EXTRA}]'") from error
    try:
        stated = conninfo_to_dict(url)
    except (Error, UnicodeError):
        hint = "with %40 for @, %3A for :, %2F for / and %25 for % within a name or a password, and libpq's parameters"
        raise ConfigError(f"--store postgresql://…: this is no URL of a database; write {FORM}, {hint}") from None
    by_variable = {"connect_timeout"} if "PGCONNECT_TIMEOUT" in os.environ else set()
    defaults = {name: value for name, value in _DEFAULTS.items() if name not in by_variable}
    # By SQL_ASCII nothing is converted: what is read comes as bytes, as it lies there, and what we write is ASCII.
    return {**defaults, **stated, "client_encoding": "SQL_ASCII", "autocommit": True, "prepare_threshold": None}


def _shown(settings: Mapping[str, Any]) -> str:
    """The URL without a password and without what we add; equal ones are spelt alike."""
    known = {name: str(value) for name, value in settings.items() if value != _DEFAULTS.get(name)}
    for name in ("client_encoding", "autocommit", "prepare_threshold", "password", "sslpassword"):
        known.pop(name, None)
    user, database = known.pop("user", ""), known.pop("dbname", "")
    place = ""
    if not set(known.get("host", "")) & set("/,@:"):  # else it stands among the parameters, as do several
        place = known.pop("host", "") + (f":{known.pop('port')}" if "port" in known else "")
    rest = urlencode(sorted(known.items()), safe="/,:", quote_via=quote)
    begin = f"postgresql://{quote(user, safe='')}{'@' if user else ''}{place}/{quote(database, safe='')}"
    return SECRETS.sub(r"\g<name>=***", begin + ("?" if rest else "") + rest)


@cache
def _connection_class() -> type[Connection[Any]]:
    from psycopg import Connection

    class Limited(Connection[Any]):
        """One whose every answer has to come in time: a server that hangs is no reason to wait for ever."""

        limit_s: float | None = PATIENCE.store_s

        def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
            """What the server answers."""
            return super().wait(gen, interval, self.limit_s if timeout is None else timeout)

    return Limited


def _close(connections: list[Connection[Any]]) -> None:
    while connections:
        connections.pop().close()


def _error() -> type[Exception]:
    import psycopg

    error: type[Exception] = psycopg.Error
    return error
