"""A worker behind a network of its own: another namespace, joined by a shaped link, where the tests run as root."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest

from intarsia.cost.worker.progress import Progress
from intarsia.driver import CompileSettings
from intarsia.driver import compile as compile_here
from intarsia.errors import WorkerUnreachableError
from intarsia.remote.verbs import compile_on
from tests.remote_workers import RunningWorker
from tests.unit.graph.models import two_layers

SPACE, HERE, THERE = f"intarsia-{os.getpid()}", f"it{os.getpid() % 10**8}a", f"it{os.getpid() % 10**8}b"
NET = f"10.213.{os.getpid() % 250}"
SETTINGS = CompileSettings(budget=10.0, threads=1)
ENGINES = "onnxruntime, openvino"


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


def _lack() -> str:
    if os.geteuid() != 0 or not all(map(shutil.which, ("ip", "tc"))):
        return "needs root, ip and tc (Debian: iproute2)"
    tried = subprocess.run(["ip", "netns", "add", SPACE], capture_output=True, text=True, check=False)
    if tried.returncode:
        return f"no network namespaces here: {tried.stderr.strip()}"
    _ip("netns", "del", SPACE)
    return ""


def _shape(end: str, *inside: str) -> None:
    """1 Gbit/s from one end of the link, and 1 ms of delay where the kernel has what delays."""
    add = [*inside, "tc", "qdisc", "add", "dev", end, "root"]
    delayed = subprocess.run([*add, "netem", "delay", "1ms", "rate", "1gbit"], capture_output=True, check=False)
    if delayed.returncode:
        subprocess.run([*add, "tbf", "rate", "1gbit", "burst", "1mbit", "latency", "10ms"], check=True)


pytestmark = [pytest.mark.large, pytest.mark.e2e, pytest.mark.engine]


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningWorker]:
    """A worker behind such a link."""
    if lack := _lack():
        pytest.skip(lack)
    _ip("netns", "add", SPACE)
    try:
        _ip("link", "add", HERE, "type", "veth", "peer", "name", THERE, "netns", SPACE)
        _ip("addr", "add", f"{NET}.1/24", "dev", HERE)
        _ip("link", "set", HERE, "up")
        _ip("-n", SPACE, "addr", "add", f"{NET}.2/24", "dev", THERE)
        _ip("-n", SPACE, "link", "set", THERE, "up")
        _ip("-n", SPACE, "link", "set", "lo", "up")
        _shape(HERE)
        _shape(THERE, "ip", "netns", "exec", SPACE)
        folder = tmp_path_factory.mktemp("worker") / "there"
        made = RunningWorker(folder, host=f"{NET}.2", command=("ip", "netns", "exec", SPACE))
        try:
            yield made
        finally:
            made.end()
    finally:
        _ip("netns", "del", SPACE)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "model.onnx"
    onnx.save(two_layers(), path)
    return path


def test_the_plan_is_that_of_the_machine_itself(worker: RunningWorker, model: Path, tmp_path: Path) -> None:
    with compile_on(worker.place(), model, ENGINES, settings=SETTINGS) as first:
        assert first({"x": np.ones((4, 32), np.float32)})["y"].shape == (4, 32)
    shutil.copy(worker.store, tmp_path / "copy.sqlite")
    with (
        compile_on(worker.place(), model, ENGINES, settings=SETTINGS) as there,
        compile_here(model, ENGINES, settings=SETTINGS, store=tmp_path / "copy.sqlite") as here,
    ):
        assert there.artifact.plan_text() == here.artifact.plan_text()


def test_a_link_that_is_down_for_5_seconds_ends_nothing(worker: RunningWorker, model: Path) -> None:
    timers: list[threading.Timer] = []

    def down() -> None:
        _ip("link", "set", HERE, "down")
        time.sleep(5.0)
        _ip("link", "set", HERE, "up")

    def watch(_: Progress) -> None:
        if not timers:
            timers.append(threading.Timer(1.5, down))
            timers[0].start()

    with compile_on(worker.place(60.0), model, ENGINES, settings=SETTINGS, seed=1, progress=watch) as compiled:
        timers[0].join()
        assert compiled({"x": np.ones((4, 32), np.float32)})["y"].shape == (4, 32)


def test_a_link_that_stays_down_is_its_own_error(worker: RunningWorker, model: Path) -> None:
    with compile_on(worker.place(3.0), model, "onnxruntime", settings=SETTINGS) as compiled:
        compiled.load()
        _ip("link", "set", HERE, "down")
        try:
            with pytest.raises(WorkerUnreachableError, match="was lost, and did not come back within 3 s"):
                compiled({"x": np.ones((4, 32), np.float32)})
        finally:
            _ip("link", "set", HERE, "up")
