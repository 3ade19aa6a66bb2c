"""The URL of a database that holds a record store, as a text: whether it is one, and without its password."""

from __future__ import annotations

import os
import re

from intarsia.errors import ConfigError

SCHEMES = ("postgresql", "postgres")
"""libpq knows both."""
FORM = "postgresql://USER@HOST:PORT/DATABASE"
_SCHEME = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]*)://", re.IGNORECASE)
_AS_PATH = re.compile(rf"({'|'.join(SCHEMES)}):/")
SECRETS = re.compile(r"(?<=[?&])(?P<name>password|sslpassword|oauth_client_secret)=(?P<secret>[^&]*)")
"""What a URL may hold as parameters and nobody is to see."""


class StoreUrl(str):
    """A URL whose password no ``repr`` shows, so that settings can be printed."""

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(without_password(self))


def url_of(named: str | os.PathLike[str]) -> StoreUrl | None:
    """The URL that somebody named as a record store; ``None`` if it is a path.

    Raises:
        ConfigError: It is the URL of something else, or a path that was made of a URL.
    """
    text = os.fspath(named)
    found = _SCHEME.match(text)
    if found is None:
        if isinstance(named, os.PathLike) and _AS_PATH.match(text):
            raise ConfigError(f"a record store in a database is named by its URL as a text ({FORM}), not as a path")
        return None
    if found["scheme"] not in SCHEMES:
        raise ConfigError(f"{found[0]}…: a record store is a file, which its path names, or {FORM}")
    return StoreUrl(text)


def without_password(url: str) -> str:
    """A URL without what nobody is to see. It need not be sound: all between the user and the last ``@`` goes."""
    start = url.find("://") + len("://")
    before, at, after = url[start:].rpartition("@")
    return SECRETS.sub(r"\g<name>=***", url[:start] + before.partition(":")[0] + at + after)
