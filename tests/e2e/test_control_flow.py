"""Control flow run step by step over real engines: random bodies, and models that are compiled for the executor vm."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from onnx import numpy_helper, parser

import intarsia
from intarsia.config.settings import RunSettings
from intarsia.errors import ArtifactError, LoadError
from intarsia.graph.bodies import load_typed
from intarsia.graph.reference.reference import evaluate
from intarsia.partitioning import parse_plan
from intarsia.planning.bodies import RUNS_BODIES
from intarsia.runtime import build, plan_of, write_artifact
from intarsia.target import Target
from tests.artifacts import changed
from tests.control_flow import SHAPE, flow_models, loaded, stated, stepwise
from tests.e2e.little_measuring import measure_little

pytestmark = [pytest.mark.e2e]

ENGINES = (Target("onnxruntime"), Target("reference"), Target("openvino"))
MACHINE = {"targets": ["onnxruntime -optimization-level=all", "openvino"], "executor": "vm"}
NESTED = """
<ir_version: 10, opset_import: ["": 21]>
g (float[1,4,8,8] x, bool p) => (float[1,4,8,8] y)
<bool t = {1}, int64 n = {3}>
{
  a = Conv<pads = [1,1,1,1]>(x, w)
  y0 = Loop(n, t, a) <body = b (int64 i, bool c, float[1,4,8,8] h) => (bool co, float[1,4,8,8] ho) {
     co = Identity(c)
     z = Conv<pads = [1,1,1,1]>(h, w)
     k = If(p) <then_branch = tb () => (float[1,4,8,8] u) { u = Tanh(z) },
                else_branch = eb () => (float[1,4,8,8] v) { v0 = Sigmoid(z)  v = Mul(v0, a) }>
     ho = Add(k, a)
  }>
  y = Sigmoid(y0)
}"""


@given(model=flow_models())
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_bodies_over_several_engines_answer_as_the_reference_does(model: onnx.ModelProto) -> None:
    x = np.random.default_rng(1).standard_normal(SHAPE).astype(np.float32)
    graph = load_typed(model)
    _, executor = loaded(graph, ENGINES)
    for feeds in ({"x": x}, {"x": -x}):
        found, wanted = executor.run(feeds), evaluate(graph, feeds)
        for name, array in wanted.items():
            np.testing.assert_allclose(found[name], array, rtol=1e-3, atol=1e-4)
    executor.close()


@pytest.fixture
def model(tmp_path: Path) -> Path:
    proto = parser.parse_model(NESTED)
    weight = np.random.default_rng(0).standard_normal((4, 4, 3, 3)).astype(np.float32) / 6
    proto.graph.initializer.append(numpy_helper.from_array(weight, "w"))
    onnx.save(proto, tmp_path / "nested.onnx")
    return tmp_path / "nested.onnx"


def _agrees(compiled: intarsia.CompiledModel, model: Path) -> None:
    graph, rng = load_typed(model), np.random.default_rng(3)
    for holds in (True, False):
        feeds: dict[str, Any] = {"x": rng.standard_normal((1, 4, 8, 8)).astype(np.float32), "p": np.array(holds)}
        found = np.asarray(compiled(**feeds)["y"])
        np.testing.assert_allclose(found, evaluate(graph, feeds)["y"], rtol=1e-3, atol=1e-4)


def test_a_plan_with_other_engines_in_bodies_than_around_is_replayed_saved_and_loaded(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measure_little(monkeypatch)
    store = tmp_path / "store"
    with intarsia.compile(model, MACHINE, budget=20, store=store) as compiled:
        rows = compiled.report["bodies"]
        _agrees(compiled, model)
    assert [(row["op"], row["body"]) for row in rows] == [("Loop", "body")]
    inner = {row["body"] for row in rows[0]["bodies"]}
    assert inner == {"then_branch", "else_branch"}
    plan = """
version: 1
threads: 1
partitions:
- {target: onnxruntime, nodes: [Conv_0]}
- target: control-flow
  nodes: [Loop_1]
  bodies:
  - node: Loop_1
    body: body
    partitions:
    - {target: openvino, nodes: [Conv_1]}
    - {target: onnxruntime, nodes: [Identity_0]}
    - target: control-flow
      nodes: [If_2]
      bodies:
      - {node: If_2, body: then_branch, partitions: [{target: openvino, nodes: [Tanh_0]}]}
      - {node: If_2, body: else_branch, partitions: [{target: onnxruntime, nodes: [Sigmoid_0, Mul_1]}]}
    - {target: openvino, nodes: [Add_3]}
- {target: openvino, nodes: [Sigmoid_2]}
"""
    path = tmp_path / "mixed.intarsia"
    with intarsia.compile(model, MACHINE, partition="manual", plan=parse_plan(plan), budget=20, store=store) as mixed:
        _agrees(mixed, model)
        steps = mixed.artifact.plan.steps
        assert [step.target == RUNS_BODIES for step in steps] == [False, True, False]
        assert mixed.artifact.plan.engines == ("onnxruntime", "openvino")
        mixed.artifact.check_graph()
        mixed.save(path)
        text = mixed.artifact.plan_text()
    again = parse_plan(text)
    assert [body.body for body in again.partitions[1].bodies] == ["body"]
    with intarsia.load(path, trusted=True) as opened:
        _agrees(opened, model)


def _renamed(manifest: Any) -> None:
    manifest["steps"][1]["bodies"][0]["node"] = "elsewhere"


def _emptied(manifest: Any) -> None:
    manifest["steps"][1]["bodies"][0]["plan"]["steps"] = []


def _retyped(manifest: Any) -> None:
    manifest["steps"][1]["bodies"][0]["plan"]["inputs"][0]["dtype"] = "object"


def _lost(manifest: Any) -> None:
    manifest["steps"][1]["meta"]["steps"] = []


def _unknown(manifest: Any) -> None:
    manifest["steps"][1]["meta"]["nodes"][0]["inputs"] = ["nowhere", "t", "a"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (_renamed, "the step has no node 'elsewhere'"),
        (_emptied, "there are none"),
        (_retyped, "there is no type 'object'"),
        (_lost, "there are 0, and 1 bodies inside"),
        (_unknown, "nothing before it makes 'nowhere'"),
    ],
)
def test_a_file_whose_bodies_do_not_fit_is_refused(tmp_path: Path, change: Any, told: str) -> None:
    graph = load_typed(
        parser.parse_model(
            NESTED.replace("Conv<pads = [1,1,1,1]>(x, w)", "Relu(x)").replace("Conv<pads = [1,1,1,1]>(h, w)", "Relu(h)")
        )
    )
    partitions = stepwise(graph, [Target("reference")])
    graph = stated(graph, partitions)
    plan = plan_of(graph, partitions, RunSettings(threads=1))
    write_artifact(tmp_path / "right.intarsia", graph, build(graph, plan))
    with intarsia.load(tmp_path / "right.intarsia", trusted=True) as opened:
        opened(x=np.zeros((1, 4, 8, 8), np.float32), p=np.array(True))
    wrong = changed(tmp_path / "right.intarsia", tmp_path / "wrong.intarsia", change)
    with pytest.raises((ArtifactError, LoadError), match=told):
        intarsia.load(wrong, trusted=True)
