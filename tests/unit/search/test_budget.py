"""The budget bounds the whole search, whatever engines and processes take: on a clock that only workers move."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from intarsia.backends.contract.failures import Cause
from intarsia.config import RunSettings
from intarsia.cost.measure import Measurer
from intarsia.cost.records.record import Failure
from intarsia.cost.records.store import Store
from intarsia.cost.timing.timetable import NO_TIME
from intarsia.cost.worker.deadline import Deadline
from intarsia.cost.worker.progress import Counting, Progress
from intarsia.cost.worker.protocol import Answer, Failed, Measure, Open, Round, Wait, Waited, Write
from intarsia.cost.worker.protocol import Request as Question
from intarsia.cost.worker.repro import Origin
from intarsia.search.search import Found, search
from intarsia.target import Target
from tests.unit.search.fakes import MemoryStore, chain_problem
from tests.unit.search.table_machine import Table, TableWorker, table_machine

SEGMENTS = 6
TARGETS = (Target("onnxruntime"), Target("openvino"), Target("mnn"))
MOST = 1.1
many = settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockProbe:
    """What takes how long, in seconds.

    Attributes:
        before_s: All that is done before the search begins.
        process_s: Until a process can be asked.
        engine_s: For each engine, to compile the whole model and load it.
    """

    before_s: float
    process_s: float
    engine_s: Mapping[str, float]


class Clock:
    """Stands still but when it is moved."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def slow_worker(clock: Clock, pace: ClockProbe) -> type[TableWorker]:
    """Workers that take their time by this clock, and give up where they are not waited for any longer."""

    class Slow(TableWorker):
        def __init__(self, folder: Path, environment: Mapping[str, str | None]) -> None:
            super().__init__(folder, environment)
            self._start_s = pace.process_s

        def start(self) -> None:
            self._start_s = pace.process_s / 2  # beside another one

        def ask(self, request: Question, timeout_s: float) -> Answer:
            takes_s, self._start_s = self._start_s + self._takes_s(request), 0.0
            clock.now += min(takes_s, timeout_s)
            if takes_s > timeout_s:
                return Failed(stage="timeout", reason="no answer", cause=Cause.ENGINE)
            return Waited(started_s=pace.process_s) if isinstance(request, Wait) else super().ask(request, timeout_s)

        def _takes_s(self, request: Question) -> float:
            match request:
                case Measure():
                    parts = [
                        (partition.target.partition(" ")[0], len(partition.nodes))
                        for partition in request.workload.partitions
                    ]
                    return 0.4 + sum(pace.engine_s[engine] * nodes / SEGMENTS for engine, nodes in parts)
                case Write():
                    return 0.1
                case Open():
                    workload = self.written[request.path]
                    engines = {partition.target.partition(" ")[0] for partition in workload.partitions}
                    return 0.1 + max(pace.engine_s[engine] for engine in engines)
                case Round():
                    return 0.01 * (request.warm + request.runs)
            return 0.0

    return Slow


@st.composite
def machines(draw: st.DrawFn) -> tuple[Table, ClockProbe, float]:
    """What engines are worth, what everything takes, and the budget."""
    seconds = st.floats(0.05, 15.0)
    pace = ClockProbe(
        before_s=draw(st.floats(0.5, 12.0)),
        process_s=draw(st.floats(0.3, 3.0)),
        engine_s={target.kind.name: draw(seconds) for target in TARGETS},
    )
    rows = {target.kind.name: {"any": float(draw(st.integers(1, 20)))} for target in TARGETS}
    return Table(node_ms=rows, transition_ms=1.0), pace, draw(st.sampled_from((2.0, 5.0, 20.0, 60.0)))


