"""The address of a server that another process listens at: whether it is free, and what answers there."""

from __future__ import annotations

import http.client
import socket
import ssl
from contextlib import closing
from typing import Final

from intarsia.addresses import Address
from intarsia.errors import ConfigError

_PATIENCE_S: Final = 5.0
_EVERYWHERE: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}


def free_address(address: Address) -> Address:
    """An address that is free now; port 0 becomes one that is.

    Raises:
        ConfigError: Nothing can listen there.
    """
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as taken:
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            taken.bind((address.host, address.port))
            return Address(address.host, int(taken.getsockname()[1]))
    except OSError as error:
        raise ConfigError(f"nothing can listen on {address}: {error.strerror or error}") from error


def status_at(address: Address, path: str, *, tls: bool) -> int | None:
    """The status of the answer to GET there, from this machine; ``None`` if nothing answers."""
    host = _EVERYWHERE.get(address.host, address.host)
    if tls:  # only whether it answers is asked, and nothing is told to it
        context = ssl._create_unverified_context()
        connection: http.client.HTTPConnection = http.client.HTTPSConnection(
            host, address.port, timeout=_PATIENCE_S, context=context
        )
    else:
        connection = http.client.HTTPConnection(host, address.port, timeout=_PATIENCE_S)
    with closing(connection):
        try:
            connection.request("GET", path)
            return connection.getresponse().status
        except (OSError, http.client.HTTPException):
            return None
