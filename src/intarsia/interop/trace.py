"""What ``enable_profiling`` writes: each run and its partitions as a trace that chrome://tracing and Perfetto show."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from intarsia.errors import ConfigError, OutputError
from intarsia.files import replace_file
from intarsia.forks import Forkable
from intarsia.runtime import CompiledModel


class Trace(Forkable):
    """Times of runs, one after the other, from the moment it is made. Partitions run in order, none at one time."""

    def __init__(self, prefix: str) -> None:
        self.start_ns = time.perf_counter_ns()
        self._prefix = prefix
        self._events: list[dict[str, Any]] = []
        self._lock = threading.Lock()

    def run(self, model: CompiledModel, feeds: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """Run once, as a call of the model does, and note how long each partition took."""
        with self._lock:
            arrays = model.checked(feeds)
            executor = model.load()
            before = time.perf_counter_ns()
            results, spent = executor.timed_run(arrays)
            self._note("model_run", "Session", before, time.perf_counter_ns() - before)
            for number, (partition, nanoseconds) in enumerate(zip(executor.plan.partitions, spent, strict=True)):
                self._note(f"partition {number}: {partition.target}", "Node", before, nanoseconds, len(partition.nodes))
                before += nanoseconds
            return results

    def after_fork(self) -> None:
        """Whoever ran when the process was forked goes on in the parent."""
        self._lock = threading.Lock()

    def write(self) -> Path:
        """Write what was noted to a file of its own; a `ConfigError` if it cannot be written there."""
        path = Path(f"{self._prefix}{datetime.now(tz=UTC):%Y-%m-%d_%H-%M-%S}_{os.getpid()}.json")
        try:
            replace_file(path, json.dumps(self._events, indent=1).encode())
        except OutputError as error:
            raise ConfigError(f"{error}; it is the profile: set another profile_file_prefix") from error
        return path

    def _note(self, name: str, category: str, start: int, nanoseconds: int, nodes: int | None = None) -> None:
        event = {"name": name, "cat": category, "ph": "X", "pid": os.getpid(), "tid": threading.get_ident()}
        event |= {"ts": (start - self.start_ns) / 1e3, "dur": nanoseconds / 1e3}  # microseconds, as the format wants
        self._events.append({**event, "args": {} if nodes is None else {"nodes": nodes}})
