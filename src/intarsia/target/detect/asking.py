"""Drivers are asked in a process of its own: once started, one would break the processes that this one forks."""

from __future__ import annotations

import json
import subprocess
import sys

from intarsia.target.target import Target

_SECONDS = 30.0


def asked(module: str) -> tuple[Target, ...]:
    """The devices that the function ``answer`` of a module writes to standard output, as JSON; none if it fails."""
    try:
        answer = subprocess.run(
            [sys.executable, "-c", f"from {module} import answer; answer()"],
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=True,
            start_new_session=True,  # a driver that died of Ctrl-C would seem to show no device
        )
        return tuple(Target(options) for options in json.loads(answer.stdout))
    except (OSError, subprocess.SubprocessError, json.JSONDecodeError):
        return ()
