"""Is an exported plan as fast alone as the artifact it came from? A race of the two, each in processes of its own.

``python -m benchmarks.exported [ENGINE]...`` writes ``benchmarks/results/exported.json``.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import competitors
from benchmarks.paired_benchmark import CONTROL, Contender, Effort, race
from intarsia.backends import registry
from intarsia.config import RunSettings, Spin
from intarsia.cost.worker.lock import machine_lock
from intarsia.graph import load_model
from intarsia.partitioning import Partition
from intarsia.runtime import Artifact, CompiledModel, build, export, plan_of, thread_budget, write_artifact
from intarsia.target import Target

ENGINES = ("onnxruntime", "openvino", "mnn", "ncnn", "winograd")
NETWORK = "squeezenet"
RESULTS = Path(__file__).parent / "results" / "exported.json"
ARTIFACT, EXPORTED = "artifact", "exported"
EFFORT = Effort(sets=3, rounds=10, seconds=8.0, more_sets=9, half_width=0.01)
"""Sets are added while the interval of the ratio is wider than what it is to show, 1 % to either side."""


def main() -> None:
    """Measure each engine that is named, or all; rows of others on this machine are kept."""
    head = {"network": NETWORK, "machine": competitors.machine()}
    told = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    rows = told["engines"] if told.items() >= head.items() else {}
    for engine in sys.argv[1:] or ENGINES:
        if not registry.probe(engine).usable:
            print(f"{engine}: not usable here")
            continue
        with tempfile.TemporaryDirectory() as folder, machine_lock():
            rows[engine] = _row(engine, Path(folder))
        speed, control = rows[engine]["speed"], rows[engine]["control"]["median"]
        print(f"{engine}: {speed['median']:.3f} ({speed['low']:.3f} to {speed['high']:.3f}), control {control:.3f}")
    RESULTS.write_text(json.dumps({**head, "engines": rows}, indent=1) + "\n", encoding="utf-8")


def _row(engine: str, folder: Path) -> dict[str, Any]:
    """How many times as fast the exported plan is as the artifact, and the artifact as itself."""
    model = competitors.save_network(NETWORK, folder)
    graph, feeds = load_model(model), competitors.save_feeds(model, folder)
    whole = Partition(target=Target(engine), nodes=tuple(node.id for node in graph.nodes))
    settings = RunSettings(threads=thread_budget(), spin=Spin.CALL)
    path = folder / "m.intarsia"
    write_artifact(path, graph, build(graph, plan_of(graph, [whole], settings)))
    with CompiledModel(Artifact(path)) as compiled:
        export(compiled, folder / "out")
    contenders = (
        Contender(name=ARTIFACT, kind=competitors.PRODUCT, model=path),
        Contender(name=EXPORTED, kind="exported", model=folder / "out"),
    )
    result = race(contenders, feeds, thread_budget(), effort=EFFORT, may_leave=[EXPORTED])
    return {
        "speed": competitors.interval(result.ratio(ARTIFACT, EXPORTED)),
        "control": competitors.interval(result.ratio(ARTIFACT, CONTROL)),
        "is_void": result.is_void,
        "sets": len(result.set_sizes),
        "rounds": result.rounds,
    }


if __name__ == "__main__":
    main()
