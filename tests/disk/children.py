"""Runs something in a process of its own, forked from this one, as a command would run it."""

from __future__ import annotations

import atexit
import os
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path

from intarsia.errors import IntarsiaError
from tests.disk.library import Fault

MOST_WORDS = 2000


class Children:
    """Processes that say what they have to say to one file."""

    def __init__(self, log: Path) -> None:
        self._log = log

    def run(self, scenario: Callable[[Path], None], folder: Path, fault: Fault | None = None) -> int:
        """Exit code of a scenario; that of a signal is negative."""
        return os.waitstatus_to_exitcode(os.waitpid(self.begin(scenario, folder, fault), 0)[1])

    def begin(self, scenario: Callable[[Path], None], folder: Path, fault: Fault | None = None) -> int:
        """The process, which somebody has to wait for."""
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            os._exit(self._as_child(scenario, folder, fault))
        return child

    def said(self) -> str:
        """The end of what the last one said."""
        return self._log.read_text(errors="replace")[-MOST_WORDS:]

    def _as_child(self, scenario: Callable[[Path], None], folder: Path, fault: Fault | None) -> int:
        log = os.open(self._log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(log, 1)
        os.dup2(log, 2)
        tempfile.tempdir = None
        os.environ |= {"TMPDIR": str(folder / "tmp"), "XDG_CACHE_HOME": str(folder / "cache")}
        code = 1
        try:
            if fault is not None:
                fault.begin()
            scenario(folder)
            code = 0
        except SystemExit as end:
            code = int(end.code or 0)
        except IntarsiaError as error:
            code = error.exit_code
            print(f"{type(error).__name__}: {error}", file=sys.stderr)  # noqa: T201 - the log of the case
        except BaseException:
            traceback.print_exc()
        finally:
            atexit._run_exitfuncs()
            sys.stdout.flush()
        return code
