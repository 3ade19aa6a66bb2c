"""A worker on another machine, played by a process that listens on loopback with a record store of its own."""

from __future__ import annotations

import os
import random
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest

import intarsia
from intarsia.addresses import Address
from intarsia.cost.worker.progress import Progress
from intarsia.driver import CompileSettings
from intarsia.driver import compile as compile_here
from intarsia.errors import (
    ArtifactError,
    ConfigError,
    FeedError,
    Interrupted,
    MissingStageError,
    ModelError,
    WorkerDiedError,
    WorkerShutdownError,
    WorkerTimeoutError,
    WorkerTokenError,
    WorkerUnreachableError,
    WorkerVersionError,
)
from intarsia.remote.client import Worker
from intarsia.remote.listening import Listener, Listening
from intarsia.remote.model import RemoteModel
from intarsia.remote.place import WorkerPlace
from intarsia.remote.verbs import compile_on
from intarsia.runtime import CompiledModel
from tests.e2e.conftest import Run
from tests.remote_workers import RunningWorker, Way, running_worker
from tests.unit.graph.models import two_layers

pytestmark = [pytest.mark.e2e, pytest.mark.engine]
SINGLE = CompileSettings(partition="single", budget=2.0, threads=1)
"""Little to measure: one engine is stated."""
LONG = CompileSettings(budget=20.0, threads=1)
ENGINES = "onnxruntime, openvino"
FEEDS = {"x": np.linspace(-1, 1, 128, dtype=np.float32).reshape(4, 32)}


