"""Errors on their way between a worker and its caller: the same class arrives, with the same message."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from intarsia import errors, json_types
from intarsia.errors import BackendError, IntarsiaError, MissingStageError, WorkerDiedError
from intarsia.json_types import Fault, Field

SHUTDOWN: Final = "shutdown"
"""Not an error's class: the worker ends."""
VERSION: Final = "version"
"""Nor this: the worker is of another version, which the message says."""
GONE: Final = "gone"
"""Nor this: the worker knows no such job, model or content."""
BROKEN: Final = "broken"
"""Nor this: a content did not arrive as it was sent."""


def failure_of(error: BaseException) -> str:
    """An error as JSON; what is none of Intarsia's own arrives as one of the worker."""
    fields: dict[str, Any] = {}
    if isinstance(error, MissingStageError):
        fields = {"plan": error.plan, "missing": list(error.missing), "remarks": list(error.remarks)}
    elif isinstance(error, BackendError):
        fields = {"backend": error.backend, "detail": error.detail}
    return told(type(error).__name__, str(error), fields)


def told(class_: str, message: str, fields: Mapping[str, Any] | None = None) -> str:
    """The JSON that `raised_by` reads."""
    return json.dumps({"class": class_, "message": message, "fields": dict(fields or {})})


def class_and_message(text: str | bytes) -> tuple[str, str]:
    """What an error says, unless it is no such text: then two empty ones."""
    found = _read(text)
    return (found["class"], found["message"]) if found else ("", "")


def error_of(text: str | bytes, place: str) -> IntarsiaError:
    """The error that a worker at a place told.

    Only classes of `intarsia.errors` are made, whatever the text names; any other is a `WorkerDiedError`.
    """
    found = _read(text)
    if found is None:
        return WorkerDiedError(f"the worker at {place} told of an error in a way that is not understood")
    class_, message, fields = found["class"], found["message"], found["fields"]
    made = vars(errors).get(class_)
    if not (isinstance(made, type) and issubclass(made, IntarsiaError)):
        return WorkerDiedError(f"the work at {place} ended in an unforeseen {class_}: {message}")
    if issubclass(made, MissingStageError):
        return made(_text(fields, "plan"), _texts(fields, "missing"), _texts(fields, "remarks"))
    if issubclass(made, BackendError):
        return made(_text(fields, "backend"), _text(fields, "detail"))
    return made(message)


_FAILURE = json_types.record(
    dict,
    {
        "class": json_types.text,
        "message": json_types.text,
        "fields": Field(json_types.table(json_types.anything), {}),
    },
)


def _read(text: str | bytes) -> dict[str, Any] | None:
    faults: list[Fault] = []
    content = text if isinstance(text, bytes) else text.encode()
    try:
        found: dict[str, Any] | None = _FAILURE(json_types.parsed(content), "", faults)
    except ValueError:
        return None
    return None if faults else found


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) else ""


def _texts(fields: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = fields.get(name)
    return tuple(each for each in value if isinstance(each, str)) if isinstance(value, list) else ()
