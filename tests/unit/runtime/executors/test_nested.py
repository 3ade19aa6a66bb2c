"""Plans inside of plans on the reference engine: built, written, read, run, driven by executors of their own."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from intarsia.backends.contract import EngineArtifact
from intarsia.config import CompilationConfig, NestedEngine, Pipeline, RunSettings, Spin
from intarsia.errors import ArtifactError
from intarsia.graph import Graph, load_model
from intarsia.graph.reference.reference import evaluate
from intarsia.partitioning import Inside, Partition, Partitioning, dump_plan, parse_plan
from intarsia.runtime import Artifact, CompiledModel, Plan, attach_report, build, load_build, plan_of, write_artifact
from intarsia.runtime.artifact.trust import OWN, UNSTATED, Trust
from intarsia.runtime.executors.branches import BranchExecutor
from intarsia.runtime.executors.drawn_feeds import graph_feeds
from intarsia.runtime.executors.executor import Executor
from intarsia.runtime.executors.nested import NestedExecutable
from intarsia.runtime.executors.vm import VmExecutor
from intarsia.runtime.loading import load_executables
from intarsia.runtime.nested_artifacts import joined, maker_of, parted
from intarsia.target import Target
from tests.unit.runtime.artifact.test_checks import Change, changed
from tests.unit.runtime.chains import TRAITS

REFERENCE = Target("reference")
SETTINGS = RunSettings(threads=4, spin=Spin.NEVER)
TWO_STAGES = Pipeline(stages=(1, 1), threads=(1, 1), depth=2)


def nest(**drives: str) -> Target:
    config = CompilationConfig.of({"targets": ["reference"], **drives})
    return NestedEngine(config=config, engines=(REFERENCE,)).target


def leaf(*nodes: str) -> Partition:
    return Partition(target=REFERENCE, nodes=nodes)


def inside(target: Target, *partitions: Partition, **more: Any) -> Partition:
    nodes = tuple(node for part in partitions for node in part.nodes)
    return Partition(target=target, nodes=nodes, inside=Inside(partitions=partitions, **more))


PIPED = inside(nest(executor="pipeline -depth=2"), leaf("mul"), leaf("add"), threads=2, pipeline=TWO_STAGES)
BY_VM = inside(nest(executor="vm"), leaf("relu"), inside(nest(), leaf("skip")), threads=1)
PARTITIONS = (PIPED, BY_VM, leaf("last"))


@pytest.fixture(scope="module")
def graph() -> Graph:
    rng = np.random.default_rng(0)
    weights = [
        numpy_helper.from_array(rng.standard_normal((64, 64)).astype(np.float32), "w"),
        numpy_helper.from_array(rng.standard_normal(64).astype(np.float32), "b"),
    ]
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["m"], "mul"),
        helper.make_node("Add", ["m", "b"], ["a"], "add"),
        helper.make_node("Relu", ["a"], ["r"], "relu"),
        helper.make_node("Add", ["r", "m"], ["s"], "skip"),
        helper.make_node("Neg", ["s"], ["y"], "last"),
    ]
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 64]) for name in "xy")
    proto = helper.make_graph(nodes, "g", [x], [y], weights)
    return load_model(helper.make_model(proto, opset_imports=[helper.make_opsetid("", 21)]))


@pytest.fixture(scope="module")
def plan(graph: Graph) -> Plan:
    return plan_of(graph, PARTITIONS, SETTINGS)


@pytest.fixture(scope="module")
def artifact(graph: Graph, plan: Plan, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("nested") / "m.intarsia"
    write_artifact(path, graph, build(graph, plan))
    attach_report(path, {})
    return path


@pytest.fixture
def model(artifact: Path) -> Iterator[CompiledModel]:
    with CompiledModel(Artifact(artifact, OWN)) as compiled:
        yield compiled


def executors_of(graph: Graph, plan: Plan) -> list[Executor | None]:
    """What drives the inside of each step of a plan that was loaded and bound."""
    built = build(graph, plan)
    weights = {name: graph.weights[name].array() for artifact in built.artifacts for name in artifact.weights}
    executables = load_executables(plan, built.artifacts, weights, [plan.settings] * len(plan.steps))
    Executor(plan, executables, [TRAITS] * len(executables)).close()
    return [each.executors[0] if isinstance(each, NestedExecutable) else None for each in executables]


def test_a_step_holds_a_plan_with_threads_and_a_pipeline_of_its_own(plan: Plan) -> None:
    first, second, last = plan.steps
    assert first.inside is not None
    assert second.inside is not None
    assert last.inside is None
    assert first.inside.settings == RunSettings(threads=2, spin=Spin.NEVER, pipeline=TWO_STAGES)
    assert second.inside.settings.threads == 1
    assert [[v.name for v in step.outputs] for step in first.inside.steps] == [["m"], ["a"]]
    assert (first.inside.inputs, first.inside.outputs) == (first.inputs, first.outputs)
    assert [step.nodes for step in plan.leaves] == [("mul",), ("add",), ("relu",), ("skip",), ("last",)]
    assert plan.engines == ("reference",)
    assert plan.has_pipeline
    assert plan.partitions == PARTITIONS


def test_it_answers_as_the_reference_does(graph: Graph, model: CompiledModel) -> None:
    feeds = graph_feeds(graph, 0)
    np.testing.assert_allclose(model(feeds)["y"], evaluate(graph, feeds, ["y"])["y"], rtol=1e-6)


def test_an_artifact_keeps_what_is_inside(plan: Plan, model: CompiledModel) -> None:
    assert model.plan == plan
    assert parse_plan(model.artifact.plan_text()).partitions == PARTITIONS
    model.artifact.check_graph()
    assert set(model.artifact.manifest.engines) == {"reference"}


def test_each_inside_is_driven_by_the_executor_that_its_configuration_states(graph: Graph) -> None:
    wide = inside(nest(), leaf("add", "relu"), leaf("skip"), threads=2)
    first, second = executors_of(graph, plan_of(graph, (PIPED, BY_VM), SETTINGS))
    assert type(first) is Executor
    assert isinstance(second, VmExecutor)
    assert second.plan.settings.threads == 1
    (_, third) = executors_of(graph, plan_of(graph, (leaf("mul"), wide), SETTINGS))
    assert third is not None
    assert third.plan.settings.threads == 2


def test_a_stream_runs_through_the_stages_inside_at_one_time(graph: Graph, model: CompiledModel) -> None:
    requests = [graph_feeds(graph, seed) for seed in range(9)]
    wanted = [model(feeds)["y"] for feeds in requests]
    with model.stream(requests) as results:
        found = [next(results)["y"]]
        stages = {thread.name for thread in threading.enumerate() if thread.name.startswith("intarsia-stage")}
        found += [result["y"] for result in results]
    assert stages == {"intarsia-stage-0", "intarsia-stage-1", "intarsia-stage-2"}  # two inside, and what is behind
    np.testing.assert_array_equal(found, wanted)


def test_independent_partitions_inside_run_at_one_time() -> None:
    nodes = [helper.make_node("Relu", ["x"], ["a"], "left"), helper.make_node("Neg", ["x"], ["b"], "right")]
    nodes.append(helper.make_node("Add", ["a", "b"], ["y"], "both"))
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 4]) for name in "xy")
    own = load_model(
        helper.make_model(helper.make_graph(nodes, "g", [x], [y]), opset_imports=[helper.make_opsetid("", 21)])
    )
    whole = inside(nest(), leaf("left"), leaf("right"), leaf("both"), parallel=True)
    diamond = plan_of(own, [whole], SETTINGS)
    (found,) = executors_of(own, diamond)
    assert isinstance(found, BranchExecutor)
    feeds = {"x": np.array([[1, -2, 3, -4]] * 2, np.float32)}
    executor = load_build(own, build(own, diamond))
    np.testing.assert_array_equal(executor.run(feeds)["y"], np.maximum(feeds["x"], 0) - feeds["x"])
    executor.close()


def test_a_plan_file_says_what_is_inside() -> None:
    text = dump_plan(Partitioning(partitions=PARTITIONS), SETTINGS)
    assert parse_plan(text).partitions == PARTITIONS
    assert dump_plan(Partitioning(partitions=parse_plan(text).partitions), SETTINGS) == text


def test_artifacts_of_steps_are_one_and_are_parted_again() -> None:
    several = [
        EngineArtifact(files={"a": b"1", "b": b"2"}, weights=("w",), meta={"inputs": []}),
        EngineArtifact(files={"a": b"3"}, weights=("w", "v"), meta={}),
    ]
    whole = joined(several)
    assert dict(whole.files) == {"0/a": b"1", "0/b": b"2", "1/a": b"3"}
    assert whole.weights == ("w", "v")
    assert list(parted(whole)) == several


def test_who_made_a_file_inside(plan: Plan) -> None:
    first, second, last = plan.steps
    assert maker_of(first, "1/model.onnx") == ("reference", "model.onnx")
    assert maker_of(second, "1/0/model.onnx") == ("reference", "model.onnx")
    assert maker_of(second, "9/model.onnx") == ("nested", "9/model.onnx")
    assert maker_of(last, "model.onnx") == ("reference", "model.onnx")


def _deeper(manifest: dict[str, Any]) -> None:
    step = manifest["steps"][0]["inside"]["steps"][0]
    for _ in range(20):
        step["inside"] = {**manifest["steps"][0]["inside"], "steps": [dict(step)]}
        step = step["inside"]["steps"][0]


LIES: list[tuple[Change, str]] = [
    (lambda m: m["steps"][0].update(inside=None), r"steps\[0\]\.inside: nested runs a plan inside"),
    (lambda m: m["steps"][2].update(inside=m["steps"][0]["inside"]), r"steps\[2\]\.inside: reference runs no plan"),
    (lambda m: m["steps"][0]["inside"].update(steps=[]), r"steps\[0\]\.inside\.steps: there are none"),
    (
        lambda m: m["steps"][0]["inside"]["steps"][0].update(nodes=["relu"]),
        r"inside\.steps: they do not have",
    ),
    (lambda m: m["steps"][0]["inside"].update(outputs=[]), r"inside\.outputs: these are not the outputs of the step"),
    (lambda m: m["steps"][0]["inside"]["settings"].update(threads=0), r"inside\.settings\.threads"),
    (
        lambda m: m["steps"][0]["inside"]["settings"].update(embed=True, pipeline=None),
        r"inside\.settings: a plan",
    ),
    (lambda m: m["steps"][0]["inside"]["steps"].reverse(), r"nothing before it makes 'm'"),
    (lambda m: m["steps"][0]["inside"]["steps"][0]["outputs"][0].update(shape=[-1]), r"is no size of a dimension"),
    (_deeper, r"more than 8 plans inside of each other"),
]


@pytest.mark.parametrize(("change", "told"), LIES)
def test_what_a_manifest_says_of_an_inside_is_checked(
    artifact: Path, tmp_path: Path, change: Change, told: str
) -> None:
    with pytest.raises(ArtifactError, match=told):
        Artifact(changed(artifact, tmp_path / "lies.intarsia", change), OWN)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda m: m["steps"][0]["meta"]["steps"].pop(), r"there are 1, and 2 steps inside"),
        (lambda m: m["steps"][0]["meta"]["steps"][0].update(files=["other"]), r"the step has no '0/other'"),
        (
            lambda m: m["steps"][0]["meta"]["steps"][0]["meta"].update(inputs=[["z", "float32", [2, 64]]]),
            r"not the inputs",
        ),
        (lambda m: m["steps"][0]["meta"].update(steps=3), r"meta\.steps: must be a list"),
    ],
)
def test_what_engines_inside_kept_is_checked_before_it_is_loaded(
    artifact: Path, tmp_path: Path, change: Change, told: str
) -> None:
    lying = Artifact(changed(artifact, tmp_path / "lies.intarsia", change), OWN)
    with pytest.raises(ArtifactError, match=told):
        lying.build()


def test_an_interpreter_that_an_engine_inside_names_is_asked_for(graph: Graph, artifact: Path, tmp_path: Path) -> None:
    def elsewhere(manifest: dict[str, Any]) -> None:
        manifest["steps"][0]["inside"]["steps"][0]["target"] = "reference -python=/nowhere/python"
        manifest["engines"]["reference@/nowhere/python"] = manifest["engines"]["reference"]

    with pytest.raises(ArtifactError, match=r"partition 1 \(-python of reference\) names '/nowhere/python'"):
        Artifact(changed(artifact, tmp_path / "away.intarsia", elsewhere), UNSTATED)
    allowed = Artifact(changed(artifact, tmp_path / "away.intarsia", elsewhere), Trust.of("/nowhere/python"))
    assert [code.path for code in allowed.named_code] == ["/nowhere/python"] * 2
