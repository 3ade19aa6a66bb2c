"""`Address`: where a server or a worker listens, as text that parses back."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final

from intarsia.errors import ConfigError

_ADDRESS: Final = re.compile(
    r"(?:\[(?P<six>[0-9a-fA-F:.]*:[0-9a-fA-F:.%\w]*)\]|(?P<host>[^\s:\[\]/]+)):(?P<port>[0-9]{1,5})"
)
_LAST_PORT: Final = 65535


@dataclass(frozen=True, slots=True)
class Address:
    """A host and a port; printed, it is the text that parses back. Port 0 is one that is free."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Address:
        """The address of ``HOST:PORT``, or ``[ADDRESS]:PORT`` of IPv6; a `ConfigError` if it is neither."""
        found = _ADDRESS.fullmatch(text)
        port = int(found["port"]) if found else _LAST_PORT + 1
        if found is None or port > _LAST_PORT:
            raise ConfigError(f"{text!r} is no address: write HOST:PORT, as board.local:9090 or [::1]:9090")
        return cls(found["six"] or found["host"], port)

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return False

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"
