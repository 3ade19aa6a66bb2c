"""A server on a Ray that is played: what is started, in which order it ends, and which errors come of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from intarsia.addresses import Address
from intarsia.errors import (
    ArtifactError,
    BackendUnavailableError,
    ConfigError,
    LoadError,
    WorkerDiedError,
    WorkerUnreachableError,
)
from intarsia.remote.failures import failure_of
from intarsia.serving.access import Access
from intarsia.serving.limits import Limits
from intarsia.serving.loaded import Loading
from intarsia.serving.replicas import cluster_server, watch
from intarsia.serving.replicas.cluster_server import Cluster, ClusterServer
from intarsia.serving.replicas.replica import Replica
from intarsia.serving.replicas.scale import Scale
from tests.artifacts import written
from tests.fake_ray import FakeRay, RayError


class RayServeException(Exception):  # noqa: N818 - as Ray Serve calls it
    """As Ray Serve's: there is no Serve."""


class FakeServe:
    """Stands for `ray.serve`: it runs one application, whose replica is made at once."""

    exceptions = SimpleNamespace(RayServeException=RayServeException)
    RunTarget = SimpleNamespace

    def __init__(self) -> None:
        self.did: list[str] = []
        self.http: dict[str, Any] = {}
        self.options: dict[str, Any] = {}
        self.proxies: dict[str, str] = {}
        self.message = ""
        self.build: Callable[[], Replica] | None = None
        self.applications: dict[str, Any] = {}
        self.fails: Exception | None = None

    def start(self, *, http_options: dict[str, Any], **_: Any) -> None:
        self.did.append("start")
        self.http = http_options

    def deployment(self, **options: Any) -> Callable[[Any], Any]:
        self.options = options
        return lambda made: SimpleNamespace(bind=lambda: made)

    def ingress(self, build: Callable[[], Replica]) -> Callable[[], Any]:
        self.build = build
        return lambda: build

    def run_many(self, targets: list[Any], **_: Any) -> None:
        self.did.append("run")
        part = SimpleNamespace(replica_states={"RUNNING": 1}, message=self.message)
        state = "DEPLOY_FAILED" if self.message else "RUNNING"
        found = SimpleNamespace(status=state, message="", deployments={"intarsia": part})
        self.applications = {each.name: found for each in targets}

    def status(self) -> Any:
        if self.fails is not None and self.applications:
            raise self.fails
        return SimpleNamespace(proxies=self.proxies, applications=self.applications)

    def delete(self, name: str, **_: Any) -> None:
        self.did.append("delete")
        del self.applications[name]

    def shutdown(self) -> None:
        self.did.append("shutdown")


class Serving(FakeRay):
    """Ray with Ray Serve, and nodes that have processors."""

    def __init__(self, *processors: int) -> None:
        super().__init__("a")
        self.serve = FakeServe()
        self.processors = processors
        self.sent: list[bytes] = []

    def nodes(self) -> list[dict[str, Any]]:
        return [{"Alive": True, "Resources": {"CPU": float(each)}} for each in self.processors]

    def put(self, content: bytes) -> int:
        self.sent.append(content)
        return len(self.sent) - 1

    def get(self, answer: Any, timeout: float = 0.0) -> Any:
        return self.sent[answer]

    def shutdown(self) -> None:
        self.serve.did.append("end")


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> Serving:
    found = Serving(2, 5)
    monkeypatch.setitem(sys.modules, "ray", found)
    monkeypatch.setattr(watch, "status_at", lambda *_, **__: 200)
    for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN"):  # set, so that what is set inside is put back
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    return found


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return written(tmp_path / "net.intarsia")


def run(file: Path, cluster: Cluster) -> list[str]:
    """Serve until it is ready; what was told."""
    told: list[str] = []
    server = ClusterServer(
        {"net": file}, Address("127.0.0.1", 0), cluster, loading=Loading(), limits=Limits(), access=Access()
    )

    class Told:
        """Ends once it was ready."""

        @property
        def is_told(self) -> bool:
            return "ready" in told

        def __enter__(self) -> Told:
            return self

        def __exit__(self, *_: object) -> None:
            told.append("heard")

        def wait(self, _: float) -> None:
            """Not at all."""

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cluster_server, "Ending", Told)
        server.run(lambda endpoints: told.append(str(endpoints.http)), lambda: told.append("ready"))
    return told


