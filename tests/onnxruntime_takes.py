"""Whether ONNX Runtime loads models: asked in processes of their own, as some of the models are made to do harm.

As a program: reads paths from standard input, one a line, and answers each with a line of JSON.
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

MEMORY_BYTES = 8 << 30
LIMIT_S = 60.0
TAKEN = ""
LACKING = ("NotImplemented", "NOT_IMPLEMENTED", "/core/providers/", "UnicodeDecodeError")
"""Its words for a sound model that it has no kernel for, or whose kernel minds, and may quote, an attribute's value."""

OWN_LIMITS = ("should have created NodeArg for initializer", "No Op registered for")
"""Its words where it minds what ONNX does not: weights of nested graphs that are no inputs, in models of format 3 and
before, and operators that the version lacks in nodes which nobody reads."""


def answers(paths: Iterable[Path]) -> Iterator[str]:
    """For each file what ONNX Runtime says against it; `TAKEN` if nothing."""
    line = [sys.executable, __file__]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for path in paths:
            process.stdin.write(f"{path}\n")
            process.stdin.flush()
            yield str(json.loads(process.stdout.readline()))
        process.stdin.close()


def refuses(answer: str) -> bool:
    """Whether an answer says that the model is not sound, and not only that no kernel is there."""
    return answer != TAKEN and not any(word in answer for word in LACKING)


def _asked(path: str) -> str:
    """The answer, from a process that may die."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        told = _loaded(path)
        os.write(writing, told.encode()[:60_000])
        os._exit(0)
    os.close(writing)
    answer = _read(reading)
    os.close(reading)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if answer is None:
        return f"no answer within {LIMIT_S:.0f} s"
    return answer if answer or code in (0, -signal.SIGKILL) else f"ended by signal {-code}"


def _read(descriptor: int) -> str | None:
    parts: list[bytes] = []
    while select.select([descriptor], [], [], LIMIT_S)[0]:
        part = os.read(descriptor, 1 << 16)
        if not part:
            return b"".join(parts).decode(errors="replace")
        parts.append(part)
    return None


def _loaded(path: str) -> str:
    import onnxruntime

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for stream in (1, 2):  # it prints on both
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return TAKEN


def _serve() -> None:
    import onnxruntime  # noqa: F401 - before the forks, so that each is quick

    for line in sys.stdin:
        sys.stdout.write(json.dumps(_asked(line.rstrip("\n"))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _serve()
