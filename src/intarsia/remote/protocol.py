"""The calls that a worker answers, and what every call carries beside its message: the token and two versions.

The token is compared first, then the versions; only then is a message looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from intarsia.remote import messages as m

PROTOCOL: Final = 2
"""Changes with anything that a caller or a worker of before would understand otherwise."""
SERVICE: Final = "intarsia.remote.Worker"
TOKEN: Final = "intarsia-token"
PROTOCOL_KEY: Final = "intarsia-protocol"
VERSION_KEY: Final = "intarsia-version"
FAILURE: Final = "intarsia-failure-bin"
"""Key of the metadata behind an answer: what failed, as JSON (`intarsia.remote.failures`)."""
HEARTBEAT_S: Final = 1.0
"""A compile says something at least so often."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call: its messages, and whether several of them go there or come back."""

    asks: Any
    answers: Any
    many_asked: bool = False
    many_answered: bool = False


CALLS: Final = MappingProxyType(
    {
        "Hello": Call(asks=m.Nothing, answers=m.Greeting),
        "Devices": Call(asks=m.Nothing, answers=m.Answer),
        "Doctor": Call(asks=m.Question, answers=m.Answer),
        "Missing": Call(asks=m.Digests, answers=m.Digests),
        "Upload": Call(asks=m.Part, answers=m.Nothing, many_asked=True),
        "Compile": Call(asks=m.CompileRequest, answers=m.Event, many_answered=True),
        "Cancel": Call(asks=m.Name, answers=m.Nothing),
        "Fetch": Call(asks=m.FetchRequest, answers=m.Part, many_answered=True),
        "Load": Call(asks=m.Name, answers=m.Name),
        "Run": Call(asks=m.RunPart, answers=m.Part, many_asked=True, many_answered=True),
        "Echo": Call(asks=m.Part, answers=m.Part, many_asked=True, many_answered=True),
        "Close": Call(asks=m.Name, answers=m.Nothing),
        "Shutdown": Call(asks=m.Nothing, answers=m.Nothing),
    }
)
"""Every call by its name. ``Load`` takes the digest of an artifact, and answers with the name of the model."""
