"""The runtime `cpp` against Python's, and its cold start against the engines' own C interfaces.

``python -m benchmarks.cpp_runtime MODEL.onnx...`` writes ``benchmarks/results/cpp_runtime.json``. Each round runs all
contenders in fresh processes, one after the other; a control is a contender that runs twice. Ratios are the medians
over rounds of each round's own ratio, so that what slows the machine slows both sides.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import competitors
from intarsia.backends import registry
from intarsia.config import RunSettings, Spin
from intarsia.cost.worker.lock import machine_lock
from intarsia.graph import Graph, load_model
from intarsia.partitioning import Partition
from intarsia.runtime import Artifact, build, plan_of, thread_budget, write_artifact
from intarsia.runtime.artifact.trust import OWN
from intarsia.runtime.cpp.exporting import engine_folders, write_library
from intarsia.runtime.cpp.preparing import prepare
from intarsia.target import Target

RESULTS = Path(__file__).parent / "results" / "cpp_runtime.json"
PROGRAMS = Path(__file__).parent / "cpp_programs"
PYTHON = """
import sys, time, numpy, intarsia
model = intarsia.load(sys.argv[1], trusted=True)
feeds = {each.name: numpy.zeros(each.shape, each.dtype) for each in model.inputs}
model(feeds)
for _ in range(int(sys.argv[2])):
    start = time.perf_counter_ns()
    model(feeds)
    print((time.perf_counter_ns() - start) / 1e6)
"""
"""What `ours.cpp` does, from Python."""
Rounds = list[dict[str, float]]


def main() -> None:
    """Measure every plan of every model that is named."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cpp_runtime", description=__doc__)
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL.onnx")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--runs", type=int, default=50, help="in each process")
    given = parser.parse_args()
    head = {"machine": competitors.machine(), "rounds": given.rounds, "runs": given.runs}
    rows: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name, machine_lock():
        folder = Path(name)
        programs = _built(folder)
        for model in given.models:
            for plan, path in _plans(model, folder):
                rows[f"{model.stem} {plan}"] = row = _row(model, plan, path, programs, given.rounds, given.runs)
                print(f"{model.stem} {plan}: {json.dumps(row)}", flush=True)
                RESULTS.write_text(json.dumps({**head, "plans": rows}, indent=1) + "\n", encoding="utf-8")


def _built(folder: Path) -> Path:
    write_library(folder / "library")
    commands = [
        ["cmake", "-S", PROGRAMS, "-B", folder / "build", f"-DINTARSIA_LIBRARY={folder / 'library'}"],
        ["cmake", "--build", folder / "build", "--parallel", "2"],
    ]
    for command in commands:
        subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL)
    return folder / "build"


def _plans(model: Path, folder: Path) -> Sequence[tuple[str, Path]]:
    """The model on each engine, and in two halves on two of them."""
    graph = load_model(model)
    ids = [node.id for node in graph.nodes]
    cut = len(ids) // 2
    plans: dict[str, list[tuple[str, list[str]]]] = {
        "onnxruntime": [("onnxruntime", ids)],
        "openvino": [("openvino", ids)],
        "mix": [("openvino", ids[:cut]), ("onnxruntime", ids[cut:])],
    }
    if not registry.of(Target("winograd")).capability(graph, Target("winograd")).refusals:
        plans["winograd"] = [("winograd", ids)]
    return [(name, _written(graph, parts, folder / f"{model.stem}-{name}.intarsia")) for name, parts in plans.items()]


def _written(graph: Graph, parts: Sequence[tuple[str, Sequence[str]]], path: Path) -> Path:
    partitions = [Partition(target=Target(target), nodes=tuple(nodes)) for target, nodes in parts]
    settings = RunSettings(threads=thread_budget(), spin=Spin.CALL)
    write_artifact(path, graph, build(graph, plan_of(graph, partitions, settings)))
    prepare(path)
    return path


def _row(model: Path, plan: str, path: Path, programs: Path, rounds: int, runs: int) -> dict[str, Any]:
    folders = engine_folders(Artifact(path, OWN))
    environment = {**os.environ, "INTARSIA_ENGINE_FOLDERS": os.pathsep.join(folders)}
    ours = [str(programs / "ours"), str(path)]
    python = [sys.executable, "-c", PYTHON, str(path)]
    latency = _turns(
        {
            "python": lambda: _latency([*python, str(runs)], environment),
            "cpp": lambda: _latency([*ours, str(runs)], environment),
            "python again": lambda: _latency([*python, str(runs)], environment),
        },
        rounds,
    )
    alone = {
        f"{engine} alone": [str(programs / "alone"), engine, str(_library(engine)), str(model), str(thread_budget())]
        for engine in ("onnxruntime", "openvino")
    }
    cold = _turns(
        {
            "cpp": lambda: _cold([*ours, "0"], environment),
            "cpp again": lambda: _cold([*ours, "0"], environment),
            **{name: partial(_cold, words, environment) for name, words in alone.items()},
        },
        rounds,
    )
    best = min(alone, key=lambda name: median(each[name] for each in cold))
    own = f"{plan} alone" if f"{plan} alone" in alone else best
    return {
        "latency": {"ms": _medians(latency), "cpp / python": _ratio(latency, "cpp", "python"),
                    "control": _ratio(latency, "python again", "python")},
        "cold start": {"ms": _medians(cold), f"cpp / {own}": _ratio(cold, "cpp", own),
                       f"cpp / {best}": _ratio(cold, "cpp", best), "control": _ratio(cold, "cpp again", "cpp")},
    }  # fmt: skip


def _library(engine: str) -> Path:
    folder = registry.get(engine).library_folder()
    assert folder is not None, f"{engine} is not here"
    names = {"onnxruntime": "libonnxruntime.so*", "openvino": "libopenvino_c.so*"}
    return sorted(folder.glob(names[engine]))[0]


def _turns(contenders: Mapping[str, Callable[[], float]], rounds: int) -> Rounds:
    return [{name: measure() for name, measure in contenders.items()} for _ in range(rounds)]


def _latency(command: Sequence[str], environment: Mapping[str, str]) -> float:
    told = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    return median(map(float, told.split()))


def _cold(command: Sequence[str], environment: Mapping[str, str]) -> float:
    start = time.perf_counter_ns()
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    return (time.perf_counter_ns() - start) / 1e6


def _medians(rounds: Rounds) -> dict[str, float]:
    return {name: round(median(each[name] for each in rounds), 3) for name in rounds[0]}


def _ratio(rounds: Rounds, one: str, other: str) -> float:
    return round(median(each[one] / each[other] for each in rounds), 3)


if __name__ == "__main__":
    main()
