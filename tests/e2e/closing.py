"""Closes models of every form while threads call them: ``python -m tests.e2e.closing FOLDER`` tells in JSON.

A program of its own: an engine that is freed under a call takes its process down.
"""

from __future__ import annotations

import argparse
import json
import threading
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from intarsia.errors import ClosedError
from tests.e2e.plan_forms import feeds, load, write

ROUNDS = 12
THREADS = 2


def closed_in_a_call(path: Path) -> list[str]:
    """What went wrong while a model was closed by two threads under the calls of others."""
    faults: list[str] = []
    asked = feeds(0)
    with load(path) as model:
        expected = model(asked)
    for _ in range(ROUNDS):
        model, called = load(path), threading.Semaphore(0)

        def serve() -> None:
            try:
                while True:
                    results = model(asked)  # noqa: B023 - all threads end before the next round
                    if not all(np.array_equal(results[name], expected[name]) for name in expected):
                        faults.append("a wrong answer")
                    called.release()  # noqa: B023
            except ClosedError:
                return
            except BaseException as error:
                faults.append(f"{type(error).__name__}: {error}")

        threads = [threading.Thread(target=serve) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        called.acquire()
        closers = [threading.Thread(target=model.close) for _ in range(2)]
        for thread in closers:
            thread.start()
        for thread in (*threads, *closers):
            thread.join()
        model.close()
    return faults


def main() -> None:
    """All forms, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--form")
    arguments = parser.parse_args()
    faults: Mapping[str, list[str]] = {
        form: closed_in_a_call(path) for form, path in write(arguments.folder, arguments.form).items()
    }
    print(json.dumps(faults))  # noqa: T201 - this is how a program answers


if __name__ == "__main__":
    main()
