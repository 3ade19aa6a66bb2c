"""An engine that is not here, in an interpreter where it is; and what becomes of its process."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

from intarsia.backends import registry
from intarsia.backends.contract import BoundCall, Executable
from intarsia.backends.contract.buffers import Need, allocate
from intarsia.config import RunSettings
from intarsia.errors import BackendUnavailableError, CompileError, ExecutionError, LoadError
from intarsia.graph import Graph, extract, load_model
from intarsia.graph.reference.reference import evaluate
from intarsia.partitioning import Partition
from intarsia.runtime import Executor, build, load_build, plan_of
from intarsia.runtime.environment import load_environment
from intarsia.target import Target
from tests.conformance.boundary_cases import SMALL_NET
from tests.conformance.cases import Case, f32, node
from tests.elsewhere import RULES, make_interpreter
from tests.unit.graph.models import info, model

SETTINGS = RunSettings(threads=1)
PATIENCE_S = 300.0
SOFT = Case(name="soft", nodes=(node("Relu", "x", "a"), node("Softmax", "a", "y")), inputs={"x": f32(2, 3)})


@pytest.fixture(scope="module")
def graph() -> Graph:
    return load_model(SMALL_NET.model())


def loaded(target: Target, graph: Graph) -> Executable:
    backend = registry.of(target)
    artifact = backend.compile(extract(graph, (node.id for node in graph.nodes)), target, SETTINGS)
    return backend.load(artifact, {name: graph.weights[name].array() for name in artifact.weights}, target, SETTINGS)


def bound(executable: Executable) -> tuple[np.ndarray, np.ndarray, BoundCall]:
    x, y = (np.zeros(side[0].shape or (), np.float32) for side in (executable.inputs, executable.outputs))
    return x, y, executable.bind({"x": x}, {"y": y})


def away(interpreter: str) -> Target:
    return Target(f"away -python={interpreter}")


def faulty(mode: str, interpreter: str) -> Target:
    return Target(f"faulty -mode={mode} -python={interpreter}")


def test_the_interpreter_is_part_of_the_engine_s_name(interpreter: str) -> None:
    name = registry.engine_of(away(interpreter))
    assert name == f"away@{interpreter}"
    assert registry.get(name).name == name
    assert registry.of(away(interpreter)) is registry.get(name)
    assert registry.engine_of(Target("away")) == "away"
    assert name not in registry.names()


def test_that_interpreter_is_asked_whether_the_engine_is_there(interpreter: str) -> None:
    assert not registry.probe("away").usable
    found = registry.probe(f"away@{interpreter}")
    assert (found.usable, found.version, found.devices) == (True, "7.0", ("cpu",))


def test_an_engine_that_is_absent_there_is_fixed_there(interpreter: str, tmp_path: Path) -> None:
    found = registry.probe(f"xla@{interpreter}")
    if not found.usable:  # it may be installed where the tests run
        assert found.fix == f"{interpreter} -m pip install 'intarsia[xla]'"
    bare = make_interpreter(tmp_path / "bare", [])
    with pytest.raises(BackendUnavailableError, match=r"Intarsia does not import in .*No module named") as error:
        registry.require(f"away@{bare}")
    assert f"{bare} -m pip install intarsia" in str(error.value)


def test_an_interpreter_that_is_not_there_is_said_to_be_absent(graph: Graph) -> None:
    found = registry.probe("reference@/no/such/python")
    assert not found.usable
    assert "/no/such/python does not run" in (found.reason or "")
    with pytest.raises(CompileError, match="No such file"):
        loaded(Target("reference -python=/no/such/python"), graph)


def test_it_answers_as_the_reference_does(interpreter: str, graph: Graph) -> None:
    executable = loaded(away(interpreter), graph)
    x, y, call = bound(executable)
    for turn in ("a", "b", "a"):
        feeds = SMALL_NET.feeds(turn)
        x[...] = feeds["x"]
        y[...] = np.nan
        call()
        np.testing.assert_array_equal(y, evaluate(graph, feeds)["y"])
        np.testing.assert_array_equal(x, feeds["x"])


def test_buffers_in_shared_memory_are_bound_where_they_are(interpreter: str, graph: Graph) -> None:
    executable = loaded(away(interpreter), graph)
    needs = [
        Need(name=side[0].name, dtype=np.dtype(np.float32), shape=side[0].shape or (), first=0, last=0)
        for side in (executable.inputs, executable.outputs)
    ]
    arrays = allocate(needs, shared=True)
    call = executable.bind({"x": arrays["x"]}, {"y": arrays["y"]})
    np.copyto(arrays["x"], SMALL_NET.feeds("b")["x"])
    call()
    np.testing.assert_array_equal(arrays["y"], evaluate(graph, SMALL_NET.feeds("b"))["y"])


def test_a_plan_goes_from_one_interpreter_to_another_and_back(interpreter: str) -> None:
    graph = load_model(SOFT.model())
    relu, softmax = (node.id for node in graph.nodes)
    parts = [
        Partition(target=away(interpreter), nodes=(relu,)),
        Partition(target=Target("reference"), nodes=(softmax,)),
    ]
    plan = plan_of(graph, parts, SETTINGS)
    assert plan.engines == (f"away@{interpreter}", "reference")
    executor: Executor = load_build(graph, build(graph, plan))
    feeds = SOFT.feeds("a")
    np.testing.assert_allclose(executor.run(feeds)["y"], evaluate(graph, feeds)["y"], rtol=1e-6)
    executor.close()


def test_its_variables_are_set_there_and_not_here(interpreter: str, graph: Graph) -> None:
    assert load_environment(["away"], SETTINGS) == {"AWAY_THREADS": "1"}
    assert load_environment([f"away@{interpreter}"], SETTINGS) == {}
    assert "AWAY_THREADS" not in os.environ
    loaded(away(interpreter), graph)  # refuses to be loaded without


def test_rules_are_read_here(interpreter: str) -> None:
    target = away(interpreter)
    assert registry.of(target).capability(load_model(SOFT.model()), target).refusals == {
        "Softmax_1": "away has no Softmax"
    }


def test_what_cannot_be_shared_is_refused(interpreter: str) -> None:
    target = away(interpreter)
    words = [info("x", (2,), onnx.TensorProto.STRING), info("y", (2,), onnx.TensorProto.STRING)]
    graph = load_model(model([helper.make_node("Identity", ["x"], ["y"])], words[:1], words[1:]))
    assert "string" in registry.of(target).capability(graph, target).refusals["Identity_0"]
    ends = [info("x", (4,)), info("y", None, onnx.TensorProto.INT64)]
    graph = load_model(model([helper.make_node("NonZero", ["x"], ["y"])], ends[:1], ends[1:]))
    assert "only known after" in registry.of(target).capability(graph, target).refusals["NonZero_0"]
    assert registry.get("away").capability(graph, Target("away")).refusals == {}


def test_it_is_exported_there(interpreter: str, graph: Graph, tmp_path: Path) -> None:
    target = away(interpreter)
    (path,) = registry.of(target).export(extract(graph, graph.position), target, SETTINGS, tmp_path / "out")
    assert path == tmp_path / "out" / "model.onnx"
    assert path.is_file()


@pytest.mark.parametrize(
    ("mode", "error", "words"),
    [
        ("compile", CompileError, "an exception that nobody expected"),
        ("raise", ExecutionError, "it never works"),
        ("segfault", ExecutionError, "was killed by SIGSEGV"),
    ],
)
def test_a_failure_there_is_an_error_here(
    mode: str, error: type[Exception], words: str, interpreter: str, graph: Graph
) -> None:
    target = faulty(mode, interpreter)
    with pytest.raises(error, match=f"^{registry.engine_of(target)} failed at .*{words}"):
        bound(loaded(target, graph))[2]()


def test_behind_a_crash_calls_say_so_and_a_fresh_load_works(interpreter: str, graph: Graph) -> None:
    _, _, call = bound(loaded(faulty("segfault", interpreter), graph))
    with pytest.raises(ExecutionError, match="SIGSEGV"):
        call()
    with pytest.raises(ExecutionError, match="has ended; load the model again"):
        call()
    _, y, call = bound(loaded(faulty("wrong", interpreter), graph))
    call()
    assert (y == 0.5).all()


def test_what_is_closed_is_let_go_of_there(interpreter: str, graph: Graph) -> None:
    kept, closed = (loaded(away(interpreter), graph) for _ in range(2))
    calls = [bound(executable)[2] for executable in (kept, closed)]
    closed.close()
    closed.close()
    calls[0]()
    with pytest.raises(ExecutionError, match="it was closed"):
        calls[1]()


def test_what_nobody_can_call_is_let_go_of_there(interpreter: str, graph: Graph) -> None:
    backend = registry.of(away(interpreter))
    call = bound(loaded(away(interpreter), graph))[2]
    gc.collect()
    call()
    (process,) = vars(backend)["_processes"].values()
    assert not process._dropped
    del call
    gc.collect()
    assert len(process._dropped) == 1
    another = loaded(away(interpreter), graph)
    assert not process._dropped
    another.close()


def test_threads_take_turns(interpreter: str, graph: Graph) -> None:
    wrong: list[int] = []

    def repeat(turn: str) -> None:
        x, y, call = bound(executables[turn])
        feeds = SMALL_NET.feeds(turn)
        want = evaluate(graph, feeds)["y"]
        for number in range(20):
            x[...], y[...] = feeds["x"], np.nan
            call()
            if not np.array_equal(y, want):
                wrong.append(number)

    executables = {turn: loaded(away(interpreter), graph) for turn in ("a", "b")}
    threads = [threading.Thread(target=repeat, args=(turn,)) for turn in executables]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


INTERRUPTED = """
import signal, sys, threading, time
from intarsia.errors import ExecutionError
from intarsia.graph import load_model
from tests.conformance.boundary_cases import SMALL_NET
from tests.unit.backends.isolation.test_backend import bound, faulty, loaded

