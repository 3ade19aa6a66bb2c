"""Plans over the reference engine: run, verified, written, read, rebuilt."""

from __future__ import annotations

import threading
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import intarsia
from intarsia.backends import registry
from intarsia.backends.contract import Availability
from intarsia.config import RunSettings, Spin
from intarsia.errors import ArtifactError, CompileError, FeedError, MismatchError, PlanError
from intarsia.graph import Graph, load_model
from intarsia.graph.fingerprint import content_hash, fingerprint_of
from intarsia.graph.reference.reference import evaluate
from intarsia.partitioning import Partition
from intarsia.runtime import (
    Artifact,
    CompiledModel,
    Plan,
    attach_report,
    build,
    export,
    load_build,
    plan_of,
    write_artifact,
)
from intarsia.runtime.artifact.machine import Machine
from intarsia.runtime.executors.drawn_feeds import graph_feeds
from intarsia.runtime.verify import verify_plan
from intarsia.target import Target

REFERENCE = Target("reference")
SETTINGS = RunSettings(threads=1, spin=Spin.NEVER)


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
        helper.make_node("Add", ["r", "m"], ["y"], "skip"),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 64])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 64])
    model = helper.make_model(
        helper.make_graph(nodes, "g", [x], [y], weights), opset_imports=[helper.make_opsetid("", 21)]
    )
    onnx.checker.check_model(model)
    return load_model(model)


def plan(graph: Graph, *partitions: tuple[str, ...]) -> Plan:
    return plan_of(graph, [Partition(target=REFERENCE, nodes=nodes) for nodes in partitions], SETTINGS)


@pytest.fixture(scope="module")
def partitions(graph: Graph) -> Plan:
    return plan(graph, ("mul",), ("add", "relu"), ("skip",))


@pytest.fixture
def artifact(graph: Graph, partitions: Plan, tmp_path: Path) -> Path:
    path = tmp_path / "m.intarsia"
    write_artifact(path, graph, build(graph, partitions))
    attach_report(path, {"chosen": "greedy", "artifact": None})
    return path


def test_a_plan_knows_its_borders(graph: Graph, partitions: Plan) -> None:
    assert [[value.name for value in step.inputs] for step in partitions.steps] == [["x"], ["m"], ["r", "m"]]
    assert [[value.name for value in step.outputs] for step in partitions.steps] == [["m"], ["r"], ["y"]]
    workload = plan(graph, ("add", "relu"))
    assert [value.name for value in workload.inputs] == ["m"]
    assert [value.name for value in workload.outputs] == ["r"]


def test_partitions_compute_what_the_whole_computes(graph: Graph, partitions: Plan) -> None:
    feeds = graph_feeds(graph, 1)
    executor = load_build(graph, build(graph, partitions))
    assert np.allclose(executor.run(feeds)["y"], evaluate(graph, feeds)["y"])
    assert len(executor.timed_call()) == 3


def test_results_belong_to_the_caller(graph: Graph, partitions: Plan) -> None:
    executor = load_build(graph, build(graph, partitions))
    first = executor.run(graph_feeds(graph, 1))["y"]
    kept = first.copy()
    executor.run(graph_feeds(graph, 2))
    assert np.array_equal(first, kept)


def test_the_first_guilty_partition_is_named(graph: Graph, partitions: Plan) -> None:
    feeds = graph_feeds(graph, 1)
    reference = evaluate(graph, feeds, keep={"m", "r"})
    executor = load_build(graph, build(graph, partitions))
    assert verify_plan(executor, feeds, reference).error < 1e-6
    with pytest.raises(MismatchError, match=r"partition 1 on reference is wrong: r: error"):
        verify_plan(executor, feeds, reference | {"r": reference["r"] + 1})


def test_an_artifact_runs_and_tells_what_it_is(graph: Graph, artifact: Path) -> None:
    feeds = graph_feeds(graph, 1)
    with intarsia.load(artifact) as model:
        assert np.allclose(model(feeds)["y"], evaluate(graph, feeds)["y"])
        assert [part.nodes for part in model.plan.partitions] == [("mul",), ("add", "relu"), ("skip",)]
        assert model.report["chosen"] == "greedy"
        assert model.report["artifact"] == str(artifact)
        assert len(model.profile(feeds)) == 3
        assert "3 threads" not in repr(model)
        with pytest.raises(FeedError, match="missing"):
            model({})
    assert "add" in Artifact(artifact).plan_text()


def test_the_graph_comes_back_from_the_artifact(graph: Graph, artifact: Path) -> None:
    again = Artifact(artifact).graph()
    assert fingerprint_of(again) == fingerprint_of(graph)
    assert content_hash(again) == content_hash(graph)


