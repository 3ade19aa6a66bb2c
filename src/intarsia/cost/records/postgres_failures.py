"""What PostgreSQL and its library say when something cannot be done, as one of our errors: what, where, what to do."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from intarsia.cost.records.database import OTHER
from intarsia.errors import ConfigError, DiskError, IntarsiaError

TABLE: Final = "intarsia_record"
GRANT = f"its owner grants it: GRANT SELECT, INSERT, DELETE ON {TABLE} TO …"
_PASSWORD = "say it by PGPASSWORD or in ~/.pgpass, which keeps it out of the command line"
_REACH = "see that the server runs and that this machine may reach it"
_FULL = "make room on the disk of the server"

_BY_STATE = MappingProxyType(
    {
        "42501": f"the role may not do this; {GRANT}, and who first makes the table needs CREATE on its schema",
        "3F000": "there is no schema for the table; create one, or name it: ?options=-csearch_path%3DSCHEMA",
        "25006": "it only reads, as a standby does; name the primary, or add ?target_session_attrs=read-write",
        "53100": _FULL,
        "53300": "the server has as many connections as it takes (max_connections); try again, or raise that",
        "55P03": "another process holds its records; try again",
        "58030": "see to the disk of the server",
    }
)
"""What to do, by the code of the error (https://www.postgresql.org/docs/current/errcodes-appendix.html)."""
_OF_DISK = frozenset({"53100", "58030"})
_BY_WORDS = (
    ("password authentication failed", f"user or password is wrong; {_PASSWORD}"),
    ("no password supplied", f"the server asks for a password; {_PASSWORD}"),
    ("does not exist", "create it on the server, or correct the URL"),
    ("pg_hba.conf", "the server lets nobody in from here; its administrator adds a line to pg_hba.conf"),
    ("permission denied", "its owner grants the right: GRANT CONNECT ON DATABASE … TO …"),
    ("too many", _BY_STATE["53300"]),
    ("starting up", "try again in a moment"),
    ("resolve host", "correct the name of the host"),
    ("certificate", "see to sslrootcert, or to the certificate of the server"),
    ("SSL", "see to ?sslmode=… in the URL, or to the server's ssl"),
)
"""What to do where no connection comes about: then there is no code, and the words are those of the server."""


def said(error: Exception) -> str:
    """In one line what an error says."""
    return " ".join(str(error).split()) or "there was no answer in time"


def unusable(place: str, what: str, error: Exception) -> IntarsiaError:
    """The error that a database ended in, as ours."""
    text = said(error)
    state = getattr(error, "sqlstate", None) or ""
    cure = _BY_STATE.get(state) or next((cure for words, cure in _BY_WORDS if words in text), _REACH)
    kind = DiskError if state in _OF_DISK else ConfigError
    return kind(f"{place}: {what} ({text}); {cure}{OTHER}")
