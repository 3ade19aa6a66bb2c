"""Every network, compiled over all engines: the artifact agrees with ONNX Runtime unoptimised and with the reference.

The outputs are compared, and one tensor in the middle of the network, which is made an output for the purpose.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

import intarsia
import networks
from intarsia.backends import registry
from intarsia.config import RunSettings
from intarsia.graph import load_model
from intarsia.graph.reference.reference import evaluate
from intarsia.partitioning import Partition, Partitioning, dump_plan
from intarsia.runtime.verify import deviation
from intarsia.target import KINDS, Target
from networks.probe import intermediate_of
from networks.resnet_cut import cut
from tests.e2e.little_measuring import measure_little

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
TOLERANCE = 1e-3
LARGE = ("bvlc_alexnet", "densenet121", "inception_v2", "vgg19", "zfnet512")
"""Much the same layers as the others have, in more megabytes."""
Arrays = dict[str, np.ndarray]


def exposed(name: str) -> tuple[onnx.ModelProto, str]:
    """The network with its intermediate tensor as one more output, and that tensor's name."""
    model = networks.build(name)
    middle = intermediate_of(model)
    model.graph.output.append(onnx.helper.make_tensor_value_info(middle, onnx.TensorProto.FLOAT, None))
    return model, middle


def unoptimised(model: Path, feeds: Arrays) -> Arrays:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    return dict(zip([o.name for o in session.get_outputs()], session.run(None, feeds), strict=True))


def relative_error(actual: np.ndarray, expected: np.ndarray) -> float:
    return float(np.abs(actual - expected).max() / np.abs(expected).max())


@pytest.fixture(autouse=True)
def _little_measuring(monkeypatch: pytest.MonkeyPatch) -> None:
    measure_little(monkeypatch)


@pytest.fixture(scope="module")
def store(folder: Path) -> Path:
    return folder / "networks.sqlite"


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.large if name in LARGE else ()) for name in networks.NAMES],
)
def test_outputs_and_an_intermediate_agree(name: str, folder: Path, store: Path) -> None:
    path = folder / f"{name}-exposed.onnx"
    model, middle = exposed(name)
    onnx.save(model, path)
    feeds = networks.feeds(model, seed=3)
    del model  # up to half a gigabyte, while the workers have theirs
    with intarsia.compile(path, budget=15, store=store) as compiled:
        actual = compiled(feeds)
        report = compiled.report
    expected = unoptimised(path, feeds)
    graph = load_model(path)
    reference = evaluate(graph, feeds)
    path.unlink()
    assert set(actual) == set(expected) == set(reference)
    assert middle in actual
    for output, value in actual.items():
        assert expected[output].std() > 0, output
        assert relative_error(value, expected[output]) <= TOLERANCE, output
        assert relative_error(value, reference[output]) <= TOLERANCE, output
    assert report["max_rel_error"] <= TOLERANCE
    assert {single["target"] for single in report["singles"]} == set(KINDS["llvm"].engines) & set(registry.usable())
    covered = [node for part in report["partitions"] for node in part["nodes"]]
    assert sorted(covered) == sorted(node.id for node in graph.nodes)


def agrees(compiled: intarsia.CompiledModel, path: Path) -> None:
    feeds = networks.feeds(path, seed=5)
    actual, expected = compiled(feeds), unoptimised(path, feeds)
    assert set(actual) == set(expected)
    assert all(relative_error(actual[output], expected[output]) <= TOLERANCE for output in expected)


def test_resnet50_cut_by_hand_into_23_partitions_agrees(folder: Path, store: Path) -> None:
    path = networks.save("resnet50", folder)
    graph = load_model(path)
    parts = [Partition(target=Target(target), nodes=tuple(nodes)) for target, nodes in cut(graph)]
    plan = folder / "pieces.yaml"
    plan.write_text(dump_plan(Partitioning(partitions=tuple(parts)), RunSettings(threads=2)))
    with intarsia.compile(path, "onnxruntime", partition="manual", plan=plan, budget=15, store=store) as compiled:
        assert compiled.plan.transitions == 22
        assert [part["target"] for part in compiled.report["partitions"]] == [str(part.target) for part in parts]
        agrees(compiled, path)


def test_greedy_gives_each_node_to_the_first_engine_that_takes_it(folder: Path, store: Path) -> None:
    path = networks.save("text_recogniser", folder)
    with intarsia.compile(path, "ncnn, onnxruntime", partition="greedy", budget=300, store=store) as compiled:
        assert compiled.plan.engines == ("ncnn", "onnxruntime")
        assert all(part["predicted_ms"] > 0 and part["measured_ms"] > 0 for part in compiled.report["partitions"])
        agrees(compiled, path)


@pytest.mark.parametrize("name", ["squeezenet", "text_recogniser"])
def test_two_swapped_channels_are_caught(name: str, folder: Path, store: Path) -> None:
    right, wrong = networks.build(name), networks.swap_channels(networks.build(name))
    feeds = networks.feeds(right, seed=3)
    path = folder / f"{name}-swapped.onnx"
    onnx.save(wrong, path)
    # One setting, so that less is measured.
    target = "onnxruntime -optimization-level=all"
    with intarsia.compile(path, partition="single", target=target, budget=15, store=store) as compiled:
        actual = compiled(feeds)
    reference = evaluate(load_model(right), feeds)
    assert any(not deviation(output, actual[output], reference[output]).is_acceptable for output in reference)
