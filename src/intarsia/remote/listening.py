"""Starts a worker, and ends it: the address, the token, TLS, and what a signal does."""

from __future__ import annotations

import logging
import secrets
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from intarsia.addresses import Address
from intarsia.cost.records.store_url import StoreUrl
from intarsia.errors import BackendUnavailableError, ConfigError
from intarsia.files import make_folder, replacing
from intarsia.remote.place import TOKEN_BYTES, default_token_file, read_pem, read_token
from intarsia.version import __version__

log = logging.getLogger(__name__)
_CALLS: Final = 64
"""Calls at one time, at most: each that is followed holds a thread."""
_ENDING_S: Final = 5.0
"""Seconds for calls that run when the worker is told to end."""
_PRIVATE: Final = 0o600
_OPTIONS: Final = (
    ("grpc.so_reuseport", 0),
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.http2.min_ping_interval_without_data_ms", 5_000),
    ("grpc.http2.max_ping_strikes", 0),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Listening:
    """How a worker listens.

    Attributes:
        address: Where; port 0 for any that is free.
        token_file: The file of the token; on loopback, one that is made in the user's cache folder if left out.
        certificate: The file of its certificate in PEM, for TLS.
        key: The file of the key to that.
        store: The file of its record store, or the URL of one; the user's usual one if left out.
    """

    address: Address
    token_file: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    store: Path | StoreUrl | None = None
    limits: Any = None
    version: str = field(default=__version__, repr=False)


class Listener:
    """A worker that listens. It ends by ``stop``, or when a caller tells it to.

    Raises:
        ConfigError: It would listen for others without a token; or a file cannot be read.
        OutputError: No token can be kept.
        BackendUnavailableError: What listens is not installed.
    """

    def __init__(self, how: Listening) -> None:
        grpc = _grpc()
        from intarsia.remote.service import Limits, Service

        if how.token_file is None and not how.address.is_loopback:
            raise ConfigError(
                f"{how.address} can be reached from other machines, and whoever calls a worker runs code as you: name "
                "a file with a token (--token-file FILE), or listen on 127.0.0.1"
            )
        if (how.certificate is None) != (how.key is None):
            raise ConfigError("--tls-cert and --tls-key go together: give both or neither")
        credentials = None
        if how.certificate is not None and how.key is not None:
            pair = (read_pem(how.key, "key"), read_pem(how.certificate, "certificate"))
            credentials = grpc.ssl_server_credentials([pair])
        token = None if how.token_file is None else read_token(how.token_file)
        self._pool = ThreadPoolExecutor(_CALLS)
        self._server: Any = grpc.server(self._pool, maximum_concurrent_rpcs=_CALLS, options=_OPTIONS)
        port = self._bound(how.address, credentials)
        self.address = Address(host=how.address.host, port=port)
        self.token_file = how.token_file or default_token_file(port)
        made = token or _made_token(self.token_file)
        store = str(how.store.absolute()) if isinstance(how.store, Path) else how.store
        self._service = Service(made, store, how.limits or Limits(), how.version)
        self._server.add_generic_rpc_handlers((self._service.handler(),))
        self._server.start()

    @property
    def ends(self) -> threading.Event:
        """Set when it is told to end."""
        return self._service.is_ending

    def stop(self) -> None:
        """End it: callers are told so, and what runs is ended; what was measured is in the record store."""
        self._service.end()
        self._server.stop(_ENDING_S).wait()
        self._service.close()
        self._pool.shutdown()

    def __enter__(self) -> Listener:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _bound(self, address: Address, credentials: Any) -> int:
        try:
            if credentials is None:
                port: int = self._server.add_insecure_port(str(address))
            else:
                port = self._server.add_secure_port(str(address), credentials)
        except RuntimeError as error:
            raise ConfigError(f"cannot listen on {address} ({error}): name another address, or port 0") from None
        return port


def _made_token(path: Path) -> str:
    """A new token, in a file that only this user reads."""
    token = secrets.token_urlsafe(TOKEN_BYTES)
    make_folder(path.parent)
    with replacing(path) as draft:
        draft.chmod(_PRIVATE)
        draft.write_text(f"{token}\n", encoding="ascii")
    return token


def _grpc() -> Any:
    try:
        import grpc
    except ModuleNotFoundError:
        raise BackendUnavailableError(
            "a worker listens by gRPC, which is not installed: pip install 'intarsia[remote]'"
        ) from None
    return grpc
