"""Writes what the manifest fuzzer mutates: a small artifact of each engine that is here, and of each way to run a plan.

``python -m tests.fuzz.artifacts FOLDER`` writes them; engines are loaded in a process of its own.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from intarsia.backends import registry
from intarsia.config import Pipeline, RunSettings, Spin
from intarsia.config.precision import Precision, Scheme
from intarsia.errors import IntarsiaError
from intarsia.graph import Graph, SizeRange, load_model
from intarsia.partitioning import Partition, Partitioning
from intarsia.runtime import Artifact, Bucket, Plan, attach_report, build, plan_of, write_artifact, write_buckets
from intarsia.target import Target
from tests.reports import small

ENGINES = (
    *("onnxruntime", "openvino", "mnn", "ncnn", "winograd", "reference"),
    *("torch", "inductor", "xla", "tvm", "litert", "iree", "tinygrad"),
)
WAYS = ("mixed", "embedded", "branches", "pipeline", "buckets", "quantised")
BASES = (*(f"single-{engine}" for engine in ENGINES), *WAYS)
"""Names of the artifacts; those whose engines are not here are not written."""
CHANNELS = 16
"""Whole blocks of ONNX Runtime, on any machine."""
SETTINGS = RunSettings(threads=1, spin=Spin.NEVER)


def network() -> Graph:
    """Two branches of convolutions, joined, and a matrix product behind: small, and something for each engine."""
    rng = np.random.default_rng(0)
    weights = {name: rng.standard_normal((CHANNELS, CHANNELS, 3, 3)) / 12 for name in ("w1", "w2", "w3", "w4")}
    weights |= {"m": rng.standard_normal((8, 8)), "b": rng.standard_normal(CHANNELS)}
    nodes = [
        _conv("c1", "x", "w1"),
        helper.make_node("Relu", ["c1"], ["r1"], "r1"),
        _conv("c2", "r1", "w2"),
        helper.make_node("Relu", ["c2"], ["r2"], "r2"),
        _conv("c3", "r1", "w3"),
        helper.make_node("Relu", ["c3"], ["r3"], "r3"),
        helper.make_node("Add", ["r2", "r3"], ["a"], "a"),
        _conv("c4", "a", "w4"),
        helper.make_node("Relu", ["c4"], ["r4"], "r4"),
        helper.make_node("MatMul", ["r4", "m"], ["y"], "y"),
    ]
    return load_model(_model(nodes, weights, [1, CHANNELS, 8, 8]))


def open_network() -> Graph:
    """A matrix product of any number of rows."""
    rng = np.random.default_rng(0)
    nodes = [
        helper.make_node("MatMul", ["x", "m"], ["p"], "p"),
        helper.make_node("Relu", ["p"], ["y"], "y"),
    ]
    return load_model(_model(nodes, {"m": rng.standard_normal((32, 32))}, ["n", 32]), {"n": "1..8"})


def _conv(name: str, reads: str, weight: str) -> onnx.NodeProto:
    return helper.make_node("Conv", [reads, weight, "b"], [name], name, pads=[1, 1, 1, 1], kernel_shape=[3, 3])


def _model(nodes: Sequence[onnx.NodeProto], weights: dict[str, np.ndarray], shape: list[Any]) -> onnx.ModelProto:
    tensors = [numpy_helper.from_array(array.astype(np.float32), name) for name, array in weights.items()]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in ("x", "y")]
    graph = helper.make_graph(nodes, "fuzzed", ends[:1], ends[1:], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def write_all(folder: Path) -> Iterator[tuple[str, str]]:
    """Write each that can be written here; its name, and why it was not, if it was not."""
    for name in BASES:
        try:
            _write(folder / f"{name}.intarsia", name)
        except IntarsiaError as error:
            yield name, str(error)
        else:
            yield name, ""


def _write(path: Path, name: str) -> None:
    graph = network()
    if name.startswith("single-"):
        engine = name.removeprefix("single-")
        registry.require(engine)
        _write_plan(path, graph, plan_of(graph, [Partition(target=Target(engine), nodes=_nodes(graph))], SETTINGS))
    else:
        _WAYS[name](path, graph)
    attach_report(path, _report(path))


def _report(path: Path) -> dict[str, Any]:
    """That of the command line's tests, with this artifact's partitions in it."""
    facts, _ = small()
    first = facts["partitions"][0]
    parts = Artifact(path).plan.partitions
    own = [{**first, "target": str(part.target), "nodes": list(part.nodes)} for part in parts]
    return {**facts, "partitions": own, "transitions": len(own) - 1}


def _nodes(graph: Graph) -> tuple[str, ...]:
    return tuple(node.id for node in graph.nodes)


def _write_plan(path: Path, graph: Graph, plan: Plan) -> None:
    write_artifact(path, graph, build(graph, plan))


def _several() -> list[Target]:
    """Engines for the parts of a mix."""
    wanted = [name for name in ("onnxruntime", "openvino", "ncnn", "mnn") if registry.probe(name).usable]
    return [Target(name) for name in wanted or ["reference"]]


def _parts(graph: Graph, targets: Sequence[Target]) -> tuple[Partition, ...]:
    groups = (("c1", "r1"), ("c2", "r2"), ("c3", "r3"), ("a", "c4", "r4"), ("y",))
    pairs = [(target, frozenset(group)) for target, group in zip(cycle(targets), groups, strict=False)]
    return Partitioning.of(graph, pairs).partitions


def _mixed(path: Path, graph: Graph) -> None:
    _write_plan(path, graph, plan_of(graph, _parts(graph, _several()), SETTINGS))


def _branches(path: Path, graph: Graph) -> None:
    settings = replace(SETTINGS, threads=2, parallel=True)
    _write_plan(path, graph, plan_of(graph, _parts(graph, _several()), settings))


def _pipeline(path: Path, graph: Graph) -> None:
    pipeline = Pipeline(stages=(2, 3), threads=(1, 1), depth=3)
    settings = replace(SETTINGS, threads=2, pipeline=pipeline)
    _write_plan(path, graph, plan_of(graph, _parts(graph, _several()), settings))


def _embedded(path: Path, graph: Graph) -> None:
    main = Target("onnxruntime")
    for name in ("onnxruntime", "ncnn"):
        registry.require(name)
    parts = _parts(graph, [main, Target("ncnn"), main, Target("ncnn"), main])
    _write_plan(path, graph, plan_of(graph, parts, replace(SETTINGS, embed=True)))


def _buckets(path: Path, _: Graph) -> None:
    graph, target = open_network(), _several()[0]
    whole = plan_of(graph, [Partition(target=target, nodes=_nodes(graph))], SETTINGS)
    parted = plan_of(graph, [Partition(target=target, nodes=(node,)) for node in _nodes(graph)], SETTINGS)
    ranges = (SizeRange(low=1, high=4), SizeRange(low=5, high=8))
    buckets = [
        Bucket(ranges={"n": range_}, sizes={"n": range_.middle}, plan=plan)
        for range_, plan in zip(ranges, (whole, parted), strict=True)
    ]
    write_buckets(path, graph, [(bucket, build(graph, bucket.plan)) for bucket in buckets])


def _quantised(path: Path, graph: Graph) -> None:
    precision = Precision.of({"y": Scheme.DYNAMIC}, {})
    parts = [Partition(target=_several()[0], nodes=_nodes(graph), precision=precision)]
    _write_plan(path, graph, plan_of(graph, parts, SETTINGS))


_WAYS: dict[str, Callable[[Path, Graph], None]] = {
    "mixed": _mixed,
    "embedded": _embedded,
    "branches": _branches,
    "pipeline": _pipeline,
    "buckets": _buckets,
    "quantised": _quantised,
}


if __name__ == "__main__":
    for written, lack in write_all(Path(sys.argv[1])):
        print(f"{written}: {lack or 'written'}")  # noqa: T201 - a script
