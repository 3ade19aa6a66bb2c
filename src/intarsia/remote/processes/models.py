"""The models that a worker has loaded for its callers: each in a process of its own, which an engine may crash."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from intarsia.remote.arrays import unpacked
from intarsia.remote.failures import told
from intarsia.remote.processes.child import Child
from intarsia.remote.processes.model_process import FAILURE, receive, send


class ToldError(Exception):
    """An error that a process of this worker told, as JSON."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class LoadedModel:
    """One loaded artifact. Calls take turns.

    Raises:
        ToldError: It cannot be loaded.
        OSError: There is no process for it.
    """

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        self._wire, theirs = socket.socketpair()
        try:
            self._child = Child(
                "intarsia.remote.processes.model_process",
                [str(path), str(theirs.fileno())],
                descriptors=[theirs.fileno()],
            )
        except OSError:
            self._wire.close()
            raise
        finally:
            theirs.close()
        self.used_at = time.monotonic()
        self.is_ended = False
        try:
            self._check(receive(self._wire), "load")
        except BaseException:
            self.close()
            raise

    def run(self, content: bytes) -> bytes:
        """The answer to a call, both as `intarsia.remote.arrays` packs them; a `ToldError` for one that failed."""
        with self._lock:
            self.used_at = time.monotonic()
            try:
                send(self._wire, content)
                answer = receive(self._wire)
            except OSError:
                answer = None
            self.used_at = time.monotonic()
            return self._check(answer, "run")

    def close(self) -> None:
        """End its process."""
        self.is_ended = True
        self._wire.close()
        self._child.close()

    def _check(self, answer: bytes | None, stage: str) -> bytes:
        if answer is None:
            self.is_ended = True
            detail = f"the process that was to {stage} the model there ended {self._child.end_of_it()}"
            raise ToldError(told("BackendCrashError", detail, {"backend": "an engine", "detail": detail}))
        facts: Mapping[str, Any] = unpacked(answer).facts
        if FAILURE in facts:
            raise ToldError(str(facts[FAILURE]))
        return answer
