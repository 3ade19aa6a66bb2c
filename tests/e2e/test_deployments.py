"""One model over two workers, played by processes that listen on loopback, each with a record store of its own."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

import intarsia
from intarsia.config import Deployment
from intarsia.cost.worker.progress import unwatched
from intarsia.deploy.artifact import DeployedArtifact
from intarsia.deploy.candidates import Plan, StageCompiler
from intarsia.deploy.link_figures import measured
from intarsia.deploy.machines import Machine, machines_of
from intarsia.driver import CompileSettings
from intarsia.errors import (
    ArtifactError,
    BackendUnavailableError,
    ConfigError,
    FeedError,
    RemoteError,
    WorkerUnreachableError,
)
from intarsia.graph import Graph, load_model
from intarsia.partitioning import linear_order
from intarsia.remote.client import Worker
from tests.deployed import divided as halves
from tests.e2e.conftest import Run
from tests.remote_workers import TOKEN, RunningWorker, running_worker
from tests.serving.process import Web, serving
from tests.unit.graph.models import two_layers

pytestmark = [pytest.mark.e2e, pytest.mark.engine]
ROOT = Path(__file__).parents[2]
SETTINGS = CompileSettings(partition="single", budget=4.0, threads=1)
FEEDS = {"x": np.linspace(-1, 1, 128, dtype=np.float32).reshape(4, 32)}


@pytest.fixture
def command(intarsia: Callable[..., Run]) -> Callable[..., Run]:
    """Runs ``intarsia``, whose name is the package's here."""
    return intarsia


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RunningWorker, RunningWorker]]:
    folder = tmp_path_factory.mktemp("workers")
    with running_worker(folder / "a") as a, running_worker(folder / "b") as b:
        yield a, b


def described(a: RunningWorker, b: RunningWorker) -> dict[str, Any]:
    return {
        "machines": {
            "a": {"targets": ["onnxruntime"], "runtime": a.runtime()},
            "b": {"targets": ["openvino"], "runtime": b.runtime()},
        },
        "links": [{"between": ["a", "b"], "bandwidth": 1.25e8}],
    }


@pytest.fixture(scope="module")
def machines(workers: tuple[RunningWorker, RunningWorker]) -> Mapping[str, Machine]:
    return machines_of(Deployment.of(described(*workers)))


@pytest.fixture(scope="module")
def graph() -> Graph:
    return load_model(two_layers())


@pytest.fixture(scope="module")
def answer() -> np.ndarray:
    model = two_layers()
    (found,) = ReferenceEvaluator(model).run([model.graph.output[0].name], FEEDS)
    return np.asarray(found)


