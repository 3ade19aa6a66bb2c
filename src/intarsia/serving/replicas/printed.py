"""What replicas print in their processes, in the log of the command that started them."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Mapping
from typing import Any


class ReplicaLog:
    """Prints the lines of an application's replicas on stderr: those of JSON with the process that they are of."""

    def __init__(self, application: str) -> None:
        self._actors = f"ServeReplica:{application}:"

    def __call__(self, printed: Mapping[str, Any]) -> None:
        """Take what a process printed; of others than its replicas, nothing."""
        if not str(printed.get("actor_name") or "").startswith(self._actors):
            return
        text = "".join(f"{_with_process(line, printed.get('pid'))}\n" for line in printed.get("lines") or ())
        sys.stderr.write(text)
        sys.stderr.flush()


def log_as_ours() -> None:
    """Have what Ray itself logs in this process be lines of our log, and no more than what goes wrong."""
    for name in ("ray", "ray.serve"):
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True
        logger.setLevel(logging.WARNING)


def _with_process(line: str, process: object) -> str:
    try:
        found = json.loads(line)
    except ValueError:
        return line
    return json.dumps({**found, "process": process}) if isinstance(found, dict) and "event" in found else line
