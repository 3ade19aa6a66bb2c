"""A process of a worker that does one piece of work: it ends with the worker, however that ends."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from typing import IO, Final

_LAST_WORDS: Final = 400
_PATIENCE_S: Final = 10.0
"""How long it may take to end when it is asked to."""


class Child:
    """One process of this interpreter; what it prints beside its answers is kept for messages.

    Raises:
        OSError: It cannot be started.
    """

    def __init__(self, module: str, arguments: Sequence[str], *, descriptors: Sequence[int] = ()) -> None:
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        try:
            self.process: subprocess.Popen[bytes] = subprocess.Popen(
                [sys.executable, "-m", module, *arguments],
                stdin=subprocess.PIPE,  # whose end tells it that the worker is gone
                stdout=subprocess.PIPE,
                stderr=self._log,
                pass_fds=descriptors,
                start_new_session=True,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
        except OSError:
            self._log.close()
            raise

    @property
    def output(self) -> IO[bytes]:
        """What it answers."""
        assert self.process.stdout is not None
        return self.process.stdout

    def interrupt(self) -> None:
        """Ask it to end, as Ctrl-C does."""
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGINT)

    def end_of_it(self) -> str:
        """How it ended, and its last words, once it did."""
        code = self.process.wait()
        said = f"by signal {-code}" if code < 0 else f"with code {code}"
        return ": ".join(filter(None, (said, self._last_words())))

    def close(self, *, gently: bool = False) -> None:
        """End it, first as Ctrl-C does if that is asked for. Calling it twice is fine."""
        if gently and self.process.poll() is None:
            self.interrupt()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(_PATIENCE_S)
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self._log):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def _last_words(self) -> str:
        if self._log.closed:
            return ""
        size = self._log.seek(0, os.SEEK_END)
        self._log.seek(max(0, size - _LAST_WORDS))
        return " ".join(self._log.read().decode(errors="replace").split())
