"""All models of a server: loading them, and loading anew what changed."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from intarsia.serving.figures import Figures
from intarsia.serving.limits import Limits
from intarsia.serving.loaded import Loaded
from intarsia.serving.logs import tell, tell_error
from intarsia.serving.served import ServedModel
from intarsia.serving.statuses import RequestError, Status
from intarsia.serving.versions import Ticket
from intarsia.target.cores import thread_budget

Load = Callable[[str, str, Path], Loaded]
"""Loads the artifact of a file under a name, as a version."""
Facts = tuple[int, int, int, int]


class Repository:
    """The models by their names."""

    def __init__(
        self, files: Mapping[str, Path], load: Load, limits: Limits, figures: Figures, *, log_requests: bool = False
    ) -> None:
        self._files = dict(files)
        self._load = load
        self._figures = {name: figures.of(name) for name in files}
        self._models = {
            name: ServedModel(name, limits, self._figures[name], log_requests=log_requests) for name in files
        }
        self._has_one_core = thread_budget() == 1
        self._versions = dict.fromkeys(files, 0)
        self._seen: dict[str, Facts | None] = {}
        self._changing: dict[str, Facts] = {}

    @property
    def is_ready(self) -> bool:
        """Whether every model is."""
        return all(model.is_ready for model in self._models.values())

    @property
    def names(self) -> tuple[str, ...]:
        """What models there are."""
        return tuple(self._models)

    def model(self, name: str) -> ServedModel:
        """The model of a name.

        Raises:
            RequestError: There is none.
        """
        found = self._models.get(name)
        if found is None:
            raise RequestError(Status.NOT_FOUND, f"there is no model {name!r}; served are {', '.join(self._models)}")
        return found

    @property
    def beside_in_batches(self) -> int:
        """How many requests more may be at work than there are instances, since a call may answer several."""
        return sum(model.beside_in_batches for model in self._models.values())

    def is_answered_where_read(self, model: ServedModel, ticket: Ticket) -> bool:
        """Whether the thread that reads had better answer this request itself than hand it to another thread.

        That holds if it will not take long, and nothing else could be done meanwhile: there is one core, or no other
        request. One that has waited too long is another's to refuse.
        """
        if not model.is_quick(ticket) or time.monotonic() >= ticket.deadline:
            return False
        return self._has_one_core or sum(each.admitted for each in self._models.values()) == 1

    def load_all(self) -> None:
        """Load each model for the first time.

        Raises:
            IntarsiaError: One cannot be loaded.
        """
        for name in self._models:
            self._seen[name] = _facts(self._files[name])
            self._load_next(name)

    def watch(self, every_s: float, stop: threading.Event) -> None:
        """Load anew what changed, until told to stop; a file that is still being written, once it rests."""
        while not stop.wait(every_s):
            for name, path in self._files.items():
                self._look_at(name, path)

    def _look_at(self, name: str, path: Path) -> None:
        now = _facts(path)
        if now is None or now == self._seen[name]:
            self._changing.pop(name, None)
            return
        if self._changing.get(name) != now:
            self._changing[name] = now
            return
        self._seen[name] = now
        try:
            self._load_next(name)
            self._figures[name].reloads["swapped"].inc()
        except Exception as error:  # the version before goes on, whatever is wrong with this one
            self._figures[name].reloads["failed"].inc()
            tell_error("not reloaded", error, model=name, file=str(path))

    def _load_next(self, name: str) -> None:
        version = str(self._versions[name] + 1)
        tell("loading", model=name, version=version, file=str(self._files[name]))
        loaded = self._load(name, version, self._files[name])
        self._versions[name] += 1
        self._models[name].swap(loaded)
        tell("ready", model=name, version=version, **loaded.facts)

    def drain(self) -> None:
        """Admit nothing any more."""
        for model in self._models.values():
            model.drain()

    def wait_drained(self, timeout_s: float) -> int:
        """Wait until all that was admitted is answered; how many requests are not."""
        return sum(model.wait_drained(timeout_s) for model in self._models.values())

    def close(self) -> None:
        """Free what is loaded."""
        for model in self._models.values():
            model.close()


def _facts(path: Path) -> Facts | None:
    """What changes when a file does; ``None`` where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
