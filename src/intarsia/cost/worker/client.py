"""The parent's side of a worker: start it with the environment its engines must load in, ask, and survive it."""

from __future__ import annotations

import contextlib
import logging
import os
import selectors
import shutil
import signal
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

from pydantic import ValidationError

from intarsia.backends.contract.failures import Cause, cause_of, cause_of_end
from intarsia.cost.thresholds import DISTURBANCE, PATIENCE
from intarsia.cost.worker.neighbours import Neighbours
from intarsia.cost.worker.process import WorkerProcess, start_worker
from intarsia.cost.worker.protocol import ANSWER, Answer, Failed, Request
from intarsia.files import Scratch, uninterrupted
from intarsia.runtime.environment import merged

log = logging.getLogger(__name__)
LAST_WORDS = 400
MOST_WORDS = 1 << 16


class WorkerClient(contextlib.AbstractContextManager["WorkerClient"]):
    """One worker process on one saved graph; a worker that died or hung is replaced at the next request."""

    def __init__(self, folder: Path, environment: dict[str, str | None]) -> None:
        self._folder = folder
        self._environment = environment
        self._process: WorkerProcess | None = None
        self._pending = b""
        self._log: IO[bytes] | None = None
        self._temporary: Scratch | None = None
        self._heard = 0
        self._unstarted: Failed | None = None

    def ask(self, request: Request, timeout_s: float) -> Answer:
        """The worker's answer; a crash, a hang, or a process that cannot be started is the answer `Failed`."""
        self.send(request)
        return self.answer(timeout_s)

    def send(self, request: Request) -> None:
        """Put a request without waiting, so that several workers are busy at one time; `answer` belongs to it."""
        process = self.start()
        if process is None:
            return
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(request.model_dump_json().encode() + b"\n")
            process.stdin.flush()

    def answer(self, timeout_s: float) -> Answer:
        """The answer to the request that was sent; a crash or a hang is the answer `Failed`."""
        refused, self._unstarted = self._unstarted, None
        if refused is not None:
            return refused
        process = self._running()
        line, neighbours = self._line(process, timeout_s)
        self._pass_on()
        if line is None:
            cause = Cause.NO_ANSWER if neighbours is None or neighbours.were_busy() else Cause.ENGINE
            self.close()
            reason = f"no answer within {timeout_s:.0f} s; its process was ended"
            return Failed(stage="timeout", reason=reason, cause=cause)
        if not line:
            return self._crash(process)
        try:
            return ANSWER.validate_json(line)
        except ValidationError as error:
            self.close()
            return Failed(stage="run", reason=f"the worker answered nonsense: {error}", cause=Cause.CRASH)

    def close(self) -> None:
        """End the worker, if there is one. A Ctrl-C meanwhile comes when it has ended."""
        with uninterrupted():
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
    def _end(process: WorkerProcess | None, output: IO[bytes] | None) -> None:
        if process is not None:
            process.kill()
        streams = (output,) if process is None else (process.stdin, process.stdout, output)
        for stream in streams:
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        if process is not None:
            process.wait()

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> WorkerProcess | None:
        """The process, started beside other work; ``None`` if it cannot be started, which is then the answer."""
        try:
            process = self._running()
        except OSError as error:
            self.close()
            cause = cause_of(error) if cause_of(error).is_transient else Cause.NO_PROCESS
            self._unstarted = Failed(stage="start", reason=f"its process cannot be started: {error}", cause=cause)
            return None
        self._unstarted = None
        return process

    def _running(self) -> WorkerProcess:
        if self._process is None:
            with uninterrupted():  # or it would go on, and nobody would know of it
                self._process = self._started()
        return self._process

    def _started(self) -> WorkerProcess:
        self._temporary = Scratch()
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        arguments = [str(self._folder), str(self._temporary.path)]
        return start_worker(arguments, merged(os.environ, self._environment), self._log)

    def _line(self, process: WorkerProcess, timeout_s: float) -> tuple[bytes | None, Neighbours | None]:
        """One line, empty at the end of the pipe and ``None`` when the time is up; and who was watched meanwhile."""
        assert process.stdout is not None
        deadline, neighbours = time.monotonic() + timeout_s, None
        look = deadline - timeout_s + min(PATIENCE.neighbours_s, timeout_s / 2)
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._pending:
                now = time.monotonic()
                if neighbours is None and now >= look:  # not before: looking would disturb what is timed
                    neighbours = Neighbours(process.pid)
                if now >= deadline:
                    return None, neighbours
                if not selector.select(max(0.0, (deadline if neighbours else look) - now)):
                    continue
                chunk = os.read(process.stdout.fileno(), 1 << 16)
                if not chunk:
                    return b"", neighbours
                self._pending += chunk
        line, _, self._pending = self._pending.partition(b"\n")
        return line, neighbours

    def _crash(self, process: WorkerProcess) -> Failed:
        code = process.wait()
        words = self._last_words()
        self.close()
        how = f"killed by {_name_of(-code)}" if code < 0 else f"ended with status {code}"
        cause = cause_of_end(code, words)
        if code == -signal.SIGBUS and _is_full(self._folder):  # a mapped file that the disk has no room for
            cause = Cause.NO_SPACE
        reason = f"the process was {how}" + (f"; it last said: {words}" if words else "")
        return Failed(stage="crash", reason=reason, cause=cause)

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


def ask_twice(
    worker: WorkerClient,
    request: Request,
    timeout_s: float,
    again_s: Callable[[Failed], float] | None = None,
) -> Answer:
    """A worker's answer; a failure that may pass is asked for once more, of a fresh process.

    A process that ends itself both times has an engine that does so; what the machine did twice is still not the
    engine's doing. The second answer may take ``again_s``, or as long as the first; none is asked for in no time.
    """
    first = worker.ask(request, timeout_s)
    if not isinstance(first, Failed) or not first.cause.may_pass:
        return first
    left = timeout_s if again_s is None else again_s(first)
    if left <= 0:
        return first
    worker.close()
    second = worker.ask(request, left)
    if isinstance(second, Failed) and first.cause is second.cause is Cause.CRASH:
        return second.model_copy(update={"cause": Cause.ENGINE})
    return second


def _name_of(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # one of those that have no name of their own
        return f"signal {number}"


def _is_full(folder: Path) -> bool:
    with contextlib.suppress(OSError):
        return shutil.disk_usage(folder).free < DISTURBANCE.full_bytes
    return False
