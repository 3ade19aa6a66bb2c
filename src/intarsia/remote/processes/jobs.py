"""The compiles of a worker: each in a process of its own, followed by whoever attaches, ended when nobody does."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from intarsia.files import remove_folder
from intarsia.remote.failures import told
from intarsia.remote.file_store import FileStore
from intarsia.remote.messages import Event, Nothing, Result
from intarsia.remote.processes.child import Child
from intarsia.remote.processes.job_process import ARTIFACT, FAILURE, PROGRESS, REMARK, RESULT
from intarsia.remote.protocol import HEARTBEAT_S

_MOST_REMARKS: Final = 1000


@dataclass(slots=True)
class _State:
    """What a job has told so far."""

    remarks: list[str]
    progress: str = ""
    count: int = 0
    end: Any = None


class Job:
    """One compile. What it tells is kept, so that a caller that comes back misses nothing but old progress."""

    def __init__(self, folder: Path, files: FileStore, patience_s: float) -> None:
        """Start it on a folder with its request, which it owns; an ``OSError`` if there is no process for it."""
        self._folder = folder
        self._files = files
        self._patience_s = patience_s
        self._state = _State(remarks=[])
        self._changed = threading.Condition()
        self._attached = 0
        self._left_at = time.monotonic()
        self._child = Child("intarsia.remote.processes.job_process", [str(folder)])
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def is_done(self) -> bool:
        """Whether it came to its end."""
        return self._state.end is not None

    @property
    def alone_s(self) -> float:
        """Seconds since nobody follows it; 0 while somebody does."""
        return 0.0 if self._attached else time.monotonic() - self._left_at

    @property
    def is_left(self) -> bool:
        """Whether it was alone for longer than its caller said."""
        return self.alone_s > self._patience_s

    def events(self, remarks_seen: int, is_over: Callable[[], bool]) -> Iterator[Any]:
        """What it tells from now on, with a heartbeat where it is silent, up to its end or until ``is_over``."""
        with self._changed:
            self._attached += 1
        try:
            yield from self._events(remarks_seen, is_over)
        finally:
            with self._changed:
                self._attached -= 1
                self._left_at = time.monotonic()

    def _events(self, seen: int, is_over: Callable[[], bool]) -> Iterator[Any]:
        count = -1
        while not is_over():
            with self._changed:
                if self._state.count == count:
                    self._changed.wait(HEARTBEAT_S)
                state = self._state
                remarks, end = state.remarks[seen:], state.end
                progress = state.progress if state.count != count else ""
                is_silent = state.count == count
                count = state.count
            seen += len(remarks)
            yield from (Event(remark=each) for each in remarks)
            if end is not None:
                yield end
                return
            if progress:
                yield Event(progress=progress)
            elif is_silent or not remarks:
                yield Event(heartbeat=Nothing())

    def wake(self) -> None:
        """Have those that follow it look whether it is over."""
        with self._changed:
            self._changed.notify_all()

    def cancel(self) -> None:
        """Ask it to end, with the best so far."""
        self._child.interrupt()

    def close(self) -> None:
        """End it, and remove its folder."""
        self._child.close(gently=not self.is_done)
        self._reader.join()
        remove_folder(self._folder)

    def _read(self) -> None:
        end: Any = None
        for line in self._child.output:
            with suppress(ValueError):
                ((what, facts),) = json.loads(line).items()
                if what in (RESULT, FAILURE):
                    end = self._end(what, facts)
                else:
                    self._note(what, facts)
        self._child.process.wait()
        if end is None:
            said = f"its process ended {self._child.end_of_it()}"
            end = Event(failure=told("WorkerDiedError", f"{said}; the same call goes on from its record store"))
        with self._changed:
            self._state.end = end
            self._state.count += 1
            self._changed.notify_all()

    def _note(self, what: str, facts: Any) -> None:
        with self._changed:
            if what == PROGRESS:
                self._state.progress = json.dumps(facts)
            elif what == REMARK and len(self._state.remarks) < _MOST_REMARKS:
                self._state.remarks.append(json.dumps(facts))
            self._state.count += 1
            self._changed.notify_all()

    def _end(self, what: str, facts: Any) -> Any:
        if what == FAILURE:
            return Event(failure=facts)
        digest = self._files.adopt(self._folder / ARTIFACT)
        return Event(result=Result(digest=digest, is_interrupted=facts["is_interrupted"]))
