"""Workers that are forked and not started anew: the same code and the same writes, without a second of imports.

Nothing else differs: a forked worker has pipes of its own, a session of its own, the environment that it was given, and
no descriptor of its parent's, as after ``exec``.
"""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import IO, NoReturn
from unittest.mock import patch

from intarsia.cost.worker import process, worker

_DESCRIPTORS = 4096


class ForkedWorker:
    """What of ``subprocess.Popen`` the client of a worker uses.

    Args:
        line: ``[PYTHON, "-m", MODULE, *ARGUMENTS]`` of a worker.
        stderr: The file for what the worker says.
        env: Its whole environment.
    """

    def __init__(self, line: Sequence[str], *, stderr: IO[bytes], env: Mapping[str, str], **_: object) -> None:
        asked, requests = os.pipe()
        answers, answered = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            _become(line[3:], (asked, answered, stderr.fileno()), env)
        os.close(asked)
        os.close(answered)
        self.stdin, self.stdout = os.fdopen(requests, "wb"), os.fdopen(answers, "rb")
        self._status: int | None = None

    def kill(self) -> None:
        if self._status is None:
            os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        if self._status is None:
            self._status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self._status


def _become(arguments: Sequence[str], streams: tuple[int, int, int], env: Mapping[str, str]) -> NoReturn:
    try:
        os.setsid()
        gc.freeze()  # what the parent holds is not to be closed here, by numbers that are ours by then
        kept = [os.dup(stream) for stream in streams]
        for number, stream in enumerate(kept):
            os.dup2(stream, number)
        os.closerange(3, _DESCRIPTORS)
        sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
        sys.argv[1:] = arguments
        os.environ.clear()
        os.environ.update(env)
        worker.main()
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


@contextmanager
def forked_workers() -> Iterator[None]:
    """Let this process fork its workers."""
    with (
        patch.object(process, "subprocess", SimpleNamespace(Popen=ForkedWorker, PIPE=subprocess.PIPE)),
        patch.object(process, "_can_fork", lambda: False),  # no process but this one forks them
    ):
        yield
