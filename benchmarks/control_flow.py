"""A loop whose body has a plan of its own, against the engines that run the loop as it is.

``python -m benchmarks.control_flow [--quick]`` writes ``benchmarks/results/control_flow.json``. The network refines a
picture in rounds: convolutions with a gate, fed back. It is compiled for the executor ``vm``, and raced in fresh
processes against each single engine, tuned alike, and against itself. Wants a quiet machine; ten minutes. ``--quick``
takes few rounds and little searching, to see that it works.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import intarsia
from benchmarks.competitors import PRODUCT, figures, interval, machine, onnx_readers, save_feeds, summary, versions
from benchmarks.paired_benchmark import Contender, Effort, race
from intarsia.runtime import thread_budget

RESULTS = Path(__file__).parent / "results" / "control_flow.json"
CHANNELS, SIZE, ROUNDS = 64, 56, 6
MACHINE = {"targets": ["winograd", "onnxruntime", "openvino", "mnn", "ncnn"], "executor": "vm"}


def refining(channels: int = CHANNELS, size: int = SIZE, rounds: int = ROUNDS) -> onnx.ModelProto:
    """Two convolutions, a loop of three gated ones over its own state, and one behind it; He-scaled seeded weights."""
    rng = np.random.default_rng(0)
    weights = [numpy_helper.from_array(np.array(rounds), "rounds"), numpy_helper.from_array(np.array(True), "on")]
    for name, reads in (("w0", 3), ("w1", channels), ("w2", channels), ("w3", channels), ("w4", channels)):
        scale = np.sqrt(2 / (9 * reads))
        content = (rng.standard_normal((channels, reads, 3, 3)) * scale).astype(np.float32)
        weights.append(numpy_helper.from_array(content, name))

    def convolution(reads: str, weight: str, name: str) -> onnx.NodeProto:
        return helper.make_node("Conv", [reads, weight], [name], name, pads=[1, 1, 1, 1])

    def info(name: str, depth: int = channels) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, depth, size, size])

    def plain(op: str, reads: list[str], name: str) -> onnx.NodeProto:
        return helper.make_node(op, reads, [name], name)

    body = helper.make_graph(
        [
            plain("Identity", ["going"], "goes_on"),
            convolution("state", "w1", "gate_part"),
            plain("Add", ["gate_part", "context"], "gate_sum"),
            plain("Sigmoid", ["gate_sum"], "gate"),
            convolution("state", "w2", "hidden_part"),
            plain("Relu", ["hidden_part"], "hidden"),
            convolution("hidden", "w3", "change_part"),
            plain("Tanh", ["change_part"], "change"),
            plain("Sub", ["change", "state"], "difference"),
            plain("Mul", ["gate", "difference"], "step"),
            plain("Add", ["state", "step"], "next_state"),
        ],
        "refine",
        [
            helper.make_tensor_value_info("round", TensorProto.INT64, []),
            helper.make_tensor_value_info("going", TensorProto.BOOL, []),
            info("state"),
        ],
        [helper.make_tensor_value_info("goes_on", TensorProto.BOOL, []), info("next_state")],
    )
    nodes = [
        convolution("picture", "w0", "encoded"),
        plain("Relu", ["encoded"], "context"),
        plain("Tanh", ["context"], "start"),
        helper.make_node("Loop", ["rounds", "on", "start"], ["refined"], "refinement", body=body),
        convolution("refined", "w4", "decoded"),
        plain("Relu", ["decoded"], "result"),
    ]
    graph = helper.make_graph(nodes, "refining", [info("picture", 3)], [info("result")], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def measured(folder: Path, *, quick: bool) -> dict[str, Any]:
    """What was compiled, and how fast it is beside the engines that run the loop by themselves."""
    model = folder / "refining.onnx"
    onnx.save(refining(16, 28, 4) if quick else refining(), model)
    store = folder / "records.sqlite"
    with intarsia.compile(model, MACHINE, budget=60 if quick else 300, store=store) as compiled:
        report = compiled.report
        artifact = compiled.save(folder / "refining.intarsia")
    contenders = [Contender(name=PRODUCT, kind="intarsia", model=artifact), *onnx_readers(model)]
    effort = Effort(sets=1, rounds=5, more_sets=0) if quick else Effort()
    result = race(contenders, save_feeds(model, folder), thread_budget(), effort=effort)
    best = result.fastest([each.name for each in contenders[1:]])
    assert best is not None, "some engine runs the loop as it is"
    return {
        "quick": quick,
        **figures(result),
        "best_single": best,
        "speed_over_best_single": interval(result.ratio(best, PRODUCT)),
        "control": interval(result.ratio("control", PRODUCT)),
        "void": result.is_void,
        "partitions": [{"target": part["target"], "nodes": len(part["nodes"])} for part in report["partitions"]],
        "bodies": report["bodies"],
        "compile": summary(report),
    }


def main() -> None:
    """Measure, write the file, and say what came of it in a line."""
    quick = "--quick" in sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        found = measured(Path(folder), quick=quick)
    results = {"machine": machine(), "engines": versions(), "refining": found}
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print(json.dumps({name: found[name] for name in ("best_single", "speed_over_best_single", "control", "void")}))


if __name__ == "__main__":
    main()
