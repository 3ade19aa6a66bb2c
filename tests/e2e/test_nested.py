"""A nested configuration is one engine: searched inside, priced as a whole, driven by an executor of its own."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import intarsia
from intarsia import CompiledModel
from intarsia.graph import load_model
from intarsia.graph.reference.reference import evaluate
from intarsia.partitioning import parse_plan
from intarsia.runtime.executors.executor import Executor
from intarsia.runtime.executors.vm import VmExecutor

pytestmark = [pytest.mark.e2e]

SHAPE = (1, 8, 12, 12)
PIPED = {"targets": ["mnn", "openvino"], "executor": "pipeline -depth=2"}
BY_VM = {"targets": ["onnxruntime -threads=1"], "executor": "vm"}
FRONT, BACK = ("conv_0", "relu_0", "conv_1", "relu_1"), ("conv_2", "relu_2", "last")
PLAN = """
version: 1
threads: 2
partitions:
- target: nested -config="config -executor='pipeline -depth=2' -targets=mnn,openvino"
  nodes: [conv_0, relu_0, conv_1, relu_1]
  inside:
    pipeline: {stages: [1, 1], threads: [1, 1], depth: 2}
    partitions:
    - {target: mnn, nodes: [conv_0, relu_0]}
    - {target: openvino, nodes: [conv_1, relu_1]}
- target: nested -config="config -executor=vm -targets='onnxruntime -threads=1'"
  nodes: [conv_2, relu_2, last]
"""
"""By a person: spelt otherwise than it is printed, and the second is left to its own priority."""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    weights, nodes, read = [], [], "x"
    for place in range(3):
        kernel = 0.1 * rng.standard_normal((8, 8, 3, 3)).astype(np.float32)
        weights.append(numpy_helper.from_array(kernel, f"w{place}"))
        conv, relu = f"c{place}", f"r{place}"
        nodes.append(helper.make_node("Conv", [read, f"w{place}"], [conv], f"conv_{place}", pads=[1, 1, 1, 1]))
        nodes.append(helper.make_node("Relu", [conv], [relu], f"relu_{place}"))
        read = relu
    nodes.append(helper.make_node("Neg", [read], ["y"], "last"))
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, SHAPE) for name in "xy")
    graph = helper.make_graph(nodes, "g", [x], [y], weights)
    path = tmp_path_factory.mktemp("nested") / "chain.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)
    return path


@pytest.fixture(scope="module")
def store(model: Path) -> Path:
    return model.parent / "records.sqlite"


def feeds(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).standard_normal(SHAPE).astype(np.float32)}


def assert_right(compiled: CompiledModel, model: Path) -> None:
    wanted = evaluate(load_model(model), feeds(1))["y"]
    np.testing.assert_allclose(compiled(feeds(1))["y"], wanted, rtol=1e-3, atol=1e-3)


def drivers(compiled: CompiledModel) -> list[Executor]:
    """What drives the inside of each step that has one."""
    found: list[Executor] = []
    original = Executor._bind

    def noting(self: Executor, place: int, executable: Any, traits: Any) -> Any:
        calls = original(self, place, executable, traits)
        found.extend(getattr(executable, "executors", ()))
        return calls

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Executor, "_bind", noting)
        compiled.load()
    return found


def test_executors_threads_and_stages_inside_are_those_that_are_stated(model: Path, store: Path) -> None:
    config = {"targets": [PIPED, BY_VM]}
    stated = parse_plan(PLAN)
    with intarsia.compile(model, config, partition="manual", plan=stated, budget=0, store=store) as compiled:
        front, back = compiled.plan.steps
        assert front.inside is not None
        assert back.inside is not None
        assert [str(step.target) for step in front.inside.steps] == ["mnn", "openvino"]
        assert [step.nodes for step in back.inside.steps] == [BACK]
        piped, by_vm = drivers(compiled)
        assert type(piped) is Executor
        assert isinstance(by_vm, VmExecutor)
        assert_right(compiled, model)
        requests = [feeds(seed) for seed in range(8)]
        wanted = [compiled(each)["y"] for each in requests]
        with compiled.stream(requests) as results:
            found = [next(results)["y"]]
            stages = {each.name for each in threading.enumerate() if each.name.startswith("intarsia-stage")}
            found += [each["y"] for each in results]
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
        assert len(stages) == 3, "two of the pipeline inside, and the step behind"
        inside = [part["inside"] for part in compiled.report["partitions"]]
        assert [each["executor"] for each in inside] == ["pipeline -depth=2", "vm"]
        assert compiled.plan.engines == ("mnn", "openvino", "onnxruntime")


def test_collage_has_one_contender_for_a_nest_and_its_inside_is_replayed(
    model: Path, store: Path, tmp_path: Path
) -> None:
    config = {"targets": [{"targets": ["mnn", "openvino"]}, "onnxruntime -optimization-level=all"]}
    settings: dict[str, Any] = {"budget": 0, "store": store, "threads": 1}
    with intarsia.compile(model, config, **settings) as compiled:
        names = [single["target"] for single in compiled.report["singles"]]
        assert sorted(name.split()[0] for name in names) == ["nested", "onnxruntime"]
        assert_right(compiled, model)
        plan = compiled.artifact.plan_text()
        assert set(compiled.plan.engines) <= {"mnn", "openvino", "onnxruntime"}
        json.dumps(dict(compiled.report))
    with intarsia.compile(model, config, **settings) as again:
        assert again.artifact.plan_text() == plan


def test_a_co_processor_is_a_second_process(model: Path, store: Path) -> None:
    config = {"targets": [{"targets": ["onnxruntime -optimization-level=all"], "runtime": "rpc"}]}
    with intarsia.compile(model, config, partition="greedy", budget=0, store=store, threads=1) as compiled:
        (step,) = compiled.plan.leaves
        assert "python" in step.target.options
        assert_right(compiled, model)
