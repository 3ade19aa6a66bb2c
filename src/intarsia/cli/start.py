"""The console script: all that is done before the command line itself is imported."""

from __future__ import annotations

import os
import signal
from types import FrameType


def main() -> None:
    """Run the command line; Ctrl-C leaves quietly from the first moment on."""
    signal.signal(signal.SIGINT, _leave)
    from intarsia.cli.main import main as run

    run()


def _leave(_: int, __: FrameType | None) -> None:
    """Nothing was begun yet, so nothing is to be told or tidied."""
    os._exit(128 + signal.SIGINT)
