"""Compiles a model and presses Ctrl-C on itself, in a process of its own: tests judge what it prints.

    python -m tests.e2e.interrupted MODEL STORE OUT (each STEP | at EVENT [again] | after SECONDS | removing NUMBER)

One line of JSON for each compile that was begun. ``each`` compiles until nothing interrupts any more, and presses at
the first event, then STEP events later each time; ``again`` presses once more while the best so far is built.
``removing`` presses as the folder of that number among temporary files is about to be removed.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import patch

import psutil

import intarsia
from intarsia import driver
from intarsia.cost.records.store import Store
from intarsia.cost.worker.progress import Progress, Watcher, unwatched
from intarsia.errors import Interrupted
from intarsia.runtime import random_feeds

SETTINGS: dict[str, Any] = {"target": "mnn, ncnn", "budget": 1.0, "threads": 1}
PATIENCE_S = 120.0


def press() -> None:
    """Ctrl-C, for the main thread, which may be waiting for something: as the terminal's, it ends that."""
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


@dataclass
class AtEvent:
    """Watches a compile, and presses at one of its events."""

    left: int
    again: bool = False

    def __call__(self, now: Progress) -> None:
        if self.again and now.stage == "interrupted":
            press()
        self.left -= 1
        if self.left == -1:
            press()


@dataclass
class Later:
    """Presses once after some time, and again where Python could not raise it, as inside a finaliser."""

    seconds: float
    is_over: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def pressing(self) -> Iterator[None]:
        before, sys.unraisablehook = sys.unraisablehook, lambda _: self._start(0.05)
        self._start(self.seconds)
        try:
            yield
        finally:
            self.is_over.set()
            sys.unraisablehook = before

    def _start(self, seconds: float) -> None:
        threading.Thread(target=self._press, args=(seconds,), daemon=True).start()

    def _press(self, seconds: float) -> None:
        if not self.is_over.wait(seconds):
            press()


@contextmanager
def removing(number: int) -> Iterator[None]:
    """Presses as a folder among temporary files is about to be removed."""
    removals, remove = count(1), shutil.rmtree

    def pressed(path: str | Path, *more: Any, **options: Any) -> None:
        if Path(path).parent == Path(tempfile.gettempdir()) and next(removals) == number:
            press()
        remove(path, *more, **options)

    with patch.object(shutil, "rmtree", pressed):
        yield


def is_tidy(store: Path) -> bool:
    """Whether no worker, no folder of work and no temporary folder is left; what is to end may take a moment."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        children = psutil.Process().children(recursive=True)
        if all(child.status() == psutil.STATUS_ZOMBIE for child in children):
            return not list((Store(store).folder / "work").iterdir()) and not temporary_folders()
        time.sleep(0.05)
    return False


def temporary_folders() -> list[Path]:
    """Those that are left, but for the one that all processes of a user share."""
    shared = f"intarsia-{os.getuid()}"
    return [path for path in Path(tempfile.gettempdir()).iterdir() if path.is_dir() and path.name != shared]


def best_of(interrupted: Interrupted, path: Path) -> dict[str, Any] | None:
    """What the best so far says it is, once it was saved, loaded again and called."""
    if interrupted.best is None:
        return None
    with interrupted.best as best:
        report = dict(best.report)
        best.save(path)
    with intarsia.load(path) as loaded:
        answers = loaded(random_feeds(loaded.inputs, seed=1))
    return {"report": report, "answers": all(array.size for array in answers.values())}


def once(
    model: Path,
    store: Path,
    out: Path,
    watch: Watcher = unwatched,
    pressing: AbstractContextManager[object] | None = None,
) -> dict[str, Any]:
    """What became of one compile."""
    best, report = None, None
    try:
        with pressing or nullcontext():
            report = compiled(model, store, watch)
    except Interrupted as interrupted:
        best = best_of(interrupted, out)
    return {"interrupted": report is None, "report": report, "best": best, "is_tidy": is_tidy(store)}


def compiled(model: Path, store: Path, watch: Watcher) -> dict[str, Any]:
    """The report of a compile that nothing interrupted."""
    with driver.compile(model, store=store, progress=watch, **SETTINGS) as found:
        return dict(found.report)


def each(begin: Callable[[int], dict[str, Any]], step: int) -> Iterator[dict[str, Any]]:
    """Compiles that are interrupted later and later, and the one that is not any more."""
    for number in count():
        found = begin(number * step)
        yield found
        if not found["interrupted"]:
            return


def main() -> None:
    """Tell of every compile as it ends: whoever reads may look at the store meanwhile, while this waits for a line."""
    model, store, out = map(Path, sys.argv[1:4])
    how, figure, *more = sys.argv[4:]
    # As in a terminal: whoever starts the tests in the background may have them ignore Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    match how:
        case "each":
            outcomes = each(lambda event: once(model, store, out, AtEvent(event)), int(figure))
        case "at":
            outcomes = iter([once(model, store, out, AtEvent(int(figure), again=more == ["again"]))])
        case "removing":
            outcomes = iter([once(model, store, out, pressing=removing(int(figure)))])
        case _:
            outcomes = iter([once(model, store, out, pressing=Later(float(figure)).pressing())])
    for found in outcomes:
        print(json.dumps(found), flush=True)  # noqa: T201 - this is how it answers
        sys.stdin.readline()


if __name__ == "__main__":
    main()