@pytest.fixture(scope="module")
def compiled(
    workers: tuple[RunningWorker, RunningWorker], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[intarsia.DeployedModel]:
    path = tmp_path_factory.mktemp("model") / "two_layers.onnx"
    onnx.save(two_layers(), path)
    with intarsia.compile_deployment(path, described(*workers), settings=SETTINGS) as made:
        yield made


def test_it_answers_and_says_what_was_measured(compiled: intarsia.DeployedModel, answer: np.ndarray) -> None:
    assert np.allclose(compiled(FEEDS)["y"], answer, atol=1e-4)
    assert np.allclose(compiled(x=FEEDS["x"])["y"], answer, atol=1e-4)
    with pytest.raises(FeedError, match="input x"):
        compiled({})
    report = compiled.report
    assert set(report["machines"]) == {"a", "b"}
    assert all(each["link"]["bytes_per_s"] > 0 for each in report["machines"].values())
    assert {plan["name"] for plan in report["plans"]} >= {"a", "b"}
    assert report["control"] is not None
    assert report["best_alone"] in ("a", "b")
    assert report["chosen"] == report["best_alone"] or any(
        plan["name"] == report["chosen"] and plan["shown"] == "faster" for plan in report["plans"]
    )
    assert any("which is not used" in remark for remark in report["remarks"])
    assert report["predicted"]


def test_the_artifact_names_no_worker_and_is_loaded_where_a_deployment_says(
    compiled: intarsia.DeployedModel,
    workers: tuple[RunningWorker, RunningWorker],
    command: Callable[..., Run],
    answer: np.ndarray,
    tmp_path: Path,
) -> None:
    path = compiled.save(tmp_path / "two.intarsia")
    content = path.read_bytes().decode("latin-1")
    assert not any(secret in content for secret in (TOKEN, "token-file", *(each.address for each in workers)))
    file = tmp_path / "two.json"
    file.write_text(json.dumps(described(*workers)), encoding="utf-8")
    with intarsia.load_deployment(path, file) as loaded:
        assert np.allclose(loaded(FEEDS)["y"], answer, atol=1e-4)
    explained = command("explain", str(path))
    assert explained.code == 0
    assert "the one to beat" in explained.out
    run = command("run", str(path), "--deployment", str(file), "--random", "--json")
    assert json.loads(run.out)["outputs"][0]["shape"] == [4, 32]
    with pytest.raises(ArtifactError, match="an artifact for several machines; say where they are"):
        intarsia.load(path)
    with pytest.raises(ConfigError, match="the deployment has no such"):
        intarsia.load_deployment(path, {"machines": {"z": "onnxruntime"}})


@pytest.fixture(scope="module")
def divided(
    machines: Mapping[str, Machine], graph: Graph, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[Mapping[str, Machine]], intarsia.DeployedModel]:
    """Loads a plan whose first half is on one machine and whose second half is on the other."""
    folder = tmp_path_factory.mktemp("divided")
    compiler = StageCompiler(graph, machines, SETTINGS, folder, unwatched)
    order = linear_order(graph)
    middle = len(order) // 2
    stages = (compiler.stage("a", order[:middle], 3.0), compiler.stage("b", order[middle:], 3.0))
    artifact = compiler.write(Plan(name="divided", stages=stages), folder / "divided.intarsia", {})
    return lambda where: intarsia.DeployedModel(artifact, where)


def test_two_stages_on_two_machines_answer_as_one(
    divided: Callable[..., intarsia.DeployedModel], machines: Mapping[str, Machine], answer: np.ndarray
) -> None:
    with divided(machines) as model:
        assert [stage.machine for stage in model.stages] == ["a", "b"]
        assert np.allclose(model(FEEDS)["y"], answer, atol=1e-4)
        factors = np.arange(1, 101, dtype=np.float32)
        expected = [model({"x": FEEDS["x"] * factor})["y"] for factor in factors]
        with model.stream({"x": FEEDS["x"] * factor} for factor in factors) as results:
            for found, wanted in zip(results, expected, strict=True):
                assert np.array_equal(found["y"], wanted)


def test_a_worker_that_is_killed_under_a_stream_fails_its_requests_and_no_answer_comes_twice(
    divided: Callable[..., intarsia.DeployedModel],
    machines: Mapping[str, Machine],
    tmp_path: Path,
) -> None:
    with running_worker(tmp_path / "c") as third:
        place = third.place(timeout=2.0)
        here = {**machines, "b": Machine(name="b", config=machines["b"].config, place=place)}
        with divided(here) as model:
            factors = np.arange(1, 301, dtype=np.float32)
            expected = {factor: model({"x": FEEDS["x"] * factor})["y"] for factor in factors[:20]}
            found: list[np.ndarray | RemoteError] = []
            with model.stream({"x": FEEDS["x"] * factor} for factor in factors) as results:
                for number in range(len(factors)):
                    try:
                        found.append(next(results)["y"])
                    except RemoteError as error:
                        found.append(error)
                        break
                    if number == 10:
                        third.process.kill()
    answers = [each for each in found if not isinstance(each, RemoteError)]
    assert isinstance(found[-1], RemoteError)
    assert 11 <= len(answers) < len(factors)
    for factor, each in zip(factors[:20], answers[:20], strict=False):
        assert np.array_equal(each, expected[factor])


def test_it_is_served_over_workers_until_sigterm(
    workers: tuple[RunningWorker, RunningWorker], answer: np.ndarray, tmp_path: Path
) -> None:
    path = halves(tmp_path, ("onnxruntime", "openvino")).path
    file = tmp_path / "two.json"
    file.write_text(json.dumps(described(*workers)), encoding="utf-8")
    with serving(f"net={path}", "--deployment", str(file), verb="deploy") as running, Web(running.http) as web:
        tensor = {"name": "x", "datatype": "FP32", "shape": [4, 32], "data": FEEDS["x"].reshape(-1).tolist()}
        with ThreadPoolExecutor(4) as clients:
            asked = [clients.submit(_asked, running.http, tensor) for _ in range(20)]
            assert all(np.allclose(each.result(), answer.reshape(-1), atol=1e-4) for each in asked)
        assert web.get("/v2/health/ready").status == 200
        (ready,) = running.events("ready")
        assert (ready["machines"], ready["instances"]) == (["a", "b"], 4)
        assert running.end() == 0


def _asked(address: str, tensor: Mapping[str, Any]) -> list[float]:
    with Web(address) as web:
        (output,) = web.infer("net", {"inputs": [tensor]}).json["outputs"]
        found: list[float] = output["data"]
        return found


def test_a_link_is_measured(workers: tuple[RunningWorker, RunningWorker]) -> None:
    with Worker(workers[0].place()) as worker:
        assert worker.echo(b"to and fro" * 1000) == b"to and fro" * 1000
        figures = measured(worker)
    assert 0 < figures.round_trip_s < 60
    assert figures.bytes_per_s > 0


def test_what_cannot_be_done_is_said(tmp_path: Path, command: Callable[..., Run]) -> None:
    path = tmp_path / "two_layers.onnx"
    onnx.save(two_layers(), path)
    with pytest.raises(BackendUnavailableError, match="a and b have no worker, and only one machine can be this one"):
        intarsia.compile_deployment(path, {"machines": {"a": "onnxruntime", "b": "openvino"}})
    gone = {"machines": {"a": {"targets": ["onnxruntime"], "runtime": "rpc -address=127.0.0.1:9 -token-file=t"}}}
    (tmp_path / "t").write_text("token", encoding="ascii")
    gone["machines"]["a"]["runtime"] = f"rpc -address=127.0.0.1:9 -token-file={tmp_path / 't'}"
    with pytest.raises(WorkerUnreachableError):
        intarsia.compile_deployment(path, gone)
    with pytest.raises(ConfigError, match="takes no plan: a plan file is of one machine"):
        intarsia.compile_deployment(path, gone, plan="plan.yaml")
    with pytest.raises(ConfigError, match="runtime 'crt' is of no part of a deployment"):
        intarsia.compile_deployment(path, {"machines": {"a": {"targets": ["c"], "executor": "aot", "runtime": "crt"}}})
    both = command("compile", str(path), "--deployment", "raspberry-pi/2x4b-aarch64", "--target", "onnxruntime")
    assert both.code == 2
    assert "--target is of one machine" in both.err
    tag = command("compile", str(path), "--deployment", "raspberry-pi/2x4b-aarch64")
    assert tag.code == 3
    assert "have no worker" in tag.err


def test_a_model_on_this_machine_alone(tmp_path: Path, answer: np.ndarray) -> None:
    model = intarsia.compile_deployment(two_layers(), {"machines": {"here": "onnxruntime"}}, settings=SETTINGS)
    with model:
        assert np.allclose(model(FEEDS)["y"], answer, atol=1e-4)
        assert model.report["reason"] == "here alone: no other machine runs the whole model"
        path = model.save(tmp_path / "here.intarsia")
    assert DeployedArtifact(path).description.stages[0].machine == "here"
    with (
        pytest.raises(ArtifactError, match="an artifact of one machine"),
        intarsia.compile(two_layers(), "onnxruntime", settings=SETTINGS) as plain,
    ):
        DeployedArtifact(plain.save(tmp_path / "plain.intarsia"))


def test_the_page_runs(
    workers: tuple[RunningWorker, RunningWorker], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (ROOT / "docs" / "deployments.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(tmp_path)
    model = onnx.compose.add_prefix(two_layers(), "", rename_nodes=False)
    for old, new in (("x", "data"), ("y", "scores")):
        for node in model.graph.node:
            node.input[:] = [new if name == old else name for name in node.input]
            node.output[:] = [new if name == old else name for name in node.output]
        for value in (*model.graph.input, *model.graph.output):
            value.name = new if value.name == old else value.name
    onnx.save(model, "model.onnx")
    Path("two.yaml").write_text(json.dumps(described(*workers)), encoding="utf-8")
    image = FEEDS["x"]
    names: dict[str, Any] = {"image": image, "images": [image] * 3}
    exec(compile(block.replace("budget=20", "budget=4"), "deployments.md", "exec"), names)
    with names["model"] as loaded:
        assert np.array_equal(loaded({"data": image})["scores"], names["scores"])
