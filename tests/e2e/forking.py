"""What an engine does in a fork of a process that used it, as JSON: ``python -m tests.e2e.forking FORM FOLDER``.

A program of its own, since it forks. ``--insist`` loads engines of which it is declared that they cannot be loaded
there: so the declarations were measured.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from intarsia.backends.contract.forked import LoadedLibraries
from intarsia.errors import IntarsiaError
from intarsia.runtime import CompiledModel
from tests.e2e.plan_forms import feeds, load, write

PATIENCE_S = 120.0


def in_a_fork(act: Callable[[], Mapping[str, np.ndarray]], expected: Mapping[str, np.ndarray], limit_s: float) -> str:
    """What an act comes to in a child that then ends as programs do: right, wrong, an error, hung, or a signal."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        try:
            found = act()
            right = all(np.array_equal(found[name], expected[name]) for name in expected)
            told = "right" if right else "wrong"
        except IntarsiaError as error:
            told = f"{type(error).__name__}: {error}"
        os.write(write, told.encode())
        sys.exit(0)
    os.close(write)
    status = _ended(child, limit_s)
    told = os.fdopen(read, "rb").read().decode()
    if status is None:
        return f"hung, {'at its end, ' + told if told else 'in the call'}"
    if os.WIFSIGNALED(status):
        return f"{signal.Signals(os.WTERMSIG(status)).name} {told}"
    return told


def _ended(child: int, limit_s: float) -> int | None:
    """The status of a child; ``None`` if it had to be ended."""
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return status
        time.sleep(0.02)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def main() -> None:
    """Load and run in this process, then in forks: the same model, one loaded there, and one closed there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("form")
    parser.add_argument("folder", type=Path, help="where the artifact is written")
    parser.add_argument("--insist", action="store_true")
    parser.add_argument("--limit", type=float, default=PATIENCE_S)
    arguments = parser.parse_args()
    if arguments.insist:
        LoadedLibraries.note = lambda self, backend, target: None  # type: ignore[method-assign]
    path = write(arguments.folder, arguments.form)[arguments.form]
    print(json.dumps(outcomes(path, feeds(0), arguments.limit)))  # noqa: T201 - this is how a program answers


def outcomes(path: Path, asked: Mapping[str, np.ndarray], limit_s: float) -> dict[str, str]:
    """What each act in a fork comes to."""
    loaded = load(path)
    expected = loaded(asked)

    def closed() -> Mapping[str, np.ndarray]:
        loaded.close()
        return expected

    acts: Mapping[str, Callable[[], Mapping[str, np.ndarray]]] = {
        "same": lambda: loaded(asked),
        "fresh": lambda: _used(load(path), asked),
        "unused": lambda: expected,
        "closed": closed,
    }
    told = {name: in_a_fork(act, expected, limit_s) for name, act in acts.items()}
    after = loaded(asked)
    told["parent"] = "right" if all(np.array_equal(after[name], expected[name]) for name in expected) else "wrong"
    loaded.close()
    return told


def _used(model: CompiledModel, asked: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
    with model:
        return model(asked)


if __name__ == "__main__":
    main()
