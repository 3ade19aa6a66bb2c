"""``intarsia serve --ray``: the protocol on Ray Serve, replicas that follow the load, and what is left at the end."""

from __future__ import annotations

import inspect
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import psutil
import pytest
from onnx.reference import ReferenceEvaluator

from tests.ray_cluster import running_cluster
from tests.serving import test_beyond_the_protocol, test_http
from tests.serving.load import CUT, OK, asking
from tests.serving.models import protocol_files, protocol_models
from tests.serving.process import PATIENCE_S, Running, Web, serving
from tests.serving.test_life import X, network
from tests.unit.graph.models import two_layers

pytest.importorskip(
    "ray.serve", reason="the extra ray-serve is not installed here; `make more` runs these tests with it"
)
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.xdist_group("ray"),
    pytest.mark.filterwarnings("ignore:.*:FutureWarning:ray.*"),
]
SOON: Mapping[str, str] = {
    "RAY_SERVE_HANDLE_AUTOSCALING_METRIC_PUSH_INTERVAL_S": "1",
    "RAY_SERVE_REPLICA_AUTOSCALING_METRIC_PUSH_INTERVAL_S": "1",
}
"""How often Ray Serve is told what is in hand, which is each ten seconds otherwise."""

globals().update(
    {
        name: test
        for module in (test_http, test_beyond_the_protocol)
        for name, test in vars(module).items()
        if name.startswith("test_") and "web" in inspect.signature(test).parameters
    }
)
"""The tests of the protocol over HTTP, which ask for `web`."""


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """Where Ray keeps its files; the path of a socket has 107 bytes at most."""
    found = tempfile.mkdtemp(prefix="ray", dir="/tmp")
    with patch.dict(os.environ, {"RAY_TMPDIR": found, **SOON}):
        yield Path(found)
    shutil.rmtree(found, ignore_errors=True)


@pytest.fixture(scope="module")
def running(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server on a cluster of this machine alone."""
    files = protocol_files(protocol_models(tmp_path_factory.mktemp("served")))
    with serving(*files, "--ray", "--max-body", "2MiB", "--replicas", "1", protocols=("http",)) as found:
        yield found


@pytest.fixture
def web(running: Running) -> Iterator[Web]:
    with Web(running.http, again=True) as found:
        yield found


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, np.ndarray]:
    """The file of a network, and what it answers."""
    path = tmp_path_factory.mktemp("net") / "net.intarsia"
    return str(path), network(path, 0)


def started_by(running: Running) -> list[Any]:
    """All processes of its cluster."""
    return list(psutil.Process(running.process.pid).children(recursive=True))


def test_a_websocket_is_no_way_in(running: Running) -> None:
    upgrade = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Key": "MDEyMzQ1Njc4OWFiY2RlZg==",
        "Sec-WebSocket-Version": "13",
    }
    with Web(running.http) as web:
        assert web.ask("GET", "/v2/health/live", headers=upgrade).status == 403
        assert web.get("/v2/health/live").status == 200


def test_a_replica_that_is_killed_costs_what_it_had_in_hand_and_is_started_again(
    running: Running, folder: Path
) -> None:
    (*_, last) = running.events("replicas")
    assert last["running"] == 1
    before = len(running.events("ready"))
    (process,) = {line["process"] for line in running.events("ready")}
    (right,) = ReferenceEvaluator(two_layers()).run(["y"], {"x": X})
    with asking(running, X, [np.asarray(right)], web=2, calls=0) as load_:
        load_.await_ends(OK, 20)
        psutil.Process(int(process)).kill()
        running.await_events("ready", before + 4)
        load_.await_ends(OK, 20)
    assert set(load_.ends) <= {OK, "500", "503 without Retry-After", CUT}, load_.ends
    assert sum(load_.ends.values()) - load_.ends[OK] <= 4


def test_load_adds_a_replica_and_sigterm_answers_what_was_admitted_and_leaves_nothing(
    folder: Path, net: tuple[str, np.ndarray]
) -> None:
    path, right = net
    with serving(path, "--ray", "--replicas", "1..2", "--log-requests", protocols=("http",)) as running:
        with asking(running, X, [right], web=8, calls=0) as load_:
            states = running.await_events("replicas", 2)
            assert [state["running"] for state in states[:2]] == [1, 2]
            processes = {line["process"] for line in running.await_events("ready", 2)}
            assert len(processes) == 2
            with running.changed:
                assert running.changed.wait_for(lambda: answering(running) == processes, PATIENCE_S)
            there = started_by(running)
            assert processes < {str(each.pid) for each in there}
            assert running.end() == 0
        assert running.events("ended")
        assert len(running.events("answered")) <= load_.ends[OK]
        assert load_.ends[OK] > 0
        assert set(load_.ends) <= {OK, CUT, "404", "503"}, load_.ends
    assert not psutil.wait_procs(there, timeout=PATIENCE_S)[1]


def test_a_second_sigterm_ends_it_at_once_with_the_cluster_of_its_own(
    folder: Path, net: tuple[str, np.ndarray]
) -> None:
    with serving(net[0], "--ray", "--replicas", "1", protocols=("http",)) as running:
        (loaded,) = running.await_events("ready")
        there = started_by(running)
        psutil.Process(int(loaded["process"])).suspend()  # so that draining does not come to its end
        running.process.terminate()
        running.await_events("draining")
        assert running.end() == 130
        assert not running.events("ended")
    assert not psutil.wait_procs(there, timeout=PATIENCE_S)[1]


def answering(running: Running) -> set[str]:
    return {line["process"] for line in running.events("answered")}


def test_on_a_cluster_that_is_joined_a_full_queue_refuses_and_the_cluster_stays_as_it_was(
    folder: Path, net: tuple[str, np.ndarray]
) -> None:
    path, right = net
    with running_cluster(["a"]) as cluster:
        raylet = psutil.Process(cluster.raylet("a"))
        arguments = (path, "--ray", cluster.address, "--queue", "1", "--replicas", "1")
        with serving(*arguments, protocols=("http",)) as running:
            with asking(running, X, [right], web=6, calls=0) as load_:
                load_.await_ends("503", 20)
                load_.await_ends(OK, 20)
            assert set(load_.ends) == {OK, "503"}
            (loaded,) = running.events("ready")
            assert loaded["file"] != path
            assert int(loaded["process"]) in {each.pid for each in raylet.children(recursive=True)}
            assert running.end() == 0
        of_serve = [each for each in raylet.children(recursive=True) if each.name().startswith("ray::Serve")]
        assert not psutil.wait_procs(of_serve, timeout=PATIENCE_S)[1]
        assert raylet.is_running()
