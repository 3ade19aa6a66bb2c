"""Where a worker listens, and what its caller has to know of it: address, token, certificate, patience."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from intarsia.addresses import Address
from intarsia.config.drives import Runtime
from intarsia.errors import ConfigError
from intarsia.files import own_cache

PATIENCE_S: Final = 30.0
"""How long a caller waits for an answer, or for a lost link to come back, where nobody says otherwise."""
LOAD_S: Final = 120.0
"""The same of a model that is loaded: what another version of an engine made is built anew."""
CLOSE_S: Final = 5.0
"""How long what is only a courtesy at the end may take."""
TOKEN_BYTES: Final = 32
_LONGEST_TOKEN: Final = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerPlace:
    """A worker as its caller sees it.

    Attributes:
        address: Where it listens.
        token: What every call carries.
        certificate: The certificate, or that of its authority, which the worker's must go back to, in PEM; without, the
            link is not encrypted.
        timeout: Seconds that an answer may take, or a lost link.
    """

    address: Address
    token: str = field(repr=False)
    certificate: bytes | None = field(default=None, repr=False)
    timeout: float = PATIENCE_S

    @classmethod
    def of(
        cls,
        address: str,
        token_file: str | os.PathLike[str] | None = None,
        *,
        tls_ca: str | os.PathLike[str] | None = None,
        timeout: float | None = None,
    ) -> WorkerPlace:
        """The place that options name, with the files read.

        Args:
            address: ``HOST:PORT``.
            token_file: The file whose content is the token; on loopback, the one that a worker makes there if left out.
            tls_ca: The file of the certificate.
            timeout: Seconds; 30 if left out.

        Raises:
            ConfigError: The address or the timeout is none, a file cannot be read, or none is named for the token.
        """
        read = Address.parse(address)
        if timeout is not None and not timeout > 0:
            raise ConfigError(f"a timeout of {timeout} s is none: give seconds above 0")
        if token_file is None and not read.is_loopback:
            raise ConfigError(f"a worker at {read} wants a token: name the file that holds it (--token-file FILE)")
        token = read_token(default_token_file(read.port) if token_file is None else Path(token_file))
        return cls(
            address=read,
            token=token,
            certificate=None if tls_ca is None else read_pem(Path(tls_ca), "certificate"),
            timeout=PATIENCE_S if timeout is None else timeout,
        )

    @classmethod
    def of_runtime(cls, runtime: Runtime) -> WorkerPlace:
        """The place that the options of a runtime ``rpc`` name; errors are those of `of`."""
        options: Mapping[str, Any] = runtime.options
        timeout = options.get("timeout")
        return cls.of(
            options["address"],
            options.get("token-file"),
            tls_ca=options.get("tls-ca"),
            timeout=None if timeout is None else float(timeout),
        )

    def __str__(self) -> str:
        return str(self.address)


def default_token_file(port: int) -> Path:
    """Where a worker on loopback puts the token that it makes, if none is named."""
    return own_cache() / "workers" / f"{port}.token"


def read_token(path: Path) -> str:
    """The token of a file, without blanks around it.

    Raises:
        ConfigError: It cannot be read, is empty, or holds what no header of a call can.
    """
    try:
        with path.open("rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ConfigError(f"the token file {path} is no file; write the token into one")
            content = file.read(_LONGEST_TOKEN + 1)
    except OSError as error:
        raise ConfigError(f"the token file {path} cannot be read: {error.strerror}; name another one") from error
    token = content.decode("ascii", "replace").strip()
    if not token or len(content) > _LONGEST_TOKEN or not token.isascii() or not token.isprintable():
        raise ConfigError(f"the token file {path} holds no token: write one line of letters and digits into it")
    return token


def read_pem(path: Path, what: str) -> bytes:
    """A file in PEM; a `ConfigError` if it cannot be read, or is none."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"the {what} {path} cannot be read: {error.strerror}") from error
    if b"-----BEGIN " not in content:
        raise ConfigError(f"the {what} {path} is no file in PEM")
    return content
