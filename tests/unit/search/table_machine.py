"""A machine whose times stand in a table: workers that run nothing, and answer what the table says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import pytest

from intarsia.backends import registry
from intarsia.backends.contract import Availability
from intarsia.backends.contract.failures import Cause
from intarsia.cost.thresholds import PAIRED
from intarsia.cost.timing import paired_benchmark
from intarsia.cost.timing.clock_calibration import full_speed
from intarsia.cost.timing.memory import Memory
from intarsia.cost.worker import lock, pool
from intarsia.cost.worker.protocol import (
    Answer,
    Failed,
    Measure,
    Measured,
    Open,
    Opened,
    Profile,
    Round,
    Times,
    Wait,
    Waited,
    Workload,
    Write,
    Written,
)
from intarsia.cost.worker.protocol import Request as Question
from intarsia.graph import Graph
from intarsia.search.decision import builder


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """What everything costs, in milliseconds.

    Attributes:
        node_ms: Of each kind of engine, by type of operator.
        switch_ms: Of handing over from one engine to another.
    """

    node_ms: Mapping[str, Mapping[str, float]]
    transition_ms: float

    def partition_ms(self, graph: Graph, engine: str, nodes: Sequence[str]) -> float:
        """One partition, wherever it runs."""
        return sum(self.node_ms[engine][graph.node(id_).op_type] for id_ in nodes)

    def plan_ms(self, graph: Graph, parts: Sequence[tuple[str, Sequence[str]]]) -> float:
        """A plan: its partitions and the transitions between them."""
        return sum(self.partition_ms(graph, *part) for part in parts) + self.transition_ms * (len(parts) - 1)


class TableWorker:
    """Stands in for a worker process."""

    graph: ClassVar[Graph]
    table: ClassVar[Table]
    written: ClassVar[dict[str, Workload]]

    def __init__(self, folder: Path, environment: Mapping[str, str | None]) -> None:
        self._opened: Workload | None = None

    def start(self) -> None:
        """There is no process to start."""

    def ask(self, request: Question, timeout_s: float) -> Answer:
        match request:
            case Measure(timed="all" | "last"):
                ms = self._timed_ms(request)
                return Measured(samples_ms=(ms,) * 9, compile_s=0.0, load_s=0.0, error=0.0, is_complete=True)
            case Write():
                self.written[request.path] = request.workload
                return Written(compile_s=0.0)
            case Wait():
                return Waited()
            case Open():
                self._opened = self.written[request.path]
                return Opened(load_s=0.0, first_run_s=0.0, memory=Memory(peak=1, steady=1), error=0.0)
            case Round() if self._opened is not None:
                return Times(ms=(self._plan_ms(self._opened),) * request.runs)
            case Profile() if self._opened is not None:
                return Times(ms=tuple(self.table.partition_ms(self.graph, *part) for part in _parts(self._opened)))
        return Failed(stage="run", reason="the table says nothing about that", cause=Cause.ENGINE)

    def send(self, request: Question) -> None:
        """Keep the request for `answer`."""
        self._sent = request

    def answer(self, timeout_s: float) -> Answer:
        """To what was sent."""
        return self.ask(self._sent, timeout_s)

    def close(self) -> None:
        """Nor to end."""

    def __enter__(self) -> TableWorker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _timed_ms(self, request: Measure) -> float:
        parts = _parts(request.workload)
        if request.timed == "all":
            return self._plan_ms(request.workload)
        return self.table.partition_ms(self.graph, *parts[-1]) + self.table.transition_ms * (len(parts) > 1)

    def _plan_ms(self, workload: Workload) -> float:
        return self.table.plan_ms(self.graph, _parts(workload))


@contextmanager
def table_machine(graph: Graph, table: Table, folder: Path, worker: type[TableWorker] = TableWorker) -> Iterator[None]:
    """For a while, everything that is measured of this graph is read from the table; no engine need be installed."""

    class Worker(worker):  # type: ignore[valid-type, misc] # a class made for this machine
        pass

    Worker.graph, Worker.table, Worker.written = graph, table, {}
    with pytest.MonkeyPatch.context() as patch:
        for module in (pool, paired_benchmark, builder):
            patch.setattr(module, "WorkerClient", Worker)
        patch.setattr(paired_benchmark, "PAIRED", replace(PAIRED, settle_s=0.0))
        patch.setattr(paired_benchmark, "ClockProbe", lambda: full_speed)
        patch.setattr(lock, "lock_path", lambda: folder / "machine.lock")
        for question in ("require", "probe"):
            patch.setattr(registry, question, lambda name: Availability(usable=True, version="1"))
        yield


def _parts(workload: Workload) -> list[tuple[str, tuple[str, ...]]]:
    return [(partition.target.partition(" ")[0], partition.nodes) for partition in workload.partitions]
