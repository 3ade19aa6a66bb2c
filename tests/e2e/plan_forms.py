"""One small network as an artifact in every form that a plan has, on the engines that are here. Nothing is measured."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from onnx import helper

import intarsia
from intarsia.backends import registry
from intarsia.config import Pipeline, RunSettings, Spin
from intarsia.graph import Graph, load_model
from intarsia.graph.bind import ranges_of
from intarsia.partitioning import Partition
from intarsia.runtime import Bucket, CompiledModel, attach_report, build, plan_of, write_artifact, write_buckets
from intarsia.target import Target
from tests.unit.graph.models import info, model

CHANNELS, SIDE = 16, 40
SHAPE = (1, CHANNELS, SIDE, SIDE)
FEEDS = 4
"""How many different feeds there are."""
LAYERS = {"stem": "x", "left": "stem.r", "right": "stem.r", "end": "sum"}
"""Each convolution with its activation, and what it reads."""


def network(*, is_open: bool = False) -> bytes:
    """A stem, two branches, and their sum through one more layer: large enough that engines use all their threads."""
    rng = np.random.default_rng(0)
    nodes, weights = [], {}
    for layer, source in LAYERS.items():
        if layer == "end":
            nodes.append(helper.make_node("Add", ["left.r", "right.r"], ["sum"], name="sum"))
        kernel = rng.standard_normal((CHANNELS, CHANNELS, 3, 3)).astype(np.float32)
        weights[f"{layer}.w"] = kernel * np.float32(np.sqrt(2 / (9 * CHANNELS)))
        nodes += [
            helper.make_node("Conv", [source, f"{layer}.w"], [f"{layer}.c"], name=f"{layer}.c", pads=[1, 1, 1, 1]),
            helper.make_node("Relu", [f"{layer}.c"], [f"{layer}.r"], name=f"{layer}.r"),
        ]
    shape = (1, CHANNELS, "rows", SIDE) if is_open else SHAPE
    return bytes(model(nodes, [info("x", shape)], [info("end.r", shape)], weights).SerializeToString())


def feeds(number: int, rows: int = SIDE) -> dict[str, np.ndarray]:
    """The feeds of this number."""
    rng = np.random.default_rng(number)
    return {"x": rng.standard_normal((1, CHANNELS, rows, SIDE)).astype(np.float32)}


def engines() -> tuple[str, ...]:
    """The engines that are here and run on the processor."""
    return tuple(name for name in registry.usable() if "cpu" in registry.probe(name).devices)


def load(path: Path) -> CompiledModel:
    """The artifact of a form, loaded; ``away`` names this interpreter, which it may run."""
    return intarsia.load(path, allow=sys.executable)


def write(folder: Path, only: str | None = None) -> dict[str, Path]:
    """The artifacts by form, or ``only`` one of them.

    The form is an engine's name for it alone, or one of ``mix``, ``embedded``, ``branches``, ``pipeline``, ``sizes``,
    ``away``.
    """
    graph = load_model(network())
    found = {}
    for form, parts, settings in _plans():
        if only in (None, form):
            plan = plan_of(graph, [_partition(target, layers, graph) for target, layers in parts], settings)
            found[form] = folder / f"{form}.intarsia"
            write_artifact(found[form], graph, build(graph, plan))
            attach_report(found[form], {"model": form})
    if only in (None, "sizes") and "onnxruntime" in engines():
        found["sizes"] = folder / "sizes.intarsia"
        _write_sizes(found["sizes"])
    return found


_Parts = Sequence[tuple[str, Sequence[str]]]


def _plans() -> Iterator[tuple[str, _Parts, RunSettings]]:
    here, alone = engines(), RunSettings(threads=2, spin=Spin.FREE)
    mixed = RunSettings(threads=2, spin=Spin.NEVER)
    for name in here:
        yield name, [(name, tuple(LAYERS))], alone
    if {"onnxruntime", "openvino", "mnn", "ncnn"} <= set(here):
        four = [("onnxruntime", ["stem"]), ("ncnn", ["left"]), ("openvino", ["right"]), ("mnn", ["end"])]
        yield "mix", four, mixed
        sides = [("onnxruntime", ["stem"]), ("openvino", ["left"]), ("onnxruntime", ["right"]), ("openvino", ["end"])]
        yield "branches", sides, RunSettings(threads=2, spin=Spin.NEVER, parallel=True)
        halves = [("onnxruntime", ["stem", "left", "right"]), ("mnn", ["end"])]
        pipeline = Pipeline(stages=(1, 1), threads=(1, 1), depth=4)
        yield "pipeline", halves, RunSettings(threads=2, spin=Spin.NEVER, pipeline=pipeline)
        if registry.get("onnxruntime").embedding() is not None:
            inside = [("onnxruntime", ["stem"]), ("ncnn", ["left"]), ("onnxruntime", ["right", "end"])]
            yield "embedded", inside, RunSettings(threads=2, spin=Spin.CALL, embed=True)
    if "onnxruntime" in here:
        yield "away", [(f"onnxruntime -python={sys.executable}", tuple(LAYERS))], alone


def _partition(target: str, layers: Sequence[str], graph: Graph) -> Partition:
    own = [f"{layer}.{part}" for layer in layers for part in "cr"] + ["sum"] * ("end" in layers)
    return Partition(target=Target(target), nodes=tuple(node for node in graph.position if node in own))


def _write_sizes(path: Path) -> None:
    graph = load_model(network(is_open=True), {"rows": "8..48"})
    ranges: Mapping[str, int] = {name: each.middle for name, each in ranges_of({"rows": "8..48"}).items()}
    part = Partition(target=Target("onnxruntime"), nodes=tuple(graph.position))
    plan = plan_of(graph, [part], RunSettings(threads=2, spin=Spin.FREE))
    bucket = Bucket(ranges=ranges_of({"rows": "8..48"}), sizes=ranges, plan=plan)
    write_buckets(path, graph, [(bucket, build(graph, plan))])
    attach_report(path, {"model": "sizes"})