class Ran:
    """One search: what it found, when it ended, and what it told."""

    def __init__(self, table: Table, pace: ClockProbe, budget_s: float, records: MemoryStore, path: Path) -> None:
        clock = Clock()
        self.deadline = Deadline(budget_s, clock=clock)
        self.told: list[Progress] = []
        watch = Counting(self.told.append, self.deadline)
        problem = chain_problem(SEGMENTS, TARGETS, budget_s)
        ops = {node.op_type for node in problem.graph.nodes}
        rows = {engine: dict.fromkeys(ops, row["any"]) for engine, row in table.node_ms.items()}
        executor = SimpleNamespace(kind=SimpleNamespace(name="graph"))
        job: Any = SimpleNamespace(
            problem=problem,
            run=RunSettings(threads=2),
            engine_set=SimpleNamespace(config=SimpleNamespace(executor=executor)),
        )
        store, engines = cast("Store", records), [target.kind.name for target in TARGETS]
        with (
            table_machine(problem.graph, replace(table, node_ms=rows), path, slow_worker(clock, pace)),
            Measurer(problem.graph, path, store, engines, Origin(model="m.onnx"), watch, self.deadline) as measurer,
        ):
            clock.now += pace.before_s
            measurer.time.announce("reading took long", measurer.time.whole_s())
            self.found: Found = search(job, measurer, self.deadline, watch)
            self.measured = measurer.measured
        self.took_s = clock.now


@many
@given(machines())
def test_no_search_takes_longer_than_was_stated_or_announced(
    tmp_path: Path, machine: tuple[Table, ClockProbe, float]
) -> None:
    table, pace, budget_s = machine
    ran = Ran(table, pace, budget_s, MemoryStore(tmp_path), tmp_path)
    assert ran.took_s <= MOST * ran.deadline.seconds
    assert ran.deadline.seconds == budget_s or ran.deadline.because
    announced = [now for now in ran.told if now.stage == "time"]
    assert bool(announced) is (ran.deadline.seconds > budget_s)


@many
@given(machines())
def test_progress_counts_up_once_and_the_best_never_gets_worse(
    tmp_path: Path, machine: tuple[Table, ClockProbe, float]
) -> None:
    told = Ran(*machine, MemoryStore(tmp_path), tmp_path).told
    done: dict[str, int] = {}
    for now in told:
        assert now.total is None or now.done <= now.total
        assert now.done >= done.get(now.stage, 0)
        done[now.stage] = now.done
    best = [now.best_ms for now in told if now.best_ms is not None]
    assert best == sorted(best, reverse=True)


@many
@given(machines())
def test_asked_again_nothing_is_measured_and_the_same_ships(
    tmp_path: Path, machine: tuple[Table, ClockProbe, float]
) -> None:
    table, pace, budget_s = machine
    records = MemoryStore(tmp_path)
    first = Ran(table, pace, budget_s, records, tmp_path)
    again = Ran(table, replace(pace, before_s=0.5, process_s=0.3), budget_s, records, tmp_path)
    assert again.measured == 0
    assert again.found.decision.chosen.name == first.found.decision.chosen.name
    assert again.found.decision.reason == first.found.decision.reason


def test_what_there_was_no_time_for_is_named(tmp_path: Path) -> None:
    pace = ClockProbe(before_s=1.0, process_s=0.5, engine_s={"onnxruntime": 0.5, "openvino": 30.0, "mnn": 0.5})
    table = Table(node_ms={target.kind.name: {"any": 2.0} for target in TARGETS}, transition_ms=1.0)
    ran = Ran(table, pace, 6.0, MemoryStore(tmp_path), tmp_path)
    outcomes = {single.target.kind.name: single.outcome for single in ran.found.singles}
    assert isinstance(outcomes["openvino"], Failure)
    assert outcomes["openvino"].stage == NO_TIME
    assert ran.took_s <= MOST * 6.0


@pytest.mark.parametrize("budget_s", [3.0, 60.0])
def test_without_time_for_a_race_the_best_as_measured_alone_ships(tmp_path: Path, budget_s: float) -> None:
    pace = ClockProbe(before_s=0.5, process_s=0.4, engine_s={"onnxruntime": 0.3, "openvino": 0.3, "mnn": 0.3})
    table = Table(
        node_ms={"onnxruntime": {"any": 3.0}, "openvino": {"any": 2.0}, "mnn": {"any": 9.0}}, transition_ms=1.0
    )
    decision = Ran(table, pace, budget_s, MemoryStore(tmp_path), tmp_path).found.decision
    assert bool(decision.verdict.rounds_ms) is (budget_s == 60.0)
    assert ("not compared side by side" in decision.reason) is (budget_s == 3.0)
