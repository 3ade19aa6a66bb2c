"""How a process is connected to a cluster, and where an actor is started: on the node that is meant, or nowhere."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from intarsia.addresses import Address
from intarsia.errors import BackendUnavailableError, ConfigError, WorkerUnreachableError, WorkerVersionError
from intarsia.remote.actors.cluster import connected, started
from intarsia.remote.actors.node_place import NodePlace
from tests.fake_ray import FakeRay


def test_a_process_stays_connected_to_one_cluster(ray: FakeRay) -> None:
    assert connected(None) is ray
    assert connected(Address("10.0.0.1", 6379)) is ray
    assert connected(Address("127.0.0.1", 6379)) is ray
    with pytest.raises(ConfigError, match=r"connected to the Ray cluster at 10.0.0.1:6379, and .*:6380 is another"):
        connected(Address("10.0.0.1", 6380))


def test_how_it_is_used_is_reported_to_nobody(ray: FakeRay, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_USAGE_STATS_ENABLED", raising=False)
    connected(None)
    assert os.environ["RAY_USAGE_STATS_ENABLED"] == "0"


def test_sigterm_stays_with_whom_it_belongs_to() -> None:
    script = """
import signal, sys
from tests.fake_ray import FakeRay
sys.modules["ray"] = fake = FakeRay("a")
fake.init = lambda **_: signal.signal(signal.SIGTERM, signal.SIG_IGN)
from intarsia.remote.actors.cluster import connected
before = signal.getsignal(signal.SIGTERM)
assert before != signal.SIG_IGN
connected(None)
assert signal.getsignal(signal.SIGTERM) == before
"""
    subprocess.run([sys.executable, "-c", script], check=True, cwd=Path(__file__).parents[4])


def test_a_sigterm_that_comes_while_ray_connects_reaches_whom_it_belongs_to() -> None:
    script = """
import signal, sys
from tests.fake_ray import FakeRay
sys.modules["ray"] = fake = FakeRay("a")
fake.init = lambda **_: sys.exit(signal.SIGTERM)  # as Ray's own handler ends
from intarsia.remote.actors.cluster import connected
came = []
signal.signal(signal.SIGTERM, lambda number, _: came.append(number))
try:
    connected(None)
except KeyboardInterrupt:
    assert came == [signal.SIGTERM]
    print("interrupted")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=Path(__file__).parents[4])
    assert done.stdout == "interrupted\n", done.stderr


def test_a_cluster_that_is_not_there_is_told_before_ray_waits_for_it(ray: FakeRay) -> None:
    with socket.create_server(("127.0.0.1", 0)) as door:
        there = Address("127.0.0.1", door.getsockname()[1])
    with pytest.raises(WorkerUnreachableError, match=r"no Ray cluster at 127.0.0.1:\d+ .*ray start --head"):
        connected(there)
    assert ray.connected_to is None


@pytest.mark.parametrize(
    ("refusal", "error", "words"),
    [
        (ConnectionError("Could not find any running Ray instance."), WorkerUnreachableError, "node of no Ray cluster"),
        (RuntimeError("Version mismatch: the cluster\nwas started with"), WorkerVersionError, "Version mismatch: the"),
    ],
)
def test_what_ray_refuses_is_an_error_of_ours(
    ray: FakeRay, refusal: Exception, error: type[Exception], words: str
) -> None:
    ray.refuses = refusal
    with pytest.raises(error, match=words):
        connected(None)


def test_a_missing_ray_is_told_with_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(BackendUnavailableError, match=r"pip install 'intarsia\[ray\]'"):
        connected(None)


def test_an_actor_is_bound_to_its_node(ray: FakeRay) -> None:
    by_label = NodePlace(label=("machine", "a"))
    by_resource = NodePlace(resource="machine-b")
    for place in (by_label, by_resource):
        started(ray, place)._process.end()
    always = {"num_cpus": 0, "max_restarts": -1, "max_task_retries": 0}
    assert ray.options == [
        always | {"label_selector": {"machine": "a"}},
        always | {"resources": {"machine-b": 0.001}},
    ]


def test_without_one_such_node_nothing_is_started(ray: FakeRay) -> None:
    with pytest.raises(WorkerUnreachableError, match="no node that is alive has the label machine=c"):
        started(ray, NodePlace(label=("machine", "c")))
    ray.alive.append("a")
    with pytest.raises(ConfigError, match="the label machine=a is of 2 nodes of the cluster"):
        started(ray, NodePlace(label=("machine", "a")))
    assert not ray.options