def test_its_model_can_be_had_as_a_file(graph: Graph, artifact: Path, tmp_path: Path) -> None:
    model = tmp_path / "again.onnx"
    Artifact(artifact).save_model(model)
    assert content_hash(load_model(model)) == content_hash(graph)


def test_calls_from_several_threads_do_not_mix(graph: Graph, artifact: Path) -> None:
    wrong = []
    with intarsia.load(artifact) as model:

        def work(seed: int) -> None:
            feeds = graph_feeds(graph, seed)
            expected = evaluate(graph, feeds)["y"]
            if any(not np.allclose(model(feeds)["y"], expected) for _ in range(5)):
                wrong.append(seed)

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert wrong == []


def test_saved_elsewhere_it_is_the_same_file(artifact: Path, tmp_path: Path) -> None:
    copy = CompiledModel(Artifact(artifact)).save(tmp_path / "sub" / "copy.intarsia")
    assert copy.read_bytes() == artifact.read_bytes()
    assert [path.name for path in copy.parent.iterdir()] == ["copy.intarsia"]


def test_another_engine_version_is_rebuilt_in_memory(
    graph: Graph, artifact: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer = Availability(usable=True, version="999")
    monkeypatch.setattr(type(registry.get("reference")), "probe", lambda _: newer)
    feeds = graph_feeds(graph, 1)
    assert Artifact(artifact).changed_engines() != []
    with intarsia.load(artifact) as model:
        assert np.allclose(model(feeds)["y"], evaluate(graph, feeds)["y"])


@pytest.fixture
def elsewhere(artifact: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine of another class than the artifact was built on."""
    from intarsia.runtime.artifact import artifact as module

    here = Machine(architecture="riscv64", isa=(), cpu="x", cores=1, system="Linux")
    monkeypatch.setattr(module, "this_machine", lambda: here)


@pytest.mark.usefixtures("elsewhere")
def test_for_another_machine_class_it_is_rebuilt_in_memory(
    graph: Graph, artifact: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Artifact, "build", None)  # what was compiled there is not touched
    feeds = graph_feeds(graph, 1)
    with intarsia.load(artifact) as model:
        assert np.allclose(model(feeds)["y"], evaluate(graph, feeds)["y"])
    (said,) = (record.getMessage() for record in caplog.records)
    assert "rebuilt in memory, since it was built for another machine class" in said
    assert "this machine is riscv64; recompile here" in said


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize("stage", ["probe", "compile"])
def test_where_it_cannot_be_rebuilt_the_difference_and_the_cause_are_named(
    artifact: Path, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    def fails(*_: object) -> None:
        raise CompileError("reference", "no compiler")

    absent = Availability(usable=False, reason="no compiler")
    monkeypatch.setattr(type(registry.get("reference")), stage, fails if stage == "compile" else lambda _: absent)
    with pytest.raises(ArtifactError, match=r"another machine class.*riscv64.*no compiler; recompile here"):
        intarsia.load(artifact)


@pytest.mark.usefixtures("elsewhere")
def test_its_times_are_not_checked_on_another_machine_class(artifact: Path) -> None:
    with pytest.raises(ArtifactError, match=r"another machine class.*riscv64.*recompile here"):
        Artifact(artifact).check_machine()


def test_an_engine_that_is_needed_for_compiling_alone_may_be_absent(
    graph: Graph, artifact: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = type(registry.get("reference"))
    known = backend().probe()
    monkeypatch.setattr(backend, "probe_loading", lambda _: known, raising=False)
    monkeypatch.setattr(backend, "probe", lambda _: Availability(usable=False, reason="no compiler"))
    feeds = graph_feeds(graph, 1)
    with intarsia.load(artifact) as model:
        assert np.allclose(model(feeds)["y"], evaluate(graph, feeds)["y"])


def test_equal_files_are_stored_once(graph: Graph, partitions: Plan, tmp_path: Path) -> None:
    built = build(graph, partitions)
    equal = [replace(each, files={**each.files, "kernels.so": b"the same"}) for each in built.artifacts]
    write_artifact(tmp_path / "m.intarsia", graph, replace(built, artifacts=tuple(equal)))
    with zipfile.ZipFile(tmp_path / "m.intarsia") as archive:
        assert sum(archive.read(name) == b"the same" for name in archive.namelist()) == 1
    found = Artifact(tmp_path / "m.intarsia").build().artifacts
    assert [dict(each.files) for each in found] == [each.files for each in equal]


def test_a_mix_cannot_be_exported(artifact: Path, tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="3 partitions"):
        export(CompiledModel(Artifact(artifact)), tmp_path / "out")
