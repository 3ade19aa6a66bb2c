"""Is an exported plan as fast alone as the artifact it came from? Both in fresh processes, round by round in turns.

``python -m benchmarks.exported [ENGINE]...`` writes ``benchmarks/results/exported.json``.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks import networks
from intarsia.backends import registry
from intarsia.config import RunSettings, Spin
from intarsia.cost.lock import machine_lock
from intarsia.cost.statistics import Interval, median_interval
from intarsia.graph import load_model
from intarsia.partition import Partition
from intarsia.runtime import (
    Artifact,
    CompiledModel,
    build,
    export,
    plan_of,
    this_machine,
    thread_budget,
    write_artifact,
)
from intarsia.target import Target

ENGINES = ("onnxruntime", "openvino", "mnn", "ncnn", "winograd")
NETWORK = "squeezenet"
ROUNDS = 30
RUNS = 40
RESULTS = Path(__file__).parent / "results" / "exported.json"
_TIMED = """\
import sys
from intarsia.runtime import load
from intarsia.runtime.exported_run import timed
from intarsia.runtime.feeds import random_feeds
with load(sys.argv[1]) as model:
    print(timed(model, random_feeds(model.inputs, 0), int(sys.argv[2])))
"""


def main() -> None:
    """Measure each engine that is named, or all."""
    rows = {}
    for engine in sys.argv[1:] or ENGINES:
        if not registry.probe(engine).usable:
            print(f"{engine}: not usable here")
            continue
        with tempfile.TemporaryDirectory() as folder, machine_lock():
            rows[engine] = _row(engine, Path(folder))
        speed, control = rows[engine]["speed"], rows[engine]["control"]["median"]
        print(f"{engine}: {speed['median']:.3f} ({speed['low']:.3f} to {speed['high']:.3f}), control {control:.3f}")
    machine = {**asdict(this_machine()), "threads": thread_budget()}
    told = {"network": NETWORK, "rounds": ROUNDS, "runs": RUNS, "machine": machine, "engines": rows}
    RESULTS.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


def _row(engine: str, folder: Path) -> dict[str, Any]:
    """How many times as fast the exported plan is as the artifact, and the artifact as itself."""
    graph = load_model(networks.save(NETWORK, folder))
    whole = Partition(target=Target(engine), nodes=tuple(node.id for node in graph.nodes))
    settings = RunSettings(threads=thread_budget(), spin=Spin.CALL)
    path = folder / "m.intarsia"
    write_artifact(path, graph, build(graph, plan_of(graph, [whole], settings)))
    with CompiledModel(Artifact(path)) as model:
        export(model, folder / "out")
    ours = [sys.executable, "-c", _TIMED, str(path), str(RUNS)]
    alone = [sys.executable, str(folder / "out" / "run.py"), "--runs", str(RUNS)]
    rounds = [(_ms(ours), _ms(alone), _ms(ours)) for _ in range(ROUNDS)]
    speed = median_interval([first / other for first, other, _ in rounds])
    control = median_interval([first / again for first, _, again in rounds])
    return {"speed": _json(speed), "control": _json(control), "is_void": abs(control.median - 1) > 0.02}


def _ms(command: list[str]) -> float:
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout.splitlines()[-1].split()[0])


def _json(interval: Interval) -> dict[str, float]:
    return {name: round(value, 4) for name, value in asdict(interval).items()}


if __name__ == "__main__":
    main()
