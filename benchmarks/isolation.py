"""What another interpreter costs: the same network on the same engine here and in a process of its own, in turns.

``python -m benchmarks.isolation [ENGINE …]`` writes ``benchmarks/results/isolation.json``: the microseconds that a call
takes longer there, back to back and behind a pause in which both processes fall asleep. The interpreter is this one, so
that nothing but the way there differs. Wants a quiet machine; ten seconds an engine.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

import numpy as np

import networks
from intarsia.config import RunSettings
from intarsia.cost.timing.statistics import median_interval
from intarsia.graph import Graph, load_model
from intarsia.partitioning import Partition
from intarsia.runtime import Executor, build, load_build, plan_of, this_machine, thread_budget
from intarsia.target import Target
from networks.unlike import TINY

RESULTS = Path(__file__).parent / "results" / "isolation.json"
ENGINES = ("onnxruntime", "openvino", "mnn", "ncnn")
PAUSES_S = {"back_to_back": 0.0, "behind_a_pause": 0.01}
ROUNDS = 200


def extra_us(graph: Graph, feeds: Mapping[str, np.ndarray], engine: str) -> dict[str, list[float]]:
    """By pause, the median of how much longer each call took there than the one before it here, and its interval."""
    targets = (engine, f"{engine} -python={sys.executable}")
    with closing(_loaded(graph, targets[0])) as here, closing(_loaded(graph, targets[1])) as there:
        expected = here.run(feeds)
        for name, value in there.run(feeds).items():
            np.testing.assert_allclose(value, expected[name], rtol=1e-4, atol=1e-5)
        found = {}
        for name, pause_s in PAUSES_S.items():
            interval = median_interval([-_call_us(here, pause_s) + _call_us(there, pause_s) for _ in range(ROUNDS)])
            found[name] = [round(each, 1) for each in (interval.median, interval.low, interval.high)]
    return found


def _loaded(graph: Graph, target: str) -> Executor:
    whole = Partition(target=Target(target), nodes=tuple(node.id for node in graph.nodes))
    return load_build(graph, build(graph, plan_of(graph, [whole], RunSettings(threads=thread_budget()))))


def _call_us(executor: Executor, pause_s: float) -> float:
    time.sleep(pause_s)
    start = time.perf_counter_ns()
    executor.call()
    return (time.perf_counter_ns() - start) / 1e3


def main() -> None:
    """Measure the engines that are named, or the usual ones."""
    with tempfile.TemporaryDirectory() as folder:
        path = networks.save(TINY, Path(folder))
        graph, feeds = load_model(path), networks.feeds(path, seed=1)
        engines = {engine: extra_us(graph, feeds, engine) for engine in sys.argv[1:] or ENGINES}
    for engine, figures in engines.items():
        for name, (median, low, high) in figures.items():
            print(f"{engine:12} {name:14} {median:.0f} µs ({low:.0f} to {high:.0f})")
    content = {"machine": asdict(this_machine()), "extra_us": engines}
    RESULTS.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