class StoppedError(Exception):
    pass

def stop(*_):
    raise StoppedError

def press():
    time.sleep(0.5)
    signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)

_, _, call = bound(loaded(faulty("hang", sys.argv[1]), load_model(SMALL_NET.model())))
signal.signal(signal.SIGUSR1, stop)
threading.Thread(target=press).start()
for _ in range(2):
    try:
        call()
    except (StoppedError, ExecutionError) as error:
        print(type(error).__name__, error)
"""


def test_an_interrupted_call_ends_the_process(interpreter: str) -> None:
    with in_another_process(INTERRUPTED, interpreter) as process:
        told, _ = process.communicate()
    assert process.returncode == 0
    first, second = told.splitlines()
    assert first.startswith("StoppedError")
    assert second.startswith("ExecutionError")
    assert "has ended" in second


PARENT = """
import sys
from intarsia.backends import registry
from intarsia.graph import load_model
from intarsia.target import Target
from tests.conformance.boundary_cases import SMALL_NET
from tests.unit.backends.isolation.test_backend import bound, faulty, loaded

graph = load_model(SMALL_NET.model())
_, _, call = bound(loaded(faulty("hang", sys.argv[1]), graph))
(process,) = registry.of(faulty("hang", sys.argv[1]))._processes.values()
print(process._process.pid, flush=True)
call()
"""


def test_it_dies_with_its_parent_even_while_it_hangs(interpreter: str) -> None:
    with in_another_process(PARENT, interpreter) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert Path(f"/proc/{child}").exists()
        time.sleep(0.5)  # by then it hangs
        parent.kill()
    waited(lambda: not is_running(child))


def in_another_process(script: str, interpreter: str) -> subprocess.Popen[str]:
    """A script that is given the interpreter, and finds the engines of these tests."""
    root = Path(__file__).parents[4]
    path = os.pathsep.join(map(str, (root / "src", root, RULES, RULES.parent / "faulty_engine")))
    return subprocess.Popen(
        [sys.executable, "-c", script, interpreter],
        env=os.environ | {"PYTHONPATH": path},
        stdout=subprocess.PIPE,
        text=True,
    )


def is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def waited(claim: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not claim():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_the_engine_s_own_load_error_comes_back(interpreter: str, graph: Graph) -> None:
    target = away(interpreter)
    backend = registry.of(target)
    artifact = backend.compile(extract(graph, graph.position), target, SETTINGS)
    damaged = type(artifact)(files={"model.onnx": b"\xff"}, weights=artifact.weights, meta=artifact.meta)
    weights = {name: graph.weights[name].array() for name in artifact.weights}
    with pytest.raises(LoadError, match=f"^away@{interpreter} failed at load"):
        backend.load(damaged, weights, target, SETTINGS)
