"""Drivers are asked in a process of its own: once started, one would break the processes that this one forks."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

Options = Mapping[str, Any]
"""What a target of a device states: its kind and options."""
_SECONDS = 30.0


def asked(module: str, environment: Mapping[str, str] = MappingProxyType({})) -> tuple[Options, ...]:
    """The options that a module's function ``answer`` writes to standard output, as JSON; none if it fails.

    ``environment`` is what the driver must find beside what this process has.
    """
    try:
        answer = subprocess.run(
            [sys.executable, "-c", f"from {module} import answer; answer()"],
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=True,
            env=os.environ | environment,
            start_new_session=True,  # a driver that died of Ctrl-C would seem to show no device
        )
        return tuple(json.loads(answer.stdout))
    except (OSError, subprocess.SubprocessError, json.JSONDecodeError):
        return ()


def load_library(names: Iterable[str]) -> Any:
    """The first of these libraries that is there; ``None`` where none is."""
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None
