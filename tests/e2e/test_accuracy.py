"""Plans in less than fp32: made, kept to their error, written down, and replayed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import onnx
import pytest

import intarsia
from intarsia.cost.records.store import Store
from intarsia.errors import MismatchError
from intarsia.evaluation.verification import verify_artifact
from intarsia.graph import load_model
from intarsia.graph.reference.reference import evaluate
from intarsia.partitioning import parse_plan
from intarsia.runtime import Artifact, export, this_machine
from intarsia.runtime.executors.drawn_feeds import varied_feeds
from intarsia.runtime.verify import distance
from intarsia.target import Target
from intarsia.target.reduced_precision import reduced_targets
from tests.unit.graph.quantise.networks import decoder, residual

pytestmark = pytest.mark.e2e
ENGINE = "onnxruntime"
PLAN = """\
version: 1
threads: 1
spin: call
embed: false
parallel: false
max_error: {max_error}
partitions:
- target: onnxruntime -optimization-level=extended
  nodes: {nodes}
  precision:
    int8-static: [conv1, conv2, join]
    int8-dynamic: [classify]
    ranges:
      picture: [-5, 5]
      r1: [0, 16]
      c2: [-10, 10]
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("accuracy") / "residual.onnx"
    onnx.save(residual(), path)
    return path


@pytest.fixture(scope="module")
def exact(model: Path) -> Iterator[intarsia.CompiledModel]:
    with compiled(model) as single:
        yield single


def compiled(model: Path, **settings: Any) -> intarsia.CompiledModel:
    return intarsia.compile(model, ENGINE, budget=600, threads=1, store=model.with_name("store.sqlite"), **settings)


def replayed(model: Path, max_error: float) -> intarsia.CompiledModel:
    nodes = [node.id for node in load_model(model).nodes]
    plan = parse_plan(PLAN.format(max_error=max_error, nodes=nodes))
    return compiled(model, partition="manual", plan=plan)


def test_a_plan_in_8_bits_runs_and_says_how_accurate_it_is(
    model: Path, exact: intarsia.CompiledModel, tmp_path: Path
) -> None:
    graph = load_model(model)
    feeds = varied_feeds(graph, 7)
    expected = exact(feeds)["scores"]
    with replayed(model, 0.2) as reduced:
        off = distance(reduced(feeds)["scores"], expected)
        assert 1e-4 < off < 0.2
        accuracy = reduced.report["accuracy"]
        assert accuracy["inputs"] >= 32
        assert 1e-4 < accuracy["mean"]["scores"] <= accuracy["worst"]["scores"] <= accuracy["max_error"] == 0.2
        (part,) = reduced.report["partitions"]
        assert part["precision"]["int8-static"] == ["conv1", "conv2", "join"]
        saved = reduced.save(tmp_path / "rough.intarsia")
    for check in verify_artifact(Artifact(saved), Store(model.with_name("store.sqlite")), [0], {}):
        assert check.is_right
        assert [found.allowed for found in check.outputs] == [0.2]
    with intarsia.load(saved) as again:
        assert distance(again(feeds)["scores"], expected) == pytest.approx(off, rel=0.05)
        plan = parse_plan(again.artifact.plan_text())
    assert plan.max_error == 0.2
    assert plan.partitions[0].precision is not None
    assert plan.partitions[0].precision.names == ("int8-dynamic", "int8-static")


def test_by_default_all_of_it_is_fp32(exact: intarsia.CompiledModel) -> None:
    assert exact.report["accuracy"] is None
    assert exact.report["reduced_precision"] == []
    assert all(part["precision"] is None for part in exact.report["partitions"])


def test_a_plan_that_is_off_by_more_than_it_states_is_refused(model: Path) -> None:
    with pytest.raises(MismatchError, match=r"error .*, allowed"):
        replayed(model, 1e-4)


BF16 = """\
version: 1
threads: 1
spin: call
max_error: {max_error}
partitions:
- target: openvino -inference-precision=bf16
  nodes: {head}
- target: openvino
  nodes: {tail}
"""


def in_bf16(model: Path, max_error: float) -> intarsia.CompiledModel:
    nodes = [node.id for node in load_model(model).nodes]
    text = BF16.format(max_error=max_error, head=nodes[:4], tail=nodes[4:])
    store = model.with_name("store.sqlite")
    return intarsia.compile(
        model, "openvino", partition="manual", plan=parse_plan(text), budget=600, threads=1, store=store
    )


