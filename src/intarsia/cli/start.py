"""The console script: all that is done before the command line itself is imported."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType


def main() -> None:
    """Run the command line; Ctrl-C leaves quietly from the first moment on."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _leave)
    _fill_descriptors()
    if any("postgres" in argument for argument in sys.argv):  # what has nothing to hide need not load this
        from intarsia.cli.passwords import hide_passwords

        hide_passwords()
    from intarsia.errors import BackendUnavailableError
    from intarsia.extras import compiling

    try:
        with compiling("the command intarsia"):
            from intarsia.cli.main import main as run
    except BackendUnavailableError as error:
        print(f"Error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    run()


def _fill_descriptors() -> None:
    """Open nothing where standard input, output or error was closed: else the next file that is opened takes its place.

    What an engine prints would go into that file then.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - lives on


def _leave(_: int, __: FrameType | None) -> None:
    """Nothing was begun yet, so nothing is to be told or tidied."""
    os._exit(128 + signal.SIGINT)
