"""Small networks whose plans are given, as artifacts that the runtime `cpp` loads: nothing is searched or measured."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from intarsia.config import RunSettings, Spin
from intarsia.config.precision import Precision
from intarsia.graph import load_model
from intarsia.partitioning import Partition
from intarsia.runtime import Artifact, CompiledModel, build, plan_of, write_artifact
from intarsia.runtime.artifact.trust import OWN
from intarsia.runtime.cpp.preparing import prepare
from intarsia.target import Target

CHANNELS = 32
"""A multiple of every block that ONNX Runtime's layout has, so that our kernels take part."""
LAYERS = ("conv1", "relu1", "conv2", "sum", "pool", "flat", "product", "scores")
CALLED = RunSettings(threads=2, spin=Spin.CALL)
ENGINES = ("onnxruntime", "openvino", "c", "winograd")


def network() -> onnx.ModelProto:
    """Two 3x3 convolutions with a sum around one, and a classifier; the second input is added to its answers."""
    rng = np.random.default_rng(0)

    def weight(name: str, *shape: int) -> onnx.TensorProto:
        return numpy_helper.from_array((rng.standard_normal(shape) * 0.2).astype(np.float32), name)

    nodes = [
        helper.make_node("Conv", ["image", "w1"], ["a"], "conv1", pads=[1] * 4),
        helper.make_node("Relu", ["a"], ["b"], "relu1"),
        helper.make_node("Conv", ["b", "w2"], ["c"], "conv2", pads=[1] * 4),
        helper.make_node("Add", ["c", "b"], ["d"], "sum"),
        helper.make_node("GlobalAveragePool", ["d"], ["e"], "pool"),
        helper.make_node("Flatten", ["e"], ["f"], "flat"),
        helper.make_node("MatMul", ["f", "w3"], ["g"], "product"),
        helper.make_node("Add", ["g", "bias"], ["h"], "scores"),
    ]
    inputs = [_info("image", 1, CHANNELS, 12, 12), _info("bias", 1, 10)]
    weights = [
        weight("w1", CHANNELS, CHANNELS, 3, 3),
        weight("w2", CHANNELS, CHANNELS, 3, 3),
        weight("w3", CHANNELS, 10),
    ]
    graph = helper.make_graph(nodes, "network", inputs, [_info("h", 1, 10), _info("e", 1, CHANNELS, 1, 1)], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def branches() -> onnx.ModelProto:
    """Two convolutions of one value that do not depend on each other, and their sum."""
    rng = np.random.default_rng(1)
    weights = [
        numpy_helper.from_array((rng.standard_normal((8, 8, 3, 3)) * 0.2).astype(np.float32), name)
        for name in ("w1", "w2")
    ]
    nodes = [
        helper.make_node("Relu", ["x"], ["r"], "first"),
        helper.make_node("Conv", ["r", "w1"], ["a"], "left", pads=[1] * 4),
        helper.make_node("Conv", ["r", "w2"], ["b"], "right", pads=[1] * 4),
        helper.make_node("Add", ["a", "b"], ["y"], "last"),
    ]
    graph = helper.make_graph(nodes, "branches", [_info("x", 1, 8, 9, 9)], [_info("y", 1, 8, 9, 9)], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def written(
    path: Path,
    parts: Sequence[tuple[str, Sequence[str]]],
    settings: RunSettings = CALLED,
    model: onnx.ModelProto | None = None,
    precision: Precision | None = None,
) -> Path:
    """An artifact of these targets with their nodes, prepared for the runtime `cpp`."""
    graph = load_model(network() if model is None else model)
    partitions = [Partition(target=Target(target), nodes=tuple(nodes), precision=precision) for target, nodes in parts]
    write_artifact(path, graph, build(graph, plan_of(graph, partitions, settings)))
    prepare(path)
    return path


def whole(path: Path, target: str) -> Path:
    """All of the network on one engine."""
    return written(path, [(target, LAYERS)], RunSettings(threads=2, spin=Spin.FREE))


def answers(path: Path, feeds: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What the runtime `python` says."""
    with CompiledModel(Artifact(path, OWN)) as model:
        return model(feeds)


def feeds_of(seed: int = 0) -> dict[str, np.ndarray]:
    """Inputs of the network."""
    rng = np.random.default_rng(seed)
    shapes = {"image": (1, CHANNELS, 12, 12), "bias": (1, 10)}
    return {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


def _info(name: str, *shape: int) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
