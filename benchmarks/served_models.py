"""Models that benchmarks of serving serve, of about a millisecond: one of fixed sizes, and one of open batches."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper, save

import intarsia
from intarsia.config import RunSettings, Spin
from intarsia.graph import load_model
from intarsia.graph.bind import Shapes
from intarsia.partitioning import Partition
from intarsia.runtime import attach_report, build, plan_of, write_artifact
from intarsia.target import Target

ENGINE = "onnxruntime"
WIDTH, LAYERS, ROWS = 256, 40, 16
"""Of the model of fixed sizes: it takes a millisecond on one thread of a server's processor."""
OPEN_WIDTH, OPEN_LAYERS = 384, 40
"""Of the model of open batches, of which a request is one row."""
MOST_ROWS = 32
_BUDGET_S = 40.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A model as an artifact and as ONNX, with what every request asks."""

    artifact: Path
    onnx: Path
    x: np.ndarray
    batch: int = 1


def fixed_size(folder: Path) -> Served:
    """The model of fixed sizes, as it is by hand."""
    artifact, onnx = folder / "fixed.intarsia", folder / "fixed.onnx"
    write_model(artifact, onnx=onnx)
    return Served(artifact=artifact, onnx=onnx, x=feed())


def open_batches(folder: Path) -> Served:
    """The model of open batches, compiled for requests on one thread: how many a call answers was measured.

    The file has one row, as most exporters write it, and the compile opens that.
    """
    onnx = folder / "open.onnx"
    save(layers(1, OPEN_WIDTH, OPEN_LAYERS), onnx)
    shapes: Shapes = {"x": ("N", OPEN_WIDTH), "N": f"1..{MOST_ROWS}"}
    with intarsia.compile(
        onnx, ENGINE, objective="throughput", shapes=shapes, threads=1, budget=_BUDGET_S, store=folder / "store.sqlite"
    ) as compiled:
        batch = compiled.report["batches"]["batch"]
        return Served(
            artifact=compiled.save(folder / "open.intarsia"), onnx=onnx, x=feed(rows=1, width=OPEN_WIDTH), batch=batch
        )


def feed(rows: int = ROWS, width: int = WIDTH) -> np.ndarray:
    """What every request asks."""
    return np.random.default_rng(1).standard_normal((rows, width)).astype(np.float32)


def write_model(path: Path, count: int = LAYERS, *, onnx: Path | None = None) -> None:
    """Write an artifact of so many layers of fixed sizes, and the model itself, where a file is named."""
    model = layers(ROWS, WIDTH, count)
    if onnx is not None:
        save(model, onnx)
    graph = load_model(model)
    part = Partition(target=Target(ENGINE), nodes=tuple(node.id for node in graph.nodes))
    write_artifact(path, graph, build(graph, plan_of(graph, [part], RunSettings(threads=1, spin=Spin.NEVER))))
    attach_report(path, {})


def layers(rows: int | str, width: int, count: int) -> ModelProto:
    """Products and activations of equal width, one behind the other."""
    rng = np.random.default_rng(0)
    nodes, weights, before = [], [], "x"
    for layer in range(count):
        weight = rng.standard_normal((width, width)).astype(np.float32) / width**0.5
        weights.append(numpy_helper.from_array(weight, f"w{layer}"))
        after = "y" if layer == count - 1 else f"r{layer}"
        nodes += [
            helper.make_node("MatMul", [before, f"w{layer}"], [f"m{layer}"]),
            helper.make_node("Relu", [f"m{layer}"], [after]),
        ]
        before = after
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, (rows, width)) for name in ("x", "y")]
    model = helper.make_model(
        helper.make_graph(nodes, "layers", ends[:1], ends[1:], weights), opset_imports=[helper.make_opsetid("", 21)]
    )
    model.ir_version = 10
    return model
