"""A worker answers; whatever happens to it is an answer too, and the next request finds a worker again."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path

import psutil
import pytest

from intarsia.config import RunSettings, Spin
from intarsia.cost.worker.client import WorkerClient
from intarsia.cost.worker.process import fork_server
from intarsia.cost.worker.protocol import Answer, Failed, Measure, Measured, Open, PartitionMessage, Round, Workload
from intarsia.graph import Graph, save_graph

PATIENCE_S = 300.0
PARENT = """
import sys
from contextlib import nullcontext
from pathlib import Path
from intarsia.cost.worker.client import WorkerClient
from intarsia.cost.worker.process import fork_server
from intarsia.cost.worker.protocol import REQUEST
way = fork_server() if sys.argv[4] == "forked" else nullcontext()
with way, WorkerClient(Path(sys.argv[1]), {"NOISY_STUCK": sys.argv[2]}) as worker:
    print(worker._running().pid, flush=True)
    worker.ask(REQUEST.validate_json(sys.argv[3]), 3600)
"""


def measure(graph: Graph, target: str) -> Measure:
    workload = Workload(
        partitions=(PartitionMessage(target=target, nodes=tuple(node.id for node in graph.nodes)),),
        settings=RunSettings(threads=1, spin=Spin.NEVER),
    )
    return Measure(workload=workload, timed="all", seconds=0.01, min_runs=3)


def failed(answer: Answer) -> Failed:
    assert isinstance(answer, Failed), answer
    return answer


@pytest.fixture(autouse=True, params=["by itself", "forked"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """How workers are started; they behave alike."""
    monkeypatch.setattr("intarsia.cost.worker.process._servers", [])  # those of all tests
    with fork_server() if request.param == "forked" else nullcontext():
        yield request.param


@pytest.fixture
def worker(saved: Path) -> Iterator[WorkerClient]:
    with WorkerClient(saved, {}) as client:
        yield client


def test_a_worker_answers_and_stays(worker: WorkerClient, graph: Graph) -> None:
    first = worker.ask(measure(graph, "reference"), PATIENCE_S)
    process = worker._process
    second = worker.ask(measure(graph, "reference"), PATIENCE_S)
    assert isinstance(first, Measured)
    assert isinstance(second, Measured)
    assert len(first.samples_ms) >= 3
    assert min(first.samples_ms) > 0
    assert first.error is None  # nothing is recorded to compare with
    assert worker._process is process


def test_a_refused_request_is_an_answer_and_costs_no_worker(worker: WorkerClient, graph: Graph) -> None:
    assert "no artifact was opened" in failed(worker.ask(Round(warm=0, runs=1), PATIENCE_S)).reason
    process = worker._process
    assert isinstance(worker.ask(measure(graph, "reference"), PATIENCE_S), Measured)
    assert worker._process is process


def test_a_killed_worker_is_a_crash_and_the_next_request_starts_another(worker: WorkerClient, graph: Graph) -> None:
    process = worker._running()
    os.kill(process.pid, signal.SIGKILL)
    answer = failed(worker.ask(measure(graph, "reference"), PATIENCE_S))
    assert answer.stage == "crash"
    assert "killed by SIGKILL" in answer.reason
    assert isinstance(worker.ask(measure(graph, "reference"), PATIENCE_S), Measured)


@pytest.mark.usefixtures("plugins")
def test_a_segmentation_fault_and_an_exception(worker: WorkerClient, graph: Graph) -> None:
    crash = failed(worker.ask(measure(graph, "faulty -mode=segfault"), PATIENCE_S))
    assert (crash.stage, "SIGSEGV" in crash.reason) == ("crash", True)
    raised = failed(worker.ask(measure(graph, "faulty -mode=raise"), PATIENCE_S))
    assert raised.stage != "crash"
    assert "it never works" in raised.reason


def test_a_worker_that_ends_says_why(tmp_path: Path, graph: Graph) -> None:
    """The status and the end of what it wrote to standard error."""
    with WorkerClient(tmp_path, {"PYTHONHASHSEED": "no number"}) as worker:
        answer = failed(worker.ask(measure(graph, "reference"), PATIENCE_S))
    assert answer.stage == "crash"
    assert "ended with status 1" in answer.reason
    assert "it last said: Fatal Python error" in answer.reason


@pytest.mark.usefixtures("plugins")
def test_a_hang_is_a_timeout_and_its_process_is_ended(worker: WorkerClient, graph: Graph) -> None:
    process = worker._running()
    answer = failed(worker.ask(measure(graph, "faulty -mode=hang"), 2.0))
    assert (answer.stage, answer.reason) == ("timeout", "no answer within 2 s; its process was ended")
    assert process.wait() == -signal.SIGKILL
    assert isinstance(worker.ask(measure(graph, "reference"), PATIENCE_S), Measured)


@pytest.mark.usefixtures("plugins")
def test_what_a_library_prints_is_no_answer(worker: WorkerClient, graph: Graph) -> None:
    """The engine prints a well-formed message of another kind, from Python and straight to the descriptor."""
    assert isinstance(worker.ask(measure(graph, "noisy"), PATIENCE_S), Measured)
    assert isinstance(worker.ask(measure(graph, "reference"), PATIENCE_S), Measured)


@pytest.mark.usefixtures("plugins")
def test_a_stuck_worker_dies_with_its_killed_parent(way: str, tmp_path: Path, graph: Graph) -> None:
    """While an engine is at work the worker reads no pipe, so only the kernel can tell it."""
    stuck = tmp_path / "stuck"
    request = measure(graph, "noisy").model_dump_json()
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    folder = tmp_path / "graph"
    save_graph(graph, folder)
    line = [sys.executable, "-c", PARENT, str(folder), str(stuck), request, way]
    with subprocess.Popen(line, stdout=subprocess.PIPE, env=environment) as parent:
        assert parent.stdout is not None
        child = psutil.Process(int(parent.stdout.readline()))
        assert wait_for(stuck.exists)
        assert is_alive(child)
        parent.kill()
    assert wait_for(lambda: not is_alive(child))


@pytest.mark.usefixtures("plugins")
def test_what_an_engine_put_among_temporary_files_goes_with_its_worker(
    tmp_path: Path, graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    stuck, temporary = tmp_path / "stuck", tmp_path / "temporary"
    temporary.mkdir()
    save_graph(graph, tmp_path / "graph")  # where nothing of it was compiled yet
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    with WorkerClient(tmp_path / "graph", {"NOISY_STUCK": str(stuck)}) as worker:
        worker.send(measure(graph, "noisy"))
        assert wait_for(stuck.exists)
        assert len(list(temporary.rglob("engine-*"))) == 1
    assert [path.name for path in temporary.iterdir() if path.name != f"intarsia-{os.getuid()}"] == []


def test_a_worker_that_cannot_use_the_folder_of_all_leaves_nothing(
    tmp_path: Path, graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    (temporary / f"intarsia-{os.getuid()}").touch()  # no folder, as if it were somebody else's
    save_graph(graph, tmp_path / "graph")
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    with WorkerClient(tmp_path / "graph", {}) as worker:
        assert isinstance(worker.ask(measure(graph, "reference"), PATIENCE_S), Measured)
    assert [path.name for path in temporary.iterdir()] == [f"intarsia-{os.getuid()}"]


def wait_for(condition: Callable[[], bool]) -> bool:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def is_alive(process: psutil.Process) -> bool:
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


@pytest.mark.parametrize("way", ["by itself"], indirect=True)  # of a forked one the kernel shows its parent's
def test_the_environment_reaches_the_worker(saved: Path) -> None:
    with WorkerClient(saved, {"INTARSIA_PROBE": "yes", "HOME": None}) as worker:
        worker.ask(Open(path="nowhere"), PATIENCE_S)  # once it answers, it surely runs its own program
        environment = psutil.Process(worker._running().pid).environ()
    assert environment["INTARSIA_PROBE"] == "yes"
    assert "HOME" not in environment


def test_what_a_worker_says_is_passed_on_to_whoever_listens(
    worker: WorkerClient, graph: Graph, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "intarsia.cost.worker.client")
    worker.start()
    assert worker._log is not None
    os.write(worker._log.fileno(), b"a word of an engine\n")
    worker.ask(measure(graph, "reference"), PATIENCE_S)
    worker.ask(measure(graph, "reference"), PATIENCE_S)
    assert [record.getMessage() for record in caplog.records] == ["a word of an engine"]  # once
