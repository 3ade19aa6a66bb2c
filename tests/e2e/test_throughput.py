"""Throughput as the objective: instances and threads are measured under load, recorded, shown, and served."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import intarsia
from intarsia.errors import LatencyLimitError
from intarsia.report.page import render
from intarsia.runtime import Artifact
from intarsia.serving.loaded import Loading
from tests.e2e.conftest import Run
from tests.e2e.little_measuring import measure_little

pytestmark = [pytest.mark.e2e]
THREADS = 2
X = np.linspace(-1.0, 1.0, 8 * 16 * 16, dtype=np.float32).reshape(1, 8, 16, 16)


def network() -> onnx.ModelProto:
    """Four convolutions, which any engine runs whole."""
    rng = np.random.default_rng(0)
    nodes, weights, before = [], [], "x"
    for number in range(4):
        weights.append(numpy_helper.from_array(rng.standard_normal((8, 8, 3, 3)).astype(np.float32) / 8, f"w{number}"))
        nodes.append(helper.make_node("Conv", [before, f"w{number}"], [f"c{number}"], pads=[1, 1, 1, 1]))
        nodes.append(helper.make_node("Relu", [f"c{number}"], [before := f"r{number}"]))
    shape = [1, 8, 16, 16]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)]
    outputs = [helper.make_tensor_value_info(before, TensorProto.FLOAT, shape)]
    graph = helper.make_graph(nodes, "net", inputs, outputs, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.fixture(scope="module")
def path(folder: Path) -> Path:
    file = folder / "throughput.onnx"
    onnx.save(network(), file)
    return file


@pytest.fixture(scope="module")
def settings(folder: Path) -> dict[str, Any]:
    return {
        "threads": THREADS,
        "budget": 600,
        "store": folder / "throughput.sqlite",
        "objective": "throughput",
        "max_latency": 1e6,
    }


@pytest.fixture(scope="module")
def artifact(path: Path, folder: Path, settings: dict[str, Any]) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        measure_little(patch)
        with intarsia.compile(path, "onnxruntime, openvino", **settings) as model:
            model.save(folder / "throughput.intarsia")
    return folder / "throughput.intarsia"


def test_what_ships_says_how_it_is_served(artifact: Path) -> None:
    report, manifest = Artifact(artifact).report(), Artifact(artifact).manifest
    load = report["figures"]["load"]
    assert (report["objective"], report["max_latency_ms"]) == ("throughput", 1e6)
    assert load["instances"] * load["threads"] == THREADS
    assert (report["instances"], report["threads"]) == (load["instances"], load["threads"])
    assert (manifest.settings.instances, manifest.settings.threads) == (load["instances"], load["threads"])
    rate = load["requests_per_second"]
    assert 0.0 < rate["low"] <= rate["median"] <= rate["high"]
    assert 0.0 < load["p50_ms"] <= load["p99_ms"]
    assert report["latency_ms"]["median"] == pytest.approx(1e3 * load["instances"] / rate["median"])
    for single in report["singles"]:
        assert single["load"]["instances"] * single["load"]["threads"] == THREADS
        assert single["load"]["requests_per_second"]["median"] > 0.0


def test_it_is_run_and_verified_as_any_other(artifact: Path, path: Path, intarsia: Callable[..., Run]) -> None:
    assert intarsia("verify", artifact, "--json").code == 0
    np.save(path.with_suffix(".npy"), X)
    done = intarsia("run", artifact, "--input", f"x={path.with_suffix('.npy')}", "--json")
    assert done.code == 0, done.err


def test_every_screen_says_so(artifact: Path, intarsia: Callable[..., Run]) -> None:
    done = intarsia("explain", artifact)
    assert done.code == 0, done.err
    load = json.loads(intarsia("explain", artifact, "--json").out)["figures"]["load"]
    assert "requests/s" in done.out
    assert f"{load['instances']} x {load['threads']}" in done.out
    assert "requests a second" in done.out
    page = render(Artifact(artifact).report())
    assert "Requests a second" in page
    assert "Latency under load" in page


def test_the_server_loads_as_many_instances_as_were_recorded(artifact: Path) -> None:
    recorded = Artifact(artifact).manifest.settings.instances
    for stated, expected in ((None, recorded), (3, 3)):
        loaded = Loading(instances=stated)("m", "1", artifact)
        answers = [instance({"x": X})["r3"] for instance in loaded.instances]
        assert len(answers) == expected == loaded.facts["instances"]
        assert all(np.array_equal(answers[0], each) for each in answers)
        loaded.close()


def test_its_plan_file_gives_it_again(artifact: Path, path: Path, folder: Path) -> None:
    plan = folder / "throughput.plan.yaml"
    plan.write_text(Artifact(artifact).plan_text())
    with intarsia.compile(path, partition="manual", plan=plan, store=folder / "throughput.sqlite") as model:
        again = model.plan
    assert again.settings.instances == Artifact(artifact).manifest.settings.instances
    assert again.settings.threads == Artifact(artifact).manifest.settings.threads


def test_where_every_plan_is_too_late_the_nearest_is_named(
    path: Path, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    measure_little(monkeypatch)
    with pytest.raises(LatencyLimitError, match=r"the one that comes nearest, onnxruntime.* raise --max-latency"):
        intarsia.compile(path, "onnxruntime", **{**settings, "max_latency": 1e-6})


def test_a_latency_without_the_objective_is_wrong_use(path: Path, intarsia: Callable[..., Run]) -> None:
    done = intarsia("compile", path, "--max-latency", "20")
    assert done.code == 2
    assert "--max-latency MS goes with --objective throughput" in done.err


def rows_apart(first: int | str, *, mixed: bool = False) -> onnx.ModelProto:
    """Products whose rows have nothing to do with each other, or a softmax over them; ``first`` is their number."""
    rng = np.random.default_rng(0)
    weights = [numpy_helper.from_array(rng.standard_normal((64, 64)).astype(np.float32) / 8, f"w{n}") for n in (0, 1)]
    nodes = [helper.make_node("MatMul", ["x", "w0"], ["a"]), helper.make_node("Relu", ["a"], ["b"])]
    nodes.append(helper.make_node("Softmax", ["b"], ["c"], axis=0 if mixed else 1))
    nodes.append(helper.make_node("MatMul", ["c", "w1"], ["y"]))
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [first, 64]) for name in ("x", "y")]
    graph = helper.make_graph(nodes, "rows", ends[:1], ends[1:], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize("mixed", [False, True])
def test_requests_are_joined_where_rows_have_nothing_to_do_with_each_other(
    folder: Path, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch, *, mixed: bool
) -> None:
    measure_little(monkeypatch)
    file = folder / f"rows-{mixed}.onnx"
    onnx.save(rows_apart("N" if mixed else 1, mixed=mixed), file)
    opened = {} if mixed else {"x": ("N", 64)}  # where the file fixes it
    with intarsia.compile(file, "onnxruntime", shapes={**opened, "N": "1..8"}, **settings) as model:
        batches = model.report["batches"]
        artifact = model.save(folder / "rows.intarsia")
        x = np.random.default_rng(1).standard_normal((8, 64)).astype(np.float32)
        joined, alone = model({"x": x})["y"], model({"x": x[:1]})["y"]
    assert Artifact(artifact).manifest.settings.batch == batches["batch"]
    assert batches["reason"] in Artifact(artifact).report()["reason"]
    if mixed:
        assert (batches["batch"], batches["sizes"]) == (1, [])
        assert "they change each other's answers" in batches["reason"]
    else:
        assert [row["batch"] for row in batches["sizes"]] == [1, 4, 8]
        np.testing.assert_allclose(joined[:1], alone, rtol=1e-4, atol=1e-5)
