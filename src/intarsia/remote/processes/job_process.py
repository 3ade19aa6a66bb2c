"""The process in which a worker compiles one model: a folder says what is asked, lines of JSON tell what happens."""

from __future__ import annotations

import json
import logging
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any, Final

from intarsia.backends.isolation.server import end_with_parent
from intarsia.config import CompilationConfig
from intarsia.cost.worker.deadline import process_age
from intarsia.cost.worker.progress import Progress
from intarsia.cost.worker.worker import private_output
from intarsia.driver.verbs import compile
from intarsia.errors import IntarsiaError, Interrupted, ModelError
from intarsia.files import replace_file
from intarsia.remote.failures import failure_of
from intarsia.remote.settings_text import settings_of_text

REQUEST: Final = "request.json"
ARTIFACT: Final = "artifact.intarsia"
PROGRESS, REMARK, FAILURE, RESULT = "progress", "remark", "failure", "result"
Tell = Callable[[str, Any], None]


def write_request(folder: Path, *, model: str, target: str, settings: str, store: str | None) -> None:
    """Write what this process is to do."""
    facts = {"model": model, "target": target, "settings": settings, "store": store}
    replace_file(folder / REQUEST, json.dumps(facts).encode(), lasts=False)


def model_path(name: str) -> Path:
    """The path of a model's file in its folder, of which it stays inside; a `ModelError` for any other name."""
    path = Path(name)
    if not name or "\0" in name or path.is_absolute() or ".." in path.parts:
        raise ModelError(f"{name!r} is no file in a model's folder")
    return path


def main() -> None:
    """Compile what the folder holds, and tell of it."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    end_with_parent()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    began = time.monotonic() - process_age()
    folder = Path(sys.argv[1])
    pipe = private_output()
    tell = _writer(pipe, folder)
    logging.basicConfig(level=logging.INFO, handlers=[_Remarks(tell)])
    try:
        _compile(folder, began, tell)
    except BaseException as error:
        _tell_error(error, tell)


def _compile(folder: Path, began: float, tell: Tell) -> None:
    asked = json.loads((folder / REQUEST).read_text(encoding="utf-8"))
    settings = settings_of_text(asked["settings"], asked["store"])
    target = CompilationConfig.of(asked["target"]) if asked["target"] else None

    def progress(now: Progress) -> None:
        tell(PROGRESS, asdict(now))

    is_interrupted = False
    try:
        compiled = compile(folder / "model" / asked["model"], target, settings=settings, progress=progress, began=began)
    except Interrupted as interrupt:
        if interrupt.best is None:
            raise
        compiled, is_interrupted = interrupt.best, True
    with compiled:
        compiled.save(folder / ARTIFACT)
    tell(RESULT, {"is_interrupted": is_interrupted})


def _tell_error(error: BaseException, tell: Tell) -> None:
    if not isinstance(error, IntarsiaError | KeyboardInterrupt):
        logging.getLogger(__name__).info("the compile ended", exc_info=error)
    tell(FAILURE, failure_of(error))


def _writer(pipe: IO[str], folder: Path) -> Tell:
    """Writes a line for each thing told; a path in the folder of this compile reads as the caller knows it."""
    lock = threading.Lock()
    inside = json.dumps(f"{folder}/model/")[1:-1]

    def tell(what: str, facts: Any) -> None:
        line = json.dumps({what: facts}).replace(inside, "")
        if isinstance(facts, str):
            line = line.replace(json.dumps(inside)[1:-1], "")
        with lock:
            pipe.write(line + "\n")
            pipe.flush()

    return tell


class _Remarks(logging.Handler):
    """Tells of what is logged."""

    def __init__(self, tell: Tell) -> None:
        super().__init__()
        self._tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        self._tell(REMARK, {"level": record.levelno, "text": record.getMessage()})


if __name__ == "__main__":
    main()
