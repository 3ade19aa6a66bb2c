"""What runs on a node of a Ray cluster, in a process that Ray starts there: the models of one caller, and its compile.

Artifacts arrive as bytes, and are loaded by `intarsia.runtime` with its checks. What is answered is a word and a value,
and never an exception: that would be built from Ray's own pickle.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, Final, ParamSpec

import numpy as np

from intarsia.errors import ModelError
from intarsia.files import Scratch, replace_file, sweep_temporary
from intarsia.remote.actors.threads import take_threads_back
from intarsia.remote.failures import failure_of
from intarsia.remote.file_store import FileStore
from intarsia.remote.processes.job_process import model_path, write_request
from intarsia.remote.processes.jobs import Job
from intarsia.runtime import Artifact, CompiledModel
from intarsia.runtime.artifact.trust import OWN
from intarsia.version import __version__

OK: Final = "ok"
FAILURE: Final = "failure"
GONE: Final = "gone"
_MOST_KEPT: Final = 16 << 30
"""Bytes of contents that are kept."""
_UNTIL_KILLED_S: Final = 86400.0
"""A compile whose caller is away ends with this process, which Ray ends."""
P = ParamSpec("P")
Answer = tuple[str, Any]


class _GoneError(Exception):
    """The caller names what is not here: it was another process that had it."""


def _answered(act: Callable[Concatenate[Any, P], Any]) -> Callable[Concatenate[Any, P], Answer]:
    @wraps(act)
    def told(self: Any, /, *args: P.args, **named: P.kwargs) -> Answer:
        take_threads_back()
        try:
            return OK, act(self, *args, **named)
        except _GoneError as error:
            return GONE, str(error)
        except Exception as error:
            return FAILURE, re.sub(f"{re.escape(str(self.folder))}/files/[0-9a-f]+", "the artifact", failure_of(error))

    return told


class MachineActor:
    """One process on a node. Its methods are called one after the other."""

    def __init__(self) -> None:
        sweep_temporary()  # what a process that was killed left
        self._scratch = Scratch()
        self._files = FileStore(self._scratch.path / "files", _MOST_KEPT)
        self._models: dict[str, CompiledModel] = {}
        self._jobs: dict[str, Job] = {}
        self._events: dict[str, Iterator[Any]] = {}

    @property
    def folder(self) -> Path:
        """Where all files of this process are."""
        return self._scratch.path

    @_answered
    def hello(self) -> Mapping[str, Any]:
        """Who answers."""
        return {"version": __version__, "pid": os.getpid()}

    @_answered
    def echo(self, content: np.ndarray) -> np.ndarray:
        """What was sent."""
        return content.copy()

    @_answered
    def upload(self, digest: str, content: np.ndarray) -> None:
        """Keep a content, which must be what its digest says."""
        path = self.folder / "arrived"
        replace_file(path, content.tobytes(), lasts=False)
        if self._files.adopt(path) != digest:
            raise ModelError("a content arrived otherwise than it was sent; send it again")
        path.unlink(missing_ok=True)

    @_answered
    def fetch(self, digest: str) -> np.ndarray:
        """A content that is kept."""
        return np.fromfile(self._path(digest), np.uint8)

    @_answered
    def load(self, digest: str) -> str:
        """Load an artifact that is kept; the name by which it is called."""
        model = CompiledModel(Artifact(self._path(digest), OWN))
        model.load()
        name = secrets.token_hex(16)
        self._models[name] = model
        return name

    @_answered
    def run(
        self, name: str, arrays: Mapping[str, np.ndarray], is_timed: bool
    ) -> tuple[dict[str, np.ndarray], list[int]]:
        """The results of a loaded model, and nanoseconds of each step where they are asked for."""
        model = self._models.get(name)
        if model is None:
            raise _GoneError("no such model")
        if not is_timed:
            return model(arrays), []
        return model.load().timed_run(model.checked(arrays))

    @_answered
    def close_model(self, name: str) -> None:
        """Free a model."""
        model = self._models.pop(name, None)
        if model is not None:
            model.close()

    @_answered
    def compile(self, job: str, files: Mapping[str, np.ndarray], target: str, settings: str) -> None:
        """Begin to compile a model, whose first file is the first one here, in a process of its own."""
        folder = self.folder / job
        for name, content in files.items():
            path = folder / "model" / model_path(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, content.tobytes(), lasts=False)
        write_request(folder, model=next(iter(files)), target=target, settings=settings, store=None)
        self._jobs[job] = Job(folder, self._files, _UNTIL_KILLED_S)
        self._events[job] = self._jobs[job].events(0, lambda: False)

    @_answered
    def next_event(self, job: str) -> bytes | None:
        """What a compile tells next, after about a second at most; ``None`` at its end."""
        if job not in self._events:
            raise _GoneError("no such compile")
        event = next(self._events[job], None)
        return None if event is None else bytes(event.SerializeToString())

    @_answered
    def cancel(self, job: str) -> None:
        """Ask a compile to end, with the best so far."""
        if job in self._jobs:
            self._jobs[job].cancel()

    @_answered
    def end(self) -> None:
        """End what runs, and remove all files."""
        ending: tuple[CompiledModel | Job, ...] = (*self._models.values(), *self._jobs.values())
        for each in ending:
            each.close()
        self._models, self._jobs, self._events = {}, {}, {}
        self._scratch.close()

    def _path(self, digest: str) -> Path:
        path = self._files.path(digest)
        if path is None:
            raise _GoneError("no such content")
        return path
