"""A log of JSON lines: one object for each event, with its time, its level and its facts."""

from __future__ import annotations

import json
import logging
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, TextIO

from intarsia.errors import IntarsiaError

_FACTS = "intarsia_facts"
_LOGGER = logging.getLogger(__name__)


def tell(event: str, /, **facts: Any) -> None:
    """Log an event with what is known of it; values are what JSON has."""
    _LOGGER.info(event, extra={_FACTS: facts})


def tell_error(event: str, error: Exception, /, **facts: Any) -> None:
    """Log that something failed; what is no error of ours, or of the system, comes with its traceback."""
    is_foreseen = isinstance(error, IntarsiaError | OSError)
    text = str(error) if is_foreseen else f"unexpected {type(error).__name__}: {error}"
    _LOGGER.error(event, extra={_FACTS: {**facts, "error": text}}, exc_info=None if is_foreseen else error)


class JsonLine(logging.Formatter):
    """A record as one object on one line, whoever logged it."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, _FACTS, {}),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


@contextmanager
def json_lines() -> Iterator[None]:
    """Whatever is logged or warned of inside goes to stderr as lines of JSON."""
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLine())
    root.handlers[:] = [handler]
    shown, warnings.showwarning = warnings.showwarning, _log_warning
    if level <= logging.WARNING:  # else nothing but errors is asked for
        _LOGGER.setLevel(logging.INFO)
    try:
        yield
    finally:
        warnings.showwarning = shown
        root.handlers[:] = before
        root.setLevel(level)
        _LOGGER.setLevel(logging.NOTSET)


def _log_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    del category, filename, lineno, file, line  # where in our code a warning arose is nothing to the user
    _LOGGER.warning("warning", extra={_FACTS: {"warning": str(message)}})