@pytest.mark.skipif(not reduced_targets(Target("openvino"), this_machine().isa), reason="this processor has no bf16")
def test_one_end_of_a_model_in_bf16_is_held_to_its_error(model: Path, exact: intarsia.CompiledModel) -> None:
    feeds = varied_feeds(load_model(model), 7)
    with in_bf16(model, 0.2) as reduced:
        assert 1e-4 < distance(reduced(feeds)["scores"], exact(feeds)["scores"]) < 0.2
        assert reduced.report["accuracy"]["worst"]["scores"] <= 0.2
    with pytest.raises(MismatchError, match=r"error .*, allowed"):
        in_bf16(model, 1e-5)


IN_FEW_BITS = """\
version: 1
threads: 1
spin: call
max_error: {max_error}
partitions:
- target: {engine}
  nodes: {nodes}
  precision:
    weights-int8: [down0, down1]
    weights-int4: [up0, up1]
"""


@pytest.fixture(scope="module")
def step(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("decoder") / "decoder.onnx"
    onnx.save(decoder(width=256), path)
    return path


def in_few_bits(model: Path, engine: str, max_error: float) -> intarsia.CompiledModel:
    nodes = [node.id for node in load_model(model).nodes]
    plan = parse_plan(IN_FEW_BITS.format(max_error=max_error, engine=engine, nodes=nodes))
    store = model.with_name("store.sqlite")
    engines = ["onnxruntime", "winograd"] if engine == "winograd" else engine  # in fp32 it takes no such model
    return intarsia.compile(model, engines, partition="manual", plan=plan, budget=600, threads=1, store=store)


@pytest.mark.parametrize(("engine", "share"), [("onnxruntime", 0.25), ("openvino", 0.5), ("winograd", 0.6)])
def test_weights_in_few_bits_are_held_to_their_error(step: Path, engine: str, share: float, tmp_path: Path) -> None:
    graph = load_model(step)
    feeds = varied_feeds(graph, 7)
    expected = evaluate(graph, feeds)["joined1"]
    with in_few_bits(step, engine, 0.2) as reduced:
        off = distance(reduced(feeds)["joined1"], expected)
        assert 0.01 < off < 0.2
        assert 0.01 < reduced.report["accuracy"]["worst"]["joined1"] <= 0.2
        (part,) = reduced.report["partitions"]
        assert part["precision"] == {"weights-int8": ["down0", "down1"], "weights-int4": ["up0", "up1"]}
        saved = reduced.save(tmp_path / "few.intarsia")
    # Neither the fp32 weights are in it, nor what ONNX Runtime reads a second time; with ours comes the kernel.
    assert saved.stat().st_size < share * step.stat().st_size
    with intarsia.load(saved) as again:
        assert distance(again(feeds)["joined1"], expected) == pytest.approx(off, rel=0.05)
        assert parse_plan(again.artifact.plan_text()).partitions[0].precision is not None
        files = export(again, tmp_path / "files")
    content = b"".join(path.read_bytes() for path in files)
    assert len(content) < share * step.stat().st_size
    for check in verify_artifact(Artifact(saved), Store(step.with_name("store.sqlite")), [0], {}):
        assert check.is_right
    with pytest.raises(MismatchError, match=r"error .*, allowed"):
        in_few_bits(step, engine, 1e-3)


@pytest.mark.large
def test_a_search_tries_the_weights_of_a_decoder(step: Path) -> None:
    with compiled(step, max_error=0.05) as found:
        report = found.report
    assert report["accuracy"]["worst"]["joined1"] <= 0.05
    assert all(plan["error"] <= 0.05 for plan in report["reduced_precision"])
    tried = [name for plan in report["reduced_precision"] for name in plan["precision"]]
    dropped = [row["plan"] for row in report["reduced_precision_dropped"]]
    assert "weights-int8" in tried or f"{ENGINE}, its weights in few bits" in dropped


@pytest.mark.large
def test_a_search_keeps_to_the_error(model: Path) -> None:
    with compiled(model, max_error=0.1) as found:
        report = found.report
    assert report["accuracy"]["worst"]["scores"] <= 0.1
    assert all(plan["error"] <= 0.1 for plan in report["reduced_precision"])
