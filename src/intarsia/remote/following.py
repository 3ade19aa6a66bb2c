"""What a compile elsewhere tells, as its caller hears it."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from intarsia import json_types
from intarsia.cost.worker.progress import Progress, Watcher
from intarsia.errors import WorkerDiedError
from intarsia.json_types import Fault, Field
from intarsia.remote.failures import error_of

log = logging.getLogger(__name__)
ENDING_S: Final = 20.0
"""How long an interrupted compile may take to hand over the best so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """What a compile there made: the digest of the artifact, and whether it was interrupted."""

    digest: str
    is_interrupted: bool


_PROGRESS = json_types.record(
    Progress,
    {
        "stage": json_types.text,
        "done": Field(json_types.integer, 0),
        "total": Field(json_types.optional(json_types.integer), None),
        "best_ms": Field(json_types.optional(json_types.number), None),
        "note": Field(json_types.text, ""),
        "left_s": Field(json_types.optional(json_types.number), None),
    },
)


def followed(events: Iterable[Any], progress: Watcher, place: str) -> Compiled:
    """What a compile comes to.

    Args:
        events: What it tells, as messages ``Event``.
        progress: Told of every step.
        place: Where it runs, for messages.

    Raises:
        IntarsiaError: The one that it ended with.
        WorkerDiedError: It ended without a word.
    """
    for event in events:
        match event.WhichOneof("what"):
            case "progress":
                faults: list[Fault] = []
                now = _PROGRESS(_parsed(event.progress), "", faults)
                if not faults:
                    progress(now)
            case "remark":
                _log(event.remark, place)
            case "failure":
                raise error_of(event.failure, place)
            case "result":
                return Compiled(digest=event.result.digest, is_interrupted=event.result.is_interrupted)
    raise WorkerDiedError(f"the worker at {place} ended the compile without a word")


def best_so_far(events: Iterable[Any], end: float) -> Compiled | None:
    """What an interrupted compile hands over until a time of ``time.monotonic``; ``None`` where that is nothing."""
    for event in events:
        if event.WhichOneof("what") == "result":
            return Compiled(digest=event.result.digest, is_interrupted=True)
        if event.WhichOneof("what") == "failure" or time.monotonic() > end:
            break
    return None


def object_of(text: str) -> Mapping[str, Any]:
    """The object that JSON is; an empty one for any other text."""
    found = _parsed(text)
    return found if isinstance(found, dict) else {}


def _parsed(text: str) -> Any:
    try:
        return json_types.parsed(text.encode())
    except ValueError:
        return None


def _log(text: str, place: str) -> None:
    found = object_of(text)
    level, message = found.get("level"), found.get("text")
    if isinstance(level, int) and isinstance(message, str):
        log.log(level, "%s: %s", place, message)
