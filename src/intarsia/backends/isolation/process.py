"""Starts the other interpreter, sends it requests, and raises one of our errors if its process ends."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import tempfile
import threading
import weakref
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, NoReturn

from intarsia import errors
from intarsia.backends.contract import Availability
from intarsia.backends.contract.failures import CauseError, cause_of_end
from intarsia.backends.contract.shared_memory import SharedBlock
from intarsia.backends.isolation.message import ASK, DONE, FAILED, LONGEST, RUN, Message
from intarsia.errors import BackendError, ExecutionError, IntarsiaError
from intarsia.forks import Forkable, left_behind

SECONDS_TO_TELL = 60.0
LAST_WORDS = 400
# Neither our search path nor our other variables of Python: what the other interpreter imports is its own.
_FLAGS = ("-E", "-P", str(Path(__file__).with_name("entry.py")))

_Reply = tuple[bytes, Sequence[int]]
"""A message, and the descriptors that came with it."""


class EngineProcess(Forkable):
    """One engine in a process of another interpreter. Requests from several threads take turns."""

    def __init__(self, engine: str, name: str, python: str, environment: Mapping[str, str | None]) -> None:
        """Start it. The other side calls the engine ``engine``, errors call it ``name``.

        ``environment`` has variables that the engine reads while it loads; ``None`` means absent.

        Raises:
            OSError: There is no such interpreter.
        """
        self.name = name
        self._python = python
        self._lock = threading.Lock()
        self._dropped: deque[int] = deque()
        self._wire, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        variables = {name: value for name, value in (os.environ | dict(environment)).items() if value is not None}
        try:
            self._process = subprocess.Popen(
                [python, *_FLAGS, engine, str(theirs.fileno())],
                stdin=subprocess.PIPE,
                stdout=self._log,
                stderr=self._log,
                env=variables,
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # Ctrl-C is for us: a process that died of it would seem to have crashed
            )
        except OSError:
            self._wire.close()
            self._log.close()
            raise
        finally:
            theirs.close()
        self._end = weakref.finalize(self, _end, self._process, self._wire, self._log)

    @property
    def is_alive(self) -> bool:
        """Whether it can be asked."""
        return self._end.alive and self._process.poll() is None

    def ask(self, asked: Message, error: type[BackendError], blocks: Sequence[SharedBlock] = ()) -> Message:
        """The answer; the blocks are mapped at the other end, in this order.

        Raises:
            IntarsiaError: What the other side raised, or ``error`` if its process ended.
        """
        with self._lock:
            self._drop_those_left()
            return self._asked(asked, error, blocks)

    def run(self, number: int) -> None:
        """Run a bound call.

        Raises:
            ExecutionError: The engine failed, or its process ended.
        """
        with self._lock:
            reply, _ = self._exchange(lambda: self._called(number), ExecutionError)
        if reply != DONE:
            self._raise(reply)

    def drop(self, number: int) -> None:
        """Closes an executable with the next request. Finalisers call this, and so it waits for no lock."""
        self._dropped.append(number)

    def clean_up(self) -> None:
        """Closes what was dropped, unless a request is running; the next one then does it."""
        if self._lock.acquire(blocking=False):
            try:
                with suppress(BackendError):
                    self._drop_those_left()
            finally:
                self._lock.release()

    def close(self) -> None:
        """End the process."""
        self._end()

    def after_fork(self) -> None:
        """The process answers the parent, ends with it, and is not this one's child."""
        self._lock = threading.Lock()
        if self._end.detach() is None:
            return
        left_behind(self._process)
        self._wire.close()
        if self._process.stdin is not None:
            self._process.stdin.close()

    def _drop_those_left(self) -> None:
        dropped = [self._dropped.popleft() for _ in range(len(self._dropped))]
        if dropped:
            self._asked(Message(facts={"do": "drop", "executables": dropped}), ExecutionError, ())

    def _asked(self, asked: Message, error: type[BackendError], blocks: Sequence[SharedBlock]) -> Message:
        block = asked.packed()
        reply, received = self._exchange(lambda: self._sent((block, *blocks)), error)
        return Message.of_block(SharedBlock.received(received[0])) if received else self._raise(reply)

    def _called(self, number: int) -> _Reply:
        self._wire.send(RUN + str(number).encode())
        return self._wire.recv(LONGEST), ()

    def _sent(self, blocks: Sequence[SharedBlock]) -> _Reply:
        socket.send_fds(self._wire, [ASK], [block.descriptor for block in blocks])
        reply, received, _, _ = socket.recv_fds(self._wire, LONGEST, 1)
        return reply, received

    def _exchange(self, act: Callable[[], _Reply], error: type[BackendError]) -> _Reply:
        """Send and wait; an interrupted exchange ends the process, since its answer would be taken for the next one."""
        if not self._end.alive:
            raise error(self.name, f"its process in {self._python} has ended; load the model again")
        try:
            reply = act()
        except ConnectionError:
            reply = b"", ()
        except OSError as raised:
            self.close()
            raise error(self.name, f"its process in {self._python} cannot be reached: {raised}") from raised
        except BaseException:
            self.close()
            raise
        if not reply[0]:
            self._crashed(error)
        return reply

    def _raise(self, reply: bytes) -> NoReturn:
        kind, detail = json.loads(reply.removeprefix(FAILED))
        error: type[IntarsiaError] = getattr(errors, kind)
        raise error(self.name, detail) if issubclass(error, BackendError) else error(detail)

    def _crashed(self, error: type[BackendError]) -> NoReturn:
        code = self._process.wait()
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
        words = last_words(self._log)
        self.close()
        reason = f"its process in {self._python} {how}" + (f"; it last said: {words}" if words else "")
        raise error(self.name, reason) from CauseError(cause_of_end(code, words))


def probed(engine: str, python: str) -> Availability:
    """The result of the engine's probe in that interpreter."""
    try:
        done = subprocess.run(
            [python, *_FLAGS, engine], capture_output=True, text=True, check=False, timeout=SECONDS_TO_TELL
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        fix = "name one that is there: -python=/path/to/environment/bin/python"
        return Availability(usable=False, reason=f"{python} does not run: {error}", fix=fix)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"it ended with status {done.returncode}"]
        fix = f"{python} -m pip install intarsia"
        return Availability(usable=False, reason=f"Intarsia does not import in {python}: {lines[-1]}", fix=fix)
    found = json.loads(done.stdout.splitlines()[-1])
    fix = found["fix"]
    if fix is not None and fix.startswith("pip "):
        found["fix"] = f"{python} -m {fix}"
    return Availability(**{**found, "devices": tuple(found["devices"])})


def last_words(log: IO[bytes]) -> str:
    """The last text that a process printed."""
    log.seek(max(0, log.seek(0, os.SEEK_END) - LAST_WORDS))
    return log.read().decode(errors="replace").strip()


def _end(process: subprocess.Popen[bytes], wire: socket.socket, log: IO[bytes]) -> None:
    process.kill()
    wire.close()
    if process.stdin is not None:
        process.stdin.close()
    process.wait()
    log.close()
