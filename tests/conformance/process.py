"""The other end of `worker`: starts it, asks, and tells a crash or a hang from an answer."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

ROOT = Path(__file__).parents[2]
SECONDS = 400.0
"""After which a request counts as hanging, unless it says otherwise."""


class EngineProcess:
    """One engine in a process of its own, which is started when it is first asked, and again after it died."""

    def __init__(self, engine: str, environment: Mapping[str, str] = os.environ) -> None:
        self.engine = engine
        self._environment = environment
        self._process: subprocess.Popen[str] | None = None
        self._answers: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._pump: threading.Thread | None = None

    def ask(self, request: dict[str, Any], seconds: float = SECONDS) -> dict[str, Any]:
        """The worker's answer; ``error`` if it died or did not answer in time."""
        process = self._started()
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
            line = self._answers.get(timeout=seconds)
        except (queue.Empty, BrokenPipeError):
            line = ""
        if line:
            answer: dict[str, Any] = json.loads(line)
            return answer
        hung = process.poll() is None
        self.stop()
        return {"error": f"gave no answer in {seconds:g} s" if hung else f"died with exit status {process.returncode}"}

    def stop(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is None or self._pump is None:
            return
        process.kill()
        process.wait()
        self._pump.join()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None:
            path = os.pathsep.join(filter(None, [str(ROOT / "src"), str(ROOT), self._environment.get("PYTHONPATH")]))
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.conformance.worker", self.engine],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                cwd=ROOT,
                env={**self._environment, "PYTHONPATH": path},
            )
            self._answers = queue.SimpleQueue()
            self._pump = threading.Thread(target=_pump, args=(self._process, self._answers), daemon=True)
            self._pump.start()
        return self._process


def _pump(process: subprocess.Popen[str], answers: queue.SimpleQueue[str]) -> None:
    """Hand each answer on, then an empty one: the process has ended."""
    assert process.stdout is not None
    for line in process.stdout:
        answers.put(line)
    process.wait()
    answers.put("")