def test_a_cluster_of_this_machine_reads_a_copy_and_ends(ray: Serving, file: Path) -> None:
    told = run(file, Cluster())
    assert told[1:] == ["ready", "heard"]
    assert ray.serve.did == ["start", "run", "delete", "shutdown", "end"]
    assert f"{ray.serve.http['host']}:{ray.serve.http['port']}" == told[0]
    assert ray.began_with["address"] == "local"
    assert ray.began_with["include_dashboard"] is False
    assert ray.sent == []
    assert (os.environ["RAY_AUTH_MODE"], len(os.environ["RAY_AUTH_TOKEN"])) == ("token", 64)
    assert ray.serve.build is not None
    with pytest.raises(RuntimeError, match=r"a replica cannot start: .*ArtifactError"):
        ray.serve.build()  # the copy is not there any more


def test_on_a_cluster_that_is_joined_artifacts_are_sent(ray: Serving, file: Path) -> None:
    run(file, Cluster(address=None, scale=Scale(least=1, most=1)))
    ray.connected_to = "127.0.0.1:6379"
    run(file, Cluster(address=Address("127.0.0.1", 6379)))
    assert ray.sent == [file.read_bytes()]
    assert ray.serve.options["autoscaling_config"]["max_replicas"] == 7


def test_a_user_who_says_who_may_call_the_cluster_is_heard(
    ray: Serving, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    run(file, Cluster())
    assert "RAY_AUTH_TOKEN" not in os.environ


def test_a_ray_serve_that_runs_already_is_left_alone(ray: Serving, file: Path) -> None:
    ray.serve.proxies = {"node": "HEALTHY"}
    with pytest.raises(ConfigError, match="Ray Serve runs on that cluster already"):
        run(file, Cluster())
    assert ray.serve.did == ["end"]


def test_a_node_too_small_for_a_replica_is_told(ray: Serving, file: Path) -> None:
    ray.processors = (0,)
    with pytest.raises(ConfigError, match="a replica takes 1 processor, and no node of the cluster has more than 0"):
        run(file, Cluster())


def test_more_replicas_than_there_is_room_for_are_told_unless_the_cluster_may_grow(ray: Serving, file: Path) -> None:
    scale = Scale(least=1, most=8)
    with pytest.raises(ConfigError, match=r"--replicas 1..8: this machine has processors for 7 replicas"):
        run(file, Cluster(scale=scale))
    ray.connected_to = "127.0.0.1:6379"
    run(file, Cluster(address=Address("127.0.0.1", 6379), scale=scale))
    assert ray.serve.options["autoscaling_config"]["max_replicas"] == 8


@pytest.mark.parametrize(
    ("message", "error", "words"),
    [
        (f"Traceback\na replica cannot start: {failure_of(LoadError('mnn', 'no file'))}\nmore", LoadError, "no file"),
        ("the process ended", WorkerDiedError, "no replica starts: the process ended"),
    ],
)
def test_a_replica_that_does_not_start_is_told_with_its_own_error(
    ray: Serving, file: Path, message: str, error: type[Exception], words: str
) -> None:
    ray.serve.message = message
    with pytest.raises(error, match=words):
        run(file, Cluster())
    assert ray.serve.did == ["start", "run", "shutdown", "end"]


@pytest.mark.parametrize("failure", [RayError("the controller died"), RayServeException("the controller died")])
def test_a_cluster_that_goes_is_an_error_of_ours(ray: Serving, file: Path, failure: Exception) -> None:
    ray.serve.fails = failure
    with pytest.raises(WorkerUnreachableError, match=r"Ray Serve does not answer \(the controller died\)"):
        run(file, Cluster())


def test_a_file_that_is_no_artifact_starts_no_cluster(ray: Serving, tmp_path: Path) -> None:
    (tmp_path / "net.intarsia").write_bytes(b"nothing")
    with pytest.raises(ArtifactError):
        run(tmp_path / "net.intarsia", Cluster())
    assert ray.connected_to is None


@pytest.mark.usefixtures("ray")
def test_without_what_ray_serve_needs_the_extra_is_named(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Partly(Serving):
        """Without what `ray.serve` imports."""

        @property
        def serve(self) -> Any:
            raise ModuleNotFoundError("No module named fastapi", name="fastapi")

        @serve.setter
        def serve(self, _: Any) -> None:
            """There is none."""

    monkeypatch.setitem(sys.modules, "ray", Partly(1))
    with pytest.raises(BackendUnavailableError, match=r"no fastapi\): pip install 'intarsia\[ray-serve\]'"):
        run(file, Cluster())
