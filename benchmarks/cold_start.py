"""From the start of a process to its first answer: ``python -m benchmarks.cold_start MODEL.onnx...``.

A model is started by each engine itself, on the ONNX file as it is, and by Intarsia, on artifacts with a plan on each
engine and on one whose first half is on one engine and the rest on the other. Each start is a fresh process with the
same threads; five rounds, in each of which all take turns in an order that changes. The first engine is started twice a
round: the control, which says what the machine does to two equal things. Noted are wall time, from before the process
is made until the first answer is there, processor time, which neighbours disturb less, and the most memory that was
resident. Files are in the page cache.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.install_sizes import render
from intarsia.config import RunSettings, Spin
from intarsia.errors import CompileError
from intarsia.graph import load_model
from intarsia.partitioning import Partition, linear_order
from intarsia.runtime import attach_report, build, plan_of, thread_budget, write_artifact
from intarsia.target import Target

RESULTS = Path(__file__).parent / "results" / "cold_start.json"
PAGE = Path(__file__).parents[1] / "docs" / "ship.md"
START = "<!-- cold starts -->"
ROUNDS = 5
ENGINES = ("onnxruntime", "openvino")
KERNELS = "winograd"
CONTROL = "control"
FIGURES = ("wall_ms", "cpu_ms", "peak_mb")
_WITHOUT_BYTECODE = "PYTHONDONTWRITEBYTECODE"
"""What pip installs has bytecode beside it; a checkout has it from its first import on, unless this forbids it."""
_ANSWERED = """
answered = time.monotonic(), time.process_time()
peak = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(*answered, peak, flush=True)
"""
_DIRECT = {
    "onnxruntime": """
import sys, time
import onnxruntime
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = int(sys.argv[2])
session = onnxruntime.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
import numpy
types = {"tensor(float)": "float32", "tensor(int64)": "int64"}
session.run(None, {value.name: numpy.ones(value.shape, types[value.type]) for value in session.get_inputs()})
""",
    "openvino": """
import sys, time
sys.modules["openvino_telemetry"] = None
import openvino
properties = {"INFERENCE_NUM_THREADS": int(sys.argv[2]), "PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": 1,
              "INFERENCE_PRECISION_HINT": "f32"}
compiled = openvino.Core().compile_model(sys.argv[1], "CPU", properties)
import numpy
compiled([numpy.ones(list(port.shape), port.element_type.to_dtype()) for port in compiled.inputs])
""",
}
_OURS = """
import sys, time
import intarsia
model = intarsia.load(sys.argv[1])
import numpy
model({value.name: numpy.ones(value.shape, value.dtype) for value in model.inputs})
"""


def started(program: str, path: Path, threads: int) -> dict[str, float]:
    """Milliseconds on the clock and of the processor until the first answer of one fresh process, and its memory."""
    before = time.monotonic()
    command = [sys.executable, "-c", program + _ANSWERED, str(path), str(threads)]
    environment = {name: value for name, value in os.environ.items() if name != _WITHOUT_BYTECODE}
    answer = subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout.split()
    wall, cpu, peak = map(float, answer[-3:])
    return {"wall_ms": 1e3 * (wall - before), "cpu_ms": 1e3 * cpu, "peak_mb": peak * 1024 / 1e6}


def artifact(path: Path, model: Path, engines: Sequence[str], threads: int) -> Path:
    """An artifact whose parts, of equally many nodes, are on these engines."""
    graph = load_model(model)
    order = linear_order(graph)
    cuts = [len(order) * place // len(engines) for place in range(len(engines) + 1)]
    bounds = zip(engines, cuts, cuts[1:], strict=False)
    parts = [Partition(target=Target(name), nodes=tuple(order[low:high])) for name, low, high in bounds]
    spin = Spin.CALL if len(engines) > 1 else Spin.FREE
    write_artifact(path, graph, build(graph, plan_of(graph, parts, RunSettings(threads=threads, spin=spin))))
    attach_report(path, {})  # which remembers it as made here
    return path


def measured(model: Path, threads: int) -> dict[str, Any]:
    """All starts of a model, by who starts it."""
    with tempfile.TemporaryDirectory() as folder:
        ways = {name: (_DIRECT[name], model) for name in ENGINES}
        ways[CONTROL] = ways[ENGINES[0]]
        plans = {f"intarsia, {name}": (name,) for name in (*ENGINES, KERNELS)} | {"intarsia, mix": ENGINES[::-1]}
        for number, (name, engines) in enumerate(plans.items()):
            with suppress(CompileError):  # our own kernels have nothing to compute in most networks
                ways[name] = (_OURS, artifact(Path(folder, f"{number}.intarsia"), model, engines, threads))
        for program, path in ways.values():  # the first fills the page cache
            started(program, path, threads)
        found: dict[str, list[dict[str, float]]] = {name: [] for name in ways}
        for turn in range(ROUNDS):
            for name in random.Random(turn).sample(sorted(ways), len(ways)):
                found[name].append(started(*ways[name], threads))
    return found


def ratios(starts: Mapping[str, Sequence[Mapping[str, float]]]) -> dict[str, dict[str, float]]:
    """The median over rounds of each start against the best engine's own in that round, by clock, processor and memory.

    The best engine is the one with the smaller median; the control is held against its own engine.
    """
    found: dict[str, dict[str, float]] = {}
    for figure in FIGURES:
        best = min(ENGINES, key=lambda name: median(each[figure] for each in starts[name]))
        for name, rounds in starts.items():
            own = starts[ENGINES[0] if name == CONTROL else best]
            pairs = zip(rounds, own, strict=True)
            found.setdefault(name, {})[figure] = median(one[figure] / other[figure] for one, other in pairs)
    return found


def table(results: Mapping[str, Any]) -> str:
    """The table of the page: for each model and way the medians, and what they are of the best engine's own."""
    rows = [
        "| model | started by | ms | of the best engine's own | of its processor time | peak memory, MB |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for model, found in sorted(results.items()):
        for way, figures in sorted(found["ratios"].items()):
            wall, _, peak = (median(each[figure] for each in found["starts"][way]) for figure in FIGURES)
            cells = f"{wall:.0f} | {figures['wall_ms']:.2f} | {figures['cpu_ms']:.2f} | {peak:.0f}"
            rows.append(f"| {model} | {way} | {cells} |")
    return "\n".join(rows)


def main() -> None:
    """Measure the models that are named, add them to the results, and draw the page anew."""
    results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    threads = thread_budget()
    for name in sys.argv[1:]:
        model = Path(name)
        load = [os.getloadavg()[0]]
        starts = measured(model, threads)
        load.append(os.getloadavg()[0])
        results[model.stem] = {"threads": threads, "load": load, "ratios": ratios(starts), "starts": starts}
        RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        for way, figures in results[model.stem]["ratios"].items():
            wall, cpu, peak = (median(each[figure] for each in starts[way]) for figure in FIGURES)
            times = ", ".join(f"{figures[figure]:.2f} x" for figure in FIGURES)
            print(f"{model.stem}: {way}: {wall:.0f} ms, {cpu:.0f} ms of processor, {peak:.0f} MB: {times}", flush=True)
    PAGE.write_text(render(PAGE.read_text(encoding="utf-8"), {START: table(results)}), encoding="utf-8")


if __name__ == "__main__":
    main()
