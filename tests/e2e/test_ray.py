"""One model over two nodes of a Ray cluster: placed, measured, served, and what happens when one of them dies."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx
import psutil
import pytest
from onnx.reference import ReferenceEvaluator

import intarsia
from intarsia.config import Runtime
from intarsia.deploy.artifact import DeployedArtifact
from intarsia.deploy.model import DeployedModel
from intarsia.driver import CompileSettings
from intarsia.errors import ConfigError, MachineDiedError, RemoteError, WorkerUnreachableError
from intarsia.remote.actors.actor_worker import ActorWorker
from intarsia.remote.model import RemoteModel
from intarsia.remote.reach import place_of, reached
from tests.deployed import divided
from tests.ray_cluster import RunningCluster, running_cluster
from tests.serving.process import Web, serving
from tests.unit.graph.models import two_layers

pytest.importorskip("ray", reason="the extra ray is not installed here; `make more` runs these tests with it")
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.engine,
    pytest.mark.xdist_group("ray"),
    pytest.mark.filterwarnings("ignore:.*:FutureWarning:ray.*"),
]
FEEDS = {"x": np.linspace(-1, 1, 128, dtype=np.float32).reshape(4, 32)}
REQUESTS = 1000


@pytest.fixture(scope="module")
def cluster() -> Iterator[RunningCluster]:
    with running_cluster() as found:
        yield found


@pytest.fixture(scope="module")
def artifact(tmp_path_factory: pytest.TempPathFactory) -> DeployedArtifact:
    return divided(tmp_path_factory.mktemp("model"), ("onnxruntime", "onnxruntime"))


@pytest.fixture
def model(cluster: RunningCluster, artifact: DeployedArtifact) -> Iterator[DeployedModel]:
    with intarsia.load_deployment(artifact.path, cluster.deployment()) as found:
        yield found


def actor_of(model: DeployedModel, machine: str) -> ActorWorker:
    (stage,) = (each for each in model._runner._stages if each.machine == machine)
    return cast("ActorWorker", cast("RemoteModel", stage.model).worker)


def process_of(model: DeployedModel, machine: str) -> int:
    return int(actor_of(model, machine).greeting["pid"])


def answer(feeds: dict[str, np.ndarray]) -> np.ndarray:
    (found,) = ReferenceEvaluator(two_layers()).run(["y"], feeds)
    return np.asarray(found)


def test_each_stage_runs_on_the_node_that_its_label_names(model: DeployedModel, cluster: RunningCluster) -> None:
    for machine in ("a", "b"):
        parents = psutil.Process(process_of(model, machine)).parents()
        assert cluster.raylet(machine) in {each.pid for each in parents}
    assert np.allclose(model(FEEDS)["y"], answer(FEEDS), atol=1e-4)
    with intarsia.load_deployment(model._artifact.path, by_resource(cluster)) as other:
        assert cluster.raylet("b") in {each.pid for each in psutil.Process(process_of(other, "b")).parents()}
        assert np.array_equal(other(FEEDS)["y"], model(FEEDS)["y"])


def by_resource(cluster: RunningCluster) -> dict[str, Any]:
    machines = {
        name: {"targets": ["onnxruntime"], "runtime": f"ray -resource=machine-{name} -timeout=60"} for name in "ab"
    }
    return {"machines": machines}


def test_when_it_is_closed_its_actors_end(model: DeployedModel) -> None:
    processes = [psutil.Process(process_of(model, machine)) for machine in ("a", "b")]
    model.close()
    assert not psutil.wait_procs(processes, timeout=60)[1]


def test_a_model_is_compiled_on_a_node_and_here_and_the_link_is_measured(
    cluster: RunningCluster, tmp_path: Path
) -> None:
    path = tmp_path / "two_layers.onnx"
    onnx.save(two_layers(), path)
    settings = CompileSettings(partition="single", budget=4.0, threads=1)
    there = {"targets": ["onnxruntime"], "runtime": cluster.runtime("a")}
    machines = {"machines": {"a": there, "here": "openvino"}}
    with intarsia.compile_deployment(path, machines, settings=settings) as made:
        assert np.allclose(made(FEEDS)["y"], answer(FEEDS), atol=1e-4)
        report = made.report
        made.save(tmp_path / "two.intarsia")
    assert {name: each["is_here"] for name, each in report["machines"].items()} == {"a": False, "here": True}
    assert report["machines"]["a"]["link"]["bytes_per_s"] > 0
    assert {plan["name"] for plan in report["plans"]} >= {"a", "here"}
    assert cluster.address not in (tmp_path / "two.intarsia").read_bytes().decode("latin-1")


def test_an_actor_that_is_killed_under_a_stream_costs_the_request_in_its_hand_and_no_other(
    model: DeployedModel, capsys: pytest.CaptureFixture[str]
) -> None:
    factors = np.arange(1, REQUESTS + 1, dtype=np.float32)
    expected = [answer({"x": FEEDS["x"] * factor}) for factor in factors]
    before = process_of(model, "b")
    found: list[np.ndarray | RemoteError] = []
    with model.stream({"x": FEEDS["x"] * factor} for factor in factors) as results:
        while len(found) < REQUESTS:
            try:
                found.append(next(results)["y"])
            except RemoteError as error:
                found.append(error)
            if len(found) == REQUESTS // 3:
                os.kill(before, 9)
        assert next(results, None) is None
    assert capsys.readouterr().out == ""
    errors = [each for each in found if isinstance(each, RemoteError)]
    assert 1 <= len(errors) <= 3
    assert all(isinstance(each, MachineDiedError) and "machine b" in str(each) for each in errors)
    for each, wanted in zip(found, expected, strict=True):
        if not isinstance(each, RemoteError):
            assert np.allclose(each, wanted, rtol=1e-4, atol=1e-4 * float(np.abs(wanted).max()))


def test_a_node_that_is_gone_for_good_is_named_and_one_that_takes_its_place_goes_on(
    artifact: DeployedArtifact, cluster: RunningCluster
) -> None:
    with intarsia.load_deployment(artifact.path, cluster.deployment(timeout=40.0)) as model:
        expected = model(FEEDS)["y"]
        cluster.remove("b")
        with pytest.raises(MachineDiedError, match="machine b"):
            model(FEEDS)
        with pytest.raises(WorkerUnreachableError, match=r"machine b .* is gone: no node that is alive has the label"):
            model(FEEDS)
        with pytest.raises(WorkerUnreachableError, match="no node that is alive has the label machine=b"):
            intarsia.load_deployment(artifact.path, cluster.deployment())
        cluster.add("b")
        assert np.array_equal(model(FEEDS)["y"], expected)


def test_a_compile_whose_actor_is_killed_ends_in_its_own_error(cluster: RunningCluster) -> None:
    def kill(_: object) -> None:
        for each in _actors(cluster):
            with suppress(psutil.NoSuchProcess):
                each.kill()

    target = {"targets": ["onnxruntime"], "runtime": cluster.runtime("a")}
    with pytest.raises(MachineDiedError, match="label machine=a"):
        intarsia.compile(two_layers(), target, partition="single", budget=20.0, threads=1, progress=kill)


def test_a_node_that_is_not_clearly_one_is_refused(cluster: RunningCluster) -> None:
    with pytest.raises(WorkerUnreachableError, match="no node that is alive has the label machine=c"):
        reached(place_of(Runtime(cluster.runtime("c"))))
    with pytest.raises(ConfigError, match="the resource CPU is of 2 nodes of the cluster"):
        reached(place_of(Runtime("ray -resource=CPU")))
    with pytest.raises(ConfigError, match="a process speaks with one cluster"):
        reached(place_of(Runtime("ray -resource=machine-a -address=10.255.255.1:1")))


def test_it_is_served_until_sigterm_and_then_its_actors_end(
    cluster: RunningCluster, artifact: DeployedArtifact, tmp_path: Path
) -> None:
    file = tmp_path / "two.json"
    file.write_text(json.dumps(cluster.deployment()), encoding="utf-8")
    arguments = (f"net={artifact.path}", "--deployment", str(file), "--reload-every", "0")
    with serving(*arguments, verb="deploy") as running, Web(running.http) as web:
        assert web.get("/v2/models/net").json["inputs"] == [{"name": "x", "datatype": "FP32", "shape": [4, 32]}]
        tensor = {"name": "x", "datatype": "FP32", "shape": [4, 32], "data": FEEDS["x"].reshape(-1).tolist()}
        outputs = web.infer("net", {"inputs": [tensor]}).json["outputs"]
        assert np.allclose(outputs[0]["data"], answer(FEEDS).reshape(-1), atol=1e-4)
        actors = _actors(cluster)
        assert len(actors) == 2
        assert running.end() == 0
    assert not psutil.wait_procs(actors, timeout=60)[1]


def _actors(cluster: RunningCluster) -> list[psutil.Process]:
    """Processes of actors, on both nodes."""
    raylets = [psutil.Process(cluster.raylet(name)) for name in ("a", "b")]
    return [
        each for raylet in raylets for each in raylet.children(recursive=True) if each.name().startswith("ray::Mach")
    ]
