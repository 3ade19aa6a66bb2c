"""Runs compilers and emulators: with a time limit, without a terminal, and so that none of them outlives its caller."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from intarsia.errors import BackendTimeoutError, ExecutionError

_UNTIL_WE_END = "import ctypes, os, sys; ctypes.CDLL(None).prctl(1, 9); os.execv(sys.argv[1], sys.argv[1:])"
"""Becomes a command that the kernel kills when the thread that waits for it ends."""


def run(
    command: Sequence[str | Path],
    *,
    name: str,
    timeout_s: float,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """How a command ended, with what it wrote.

    Args:
        command: The path of a program, and its arguments.
        name: What errors call it.
        timeout_s: Then it is killed.
        folder: Where it runs.
        environment: Variables that it gets beside ours.

    Raises:
        BackendTimeoutError: It did not end in time.
        ExecutionError: It cannot be started.
    """
    try:
        return subprocess.run(
            [sys.executable, "-I", "-S", "-c", _UNTIL_WE_END, *map(str, command)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            check=False,
            cwd=folder,
            env={**os.environ, "LC_ALL": "C", **(environment or {})},
            start_new_session=True,  # Ctrl-C is for us: a compiler that died of it would seem to have crashed
        )
    except subprocess.TimeoutExpired as error:
        raise BackendTimeoutError(name, f"it did not end within {timeout_s:g} s, and was killed") from error
    except OSError as error:
        raise ExecutionError(name, f"{command[0]} cannot be started: {error}") from error
