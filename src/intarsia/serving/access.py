"""Who may call: addresses, tokens and TLS."""

from __future__ import annotations

import hmac
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from intarsia.addresses import Address
from intarsia.errors import ConfigError

_SCHEME = "bearer "


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """How callers are known, and how what they say is kept from others.

    Attributes:
        token: What each of them sends; ``None`` where anybody may call.
        certificate: The file of the server's certificate, in PEM; without, nothing is encrypted.
        key: The file of its private key.
    """

    token: bytes | None = None
    certificate: Path | None = None
    key: Path | None = None

    @classmethod
    def of(
        cls,
        addresses: Sequence[Address],
        token_file: Path | None,
        certificate: Path | None,
        key: Path | None,
        *,
        open_: bool,
    ) -> Access:
        """What options state.

        Raises:
            ConfigError: A file cannot be read, one of certificate and key is missing, or others than this machine could
                call without a token.
        """
        if (certificate is None) != (key is None):
            raise ConfigError("TLS takes a certificate and its key: give both --tls-cert and --tls-key")
        if token_file is not None and open_:
            raise ConfigError("--token-file asks for a token, and --no-auth for none; give one of them")
        for address in addresses:
            if not address.is_loopback and token_file is None and not open_:
                raise ConfigError(
                    f"{address} can be reached from other machines, and anybody there could call; give --token-file, "
                    "or --no-auth if something before the server asks who calls"
                )
        if certificate is not None and key is not None:
            _check_pair(certificate, key)
        return cls(token=None if token_file is None else _token(token_file), certificate=certificate, key=key)

    def admits(self, authorization: bytes) -> bool:
        """Whether who sends this (``Bearer TOKEN``) may call. It takes as long for a token that is nearly right."""
        if self.token is None:
            return True
        scheme, sent = authorization[: len(_SCHEME)], authorization[len(_SCHEME) :]
        return scheme.lower() == _SCHEME.encode() and hmac.compare_digest(sent.strip(), self.token)


def _check_pair(certificate: Path, key: Path) -> None:
    for path in (certificate, key):
        _content(path)
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password="")
    except (ssl.SSLError, ValueError) as error:
        raise ConfigError(
            f"{certificate} and {key} are no certificate with its key, in PEM and without a password: {error}"
        ) from error


def _token(path: Path) -> bytes:
    token = _content(path).strip()
    if not token or not token.isascii() or len(token.split()) != 1:
        raise ConfigError(f"{path} holds no token; write one word of ASCII into it, as `openssl rand -hex 32` prints")
    return token


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
