"""Why a mix wins or not: each segment of a network on each engine, and what the best of them add up to.

``python -m benchmarks.segment_times NETWORK …`` measures with the product's own workers and writes
``benchmarks/results/segment_times.json``. The sum of the best segments bounds what any mix of these partitions could
reach if transitions were free and nothing were gained by larger partitions; beside it, the best engine alone.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import networks
from intarsia.backends import registry
from intarsia.config import RunSettings, Spin
from intarsia.cost.measure import Measurer
from intarsia.cost.records.record import Measurement
from intarsia.cost.records.store import Store
from intarsia.cost.timing.sampling import Effort
from intarsia.cost.worker.progress import unwatched
from intarsia.cost.worker.repro import Origin
from intarsia.cost.worker.workspace import Workspace
from intarsia.graph import load_model, save_graph
from intarsia.partitioning import Partition, boundaries
from intarsia.planning.request import segments_of
from intarsia.runtime import thread_budget
from intarsia.target import Target

RESULTS = Path(__file__).parent / "results" / "segment_times.json"
ENGINES = ("onnxruntime", "openvino", "mnn", "ncnn")
EFFORT = Effort(seconds=0.5, min_runs=15, max_runs=100)


def parts(name: str, folder: Path) -> dict[str, Any]:
    """Every segment, and the whole, on every engine that takes it; medians in milliseconds."""
    graph = load_model(networks.save(name, folder))
    segments = segments_of(graph)
    store = Store(folder / "records.sqlite")
    work = Workspace(store)
    save_graph(graph, work.folder)
    work.compute_reference(
        graph, {value for segment in segments for value in boundaries(graph, segment).outputs}, seed=0
    )
    whole = tuple(node.id for node in graph.nodes)
    settings = RunSettings(threads=thread_budget(), spin=Spin.CALL)
    taken = {engine: registry.get(engine).capability(graph, Target(engine)) for engine in ENGINES}
    with Measurer(graph, work.folder, store, ENGINES, Origin(model=None), unwatched) as measurer:

        def row(nodes: tuple[str, ...]) -> dict[str, float]:
            found = {}
            for engine in ENGINES:
                if all(map(taken[engine].takes, nodes)):
                    outcome = measurer.cost(Partition(target=Target(engine), nodes=nodes), settings, effort=EFFORT)
                    if isinstance(outcome, Measurement):
                        found[engine] = round(outcome.cost_ms, 4)
            return found

        costs = [row(segment) for segment in segments]
        alone = row(whole)
    work.remove()
    return {
        "segments": [
            {"operators": _operators([graph.node(id_).op_type for id_ in segment]), "ms": ms}
            for segment, ms in zip(segments, costs, strict=True)
        ],
        "whole_ms": alone,
        "sum_of_best_ms": round(sum(min(ms.values()) for ms in costs), 3),
    }


def _operators(types: list[str]) -> str:
    return " ".join(f"{types.count(kind)}x{kind}" for kind in dict.fromkeys(types))


def main() -> None:
    """Measure what is named."""
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as folder:
            results[name] = parts(name, Path(folder))
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
        print(name, results[name]["whole_ms"], "sum of best", results[name]["sum_of_best_ms"], flush=True)


if __name__ == "__main__":
    main()