@pytest.fixture
def command(intarsia: Callable[..., Run]) -> Callable[..., Run]:
    """Runs ``intarsia``, whose name is the package's here."""
    return intarsia


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningWorker]:
    with running_worker(tmp_path_factory.mktemp("worker") / "there") as made:
        yield made


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model whose weights are in a file beside it."""
    path = tmp_path_factory.mktemp("model") / "two_layers.onnx"
    onnx.save(two_layers(), path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    return path


@pytest.fixture(scope="module")
def compiled(worker: RunningWorker, model: Path) -> Iterator[CompiledModel]:
    config = {"targets": ["onnxruntime"], "runtime": worker.runtime()}
    with intarsia.compile(model, config, settings=SINGLE) as made:
        yield made


def test_a_model_runs_there_and_is_called_from_here(compiled: CompiledModel, model: Path, tmp_path: Path) -> None:
    assert isinstance(compiled, RemoteModel)
    found = compiled(FEEDS)
    assert compiled.report["chosen"].startswith("onnxruntime")
    here = compile_here(model, "onnxruntime", settings=SINGLE, store=tmp_path / "here.sqlite")
    with here:
        assert np.allclose(found["y"], here(FEEDS)["y"], rtol=1e-5, atol=1e-5)
        for wrong in ({}, {"z": 1}, {"x": np.zeros((1, 32), np.float32)}, {"x": np.zeros((4, 32))}):
            with pytest.raises(FeedError) as there:
                compiled(wrong)
            with pytest.raises(FeedError) as local:
                here(wrong)
            assert str(there.value) == str(local.value)
    assert compiled(FEEDS["x"].tolist())["y"].shape == (4, 32)
    assert [each["y"].shape for each in compiled.stream([FEEDS, FEEDS])] == [(4, 32)] * 2
    assert all(ms > 0 for ms in compiled.profile(FEEDS, runs=2))


def test_the_artifact_comes_here(compiled: CompiledModel, worker: RunningWorker, tmp_path: Path) -> None:
    path = compiled.save(tmp_path / "there.intarsia")
    with intarsia.load(path) as loaded:  # this machine is as that one
        assert np.allclose(loaded(FEEDS)["y"], compiled(FEEDS)["y"], rtol=1e-5, atol=1e-5)
    assert "rpc" not in path.read_bytes().decode("latin-1")
    assert worker.token_file.name not in str(compiled.report)


def test_equal_stores_give_equal_plans(
    worker: RunningWorker, compiled: CompiledModel, model: Path, tmp_path: Path
) -> None:
    """As on the machine itself: both go on from a copy of one store, and measure nothing that is in it."""
    assert compiled.report["search"]["measured"] > 0
    _check_equal(worker, model, "onnxruntime", SINGLE, tmp_path)


@pytest.mark.large
def test_equal_stores_give_equal_mixes(worker: RunningWorker, model: Path, tmp_path: Path) -> None:
    compile_on(worker.place(), model, ENGINES, settings=LONG).close()
    _check_equal(worker, model, ENGINES, LONG, tmp_path)


def _check_equal(worker: RunningWorker, model: Path, target: str, settings: CompileSettings, folder: Path) -> None:
    shutil.copy(worker.store, folder / "copy.sqlite")
    with (
        compile_on(worker.place(), model, target, settings=settings) as there,
        compile_here(model, target, settings=settings, store=folder / "copy.sqlite") as here,
    ):
        assert there.artifact.plan_text() == here.artifact.plan_text()


def test_a_model_that_was_dropped_there_is_loaded_again(worker: RunningWorker, compiled: CompiledModel) -> None:
    before = compiled(FEEDS)["y"]
    with Worker(worker.place()) as beside:
        beside.close_model(compiled.load()._loaded[0])  # type: ignore[attr-defined] # as one that was idle for long
    assert np.array_equal(compiled(FEEDS)["y"], before)


def test_the_command_says_where(
    command: Callable[..., Run], worker: RunningWorker, model: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.intarsia"
    on = ("--on", worker.address, "--token-file", worker.token_file)
    few = ("--target", "onnxruntime", "--partition", "single", "--budget", "2", "--threads", "1")
    run = command("compile", model, *few, *on, "-o", out)
    assert run.code == 0, run.err
    assert f"wrote {out}" in run.out
    assert "float32[4,32]" in command("run", out, "--random", *on).out


def open_model() -> onnx.ModelProto:
    x, y = (onnx.helper.make_tensor_value_info(name, 1, ("batch", 4)) for name in "xy")
    graph = onnx.helper.make_graph([onnx.helper.make_node("Relu", ["x"], ["y"])], "open", [x], [y])
    return onnx.helper.make_model(graph, ir_version=10)


def test_open_sizes_are_served_by_their_buckets_there(worker: RunningWorker) -> None:
    with compile_on(worker.place(), open_model(), "onnxruntime", settings=SINGLE, shapes={"batch": "1..8/8"}) as it:
        assert it({"x": np.ones((3, 4), np.float32)})["y"].shape == (3, 4)
        with pytest.raises(FeedError):
            it({"x": np.ones((9, 4), np.float32)})


def test_what_is_wrong_there_is_told_as_it_is_here(worker: RunningWorker, model: Path, tmp_path: Path) -> None:
    with pytest.raises(MissingStageError) as caught:
        compile_on(worker.place(), model, "ncnn -python=/none/bin/python", settings=SINGLE)
    assert "partitions:" in caught.value.plan
    with pytest.raises(ModelError, match="has no size"):
        compile_on(worker.place(), open_model(), settings=SINGLE)
    with pytest.raises(ModelError, match="there is no model file"):
        compile_on(worker.place(), tmp_path / "none.onnx")
    with pytest.raises(ConfigError, match="takes no custom_ops"):
        compile_on(worker.place(), model, custom_ops=[str(model)])
    cut = tmp_path / "cut.intarsia"
    cut.write_bytes(b"PK no artifact")
    with pytest.raises(ArtifactError):
        intarsia.load(cut)


def test_a_worker_that_is_nested_or_has_no_address_is_refused(model: Path, worker: RunningWorker) -> None:
    nested = {"targets": [{"targets": ["onnxruntime"], "runtime": worker.runtime()}, "openvino"]}
    for config, told in ((nested, "compiles a model as a whole"), ({"targets": ["c"], "runtime": "rpc"}, "no address")):
        with pytest.raises(MissingStageError, match=told):
            intarsia.compile(model, config, settings=SINGLE)


def test_a_wrong_token_and_another_version(worker: RunningWorker, model: Path, tmp_path: Path) -> None:
    other = tmp_path / "token"
    other.write_text("another", encoding="ascii")
    with pytest.raises(WorkerTokenError) as refused:
        compile_on(WorkerPlace.of(worker.address, other), model, settings=SINGLE)
    assert refused.value.exit_code == 2
    old = Listening(address=Address.parse("127.0.0.1:0"), token_file=other, version="0.0.1")
    with Listener(old) as listener, pytest.raises(WorkerVersionError) as version:
        compile_on(WorkerPlace.of(str(listener.address), other), model, settings=SINGLE)
    assert version.value.exit_code == 3


class At:
    """Does something so many seconds after a compile began, or after the first engine was measured."""

    def __init__(self, act: Callable[[], object], after_s: float = 1.5, *, is_measured: bool = False) -> None:
        self._act = act
        self._after_s = after_s
        self._is_measured = is_measured
        self.timer: threading.Timer | None = None

    def __call__(self, now: Progress) -> None:
        if self.timer is None and (now.best_ms is not None or not self._is_measured):
            self.timer = threading.Timer(self._after_s, self._act)
            self.timer.start()


def test_a_link_that_drops_does_not_end_a_compile(worker: RunningWorker, compiled: CompiledModel, model: Path) -> None:
    way = Way(worker.address)

    def drop() -> None:
        way.drop()
        time.sleep(2.0)
        way.mend()

    at = At(drop, 1.0)
    with compile_on(worker.place(30.0, way.address), model, "onnxruntime", settings=SINGLE, progress=at) as again:
        assert at.timer is not None
        at.timer.join()
        way.drop()
        way.mend()
        assert again(FEEDS)["y"].shape == (4, 32)
    way.close()


def test_a_caller_that_goes_away_ends_its_compile(model: Path, worker: RunningWorker) -> None:
    way = Way(worker.address)
    with pytest.raises((WorkerDiedError, WorkerUnreachableError)):
        compile_on(worker.place(1.0, way.address), model, ENGINES, settings=LONG, progress=At(way.close))
    assert _is_soon(lambda: _children_of(worker.process.pid, "job_process") == [])


def test_ctrl_c_here_ends_it_there_with_the_best_so_far(model: Path, worker: RunningWorker) -> None:
    def press(now: Progress) -> None:
        if now.best_ms is not None:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted) as caught:
        compile_on(worker.place(), model, ENGINES, settings=LONG, progress=press)
    if caught.value.best is not None:
        with caught.value.best as best:
            assert best(FEEDS)["y"].shape == (4, 32)
    assert _is_soon(lambda: _children_of(worker.process.pid, "job_process") == [])


def killed(
    model: Path,
    worker: RunningWorker,
    after_s: float,
    target: str = ENGINES,
    settings: CompileSettings = LONG,
    *,
    is_measured: bool = False,
) -> None:
    """A compile whose worker is killed ends in its own error, and nothing of it is left."""
    at = At(worker.process.kill, after_s, is_measured=is_measured)
    try:
        with compile_on(worker.place(2.0), model, target, settings=settings, progress=at):
            pass  # it was faster
    except WorkerDiedError as error:
        told = str(error)
    else:
        told = "record store"
    assert "record store" in told
    assert at.timer is not None
    at.timer.join()
    assert _is_soon(lambda: not _processes_with(str(worker.store)))


def test_a_worker_that_is_killed_ends_the_compile_and_the_next_goes_on(model: Path, tmp_path: Path) -> None:
    worker = RunningWorker(tmp_path / "there")
    killed(model, worker, 0.0, "onnxruntime", SINGLE, is_measured=True)
    port = Address.parse(worker.address).port
    worker.end()
    with (
        running_worker(tmp_path / "there", port=port) as again,
        compile_on(again.place(), model, "onnxruntime", settings=SINGLE) as compiled,
    ):
        assert compiled(FEEDS)["y"].shape == (4, 32)
        assert compiled.report["search"]["cached"] > 0


@pytest.mark.large
@pytest.mark.parametrize("moment", range(20))
def test_a_worker_killed_at_any_moment_leaves_nothing_half_done(model: Path, tmp_path: Path, moment: int) -> None:
    worker = RunningWorker(tmp_path / "there")
    killed(model, worker, random.Random(moment).uniform(0.0, 12.0))
    worker.end()
    with (
        running_worker(tmp_path / "there") as again,
        compile_on(again.place(), model, "onnxruntime", settings=SINGLE) as compiled,
    ):
        assert compiled(FEEDS)["y"].shape == (4, 32)
        left = [entry.name for entry in Path(os.environ["TMPDIR"]).glob(f"intarsia-{worker.process.pid}-*")]
        assert left == []


def test_a_worker_that_stands_still_and_one_that_is_told_to_end(model: Path, tmp_path: Path) -> None:
    with running_worker(tmp_path / "there") as worker:
        stop = At(lambda: os.kill(worker.process.pid, signal.SIGSTOP))
        with pytest.raises(WorkerTimeoutError, match="can be reached and does not answer"):
            compile_on(worker.place(2.0), model, ENGINES, settings=LONG, progress=stop)
        os.kill(worker.process.pid, signal.SIGCONT)
        end = At(worker.process.terminate)
        with pytest.raises(WorkerShutdownError, match="was told to end"):
            compile_on(worker.place(), model, ENGINES, settings=LONG, progress=end)
        assert worker.process.wait(30) == 0


def _is_soon(is_so: Callable[[], bool]) -> bool:
    end = time.monotonic() + 40
    while time.monotonic() < end:
        if is_so():
            return True
        time.sleep(0.2)
    return False


def _processes_with(text: str) -> list[int]:
    """Processes whose command line has this text."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                line = (entry / "cmdline").read_bytes().decode(errors="replace")
            except OSError:
                continue
            if text in line:
                found.append(int(entry.name))
    return found


def _children_of(pid: int, text: str) -> list[int]:
    import psutil

    children = [each for each in psutil.Process(pid).children() if each.status() != psutil.STATUS_ZOMBIE]
    return [each.pid for each in children if text in " ".join(each.cmdline())]
