"""The parent's side of a worker: start it with the environment its engines must load in, ask, and survive it."""

from __future__ import annotations

import contextlib
import logging
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import IO

from pydantic import ValidationError

from intarsia.cost.protocol import ANSWER, Answer, Failed, Request
from intarsia.files import Scratch
from intarsia.runtime.environment import merged

log = logging.getLogger(__name__)
LAST_WORDS = 400
MOST_WORDS = 1 << 16


class WorkerClient:
    """One worker process on one saved graph; a worker that died or hung is replaced at the next request."""

    def __init__(self, folder: Path, environment: dict[str, str | None]) -> None:
        self._folder = folder
        self._environment = environment
        self._process: subprocess.Popen[bytes] | None = None
        self._pending = b""
        self._log: IO[bytes] | None = None
        self._temporary: Scratch | None = None
        self._heard = 0

    def start(self) -> None:
        """Start the process before the first request, so that it starts beside other work."""
        self._running()

    def ask(self, request: Request, timeout_s: float) -> Answer:
        """The worker's answer; a crash or a hang is the answer `Failed`."""
        self.send(request)
        return self.answer(timeout_s)

    def send(self, request: Request) -> None:
        """Put a request without waiting, so that several workers are busy at one time; `answer` belongs to it."""
        process = self._running()
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(request.model_dump_json().encode() + b"\n")
            process.stdin.flush()

    def answer(self, timeout_s: float) -> Answer:
        """The answer to the request that was sent; a crash or a hang is the answer `Failed`."""
        process = self._running()
        line = self._line(process, time.monotonic() + timeout_s)
        self._pass_on()
        if line is None:
            self.close()
            return Failed(stage="timeout", reason=f"no answer within {timeout_s:.0f} s; its process was ended")
        if not line:
            return self._crash(process)
        try:
            return ANSWER.validate_json(line)
        except ValidationError as error:
            self.close()
            return Failed(stage="run", reason=f"the worker answered nonsense: {error}")

    def close(self) -> None:
        """End the worker, if there is one."""
        process, self._process, self._pending = self._process, None, b""
        self._pass_on()
        output, self._log, self._heard = self._log, None, 0
        temporary, self._temporary = self._temporary, None
        try:
            self._end(process, output)
        finally:
            if temporary is not None:
                temporary.close()  # a worker that is killed tidies nothing itself

    @staticmethod
    def _end(process: subprocess.Popen[bytes] | None, output: IO[bytes] | None) -> None:
        if process is None:
            return
        process.kill()
        for stream in (process.stdin, process.stdout, output):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        process.wait()

    def __enter__(self) -> WorkerClient:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            # The parent's own search path, so that what it could import the worker can import too.
            path = os.pathsep.join(entry for entry in sys.path if entry)
            self._temporary = Scratch()
            self._log = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
            self._process = subprocess.Popen(
                [sys.executable, "-m", "intarsia.cost.worker", str(self._folder), str(self._temporary.path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                env=merged(os.environ | {"PYTHONPATH": path}, self._environment),
                start_new_session=True,  # Ctrl-C is for us: a worker that died of it would seem to have crashed
            )
        return self._process

    def _line(self, process: subprocess.Popen[bytes], deadline: float) -> bytes | None:
        """One line; empty at the end of the pipe, ``None`` when the time is up."""
        assert process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._pending:
                left = deadline - time.monotonic()
                if left <= 0 or not selector.select(left):
                    return None
                chunk = os.read(process.stdout.fileno(), 1 << 16)
                if not chunk:
                    return b""
                self._pending += chunk
        line, _, self._pending = self._pending.partition(b"\n")
        return line

    def _crash(self, process: subprocess.Popen[bytes]) -> Failed:
        code = process.wait()
        words = self._last_words()
        self.close()
        how = f"killed by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
        return Failed(stage="crash", reason=f"the process was {how}" + (f"; it last said: {words}" if words else ""))

    def _pass_on(self) -> None:
        """What engines said since the last time, for whoever listens: ``--verbose`` does."""
        if self._log is None or not log.isEnabledFor(logging.INFO):
            return
        said = os.pread(self._log.fileno(), MOST_WORDS, self._heard)  # a seek would move where the worker writes
        self._heard += len(said)
        for line in said.decode(errors="replace").splitlines():
            log.info("%s", line)

    def _last_words(self) -> str:
        if self._log is None:
            return ""
        self._log.seek(max(0, self._log.seek(0, os.SEEK_END) - LAST_WORDS))
        return self._log.read().decode(errors="replace").strip()
