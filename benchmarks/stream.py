"""Streams: requests a second of one after another, of lanes and of stages, for each engine on whole networks.

``python -m benchmarks.stream [NETWORK …]`` runs rounds in which all ways take turns, and writes
``benchmarks/results/stream.json``; ratios are medians of per-round ratios with their 95 % interval. All have the same
threads: one request on all of them, or several requests with a share each. Wants a quiet machine; a minute a network.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from itertools import accumulate, pairwise, repeat
from pathlib import Path
from typing import Any

import numpy as np

import networks
from intarsia.backends import registry
from intarsia.config import RunSettings, Spin
from intarsia.cost.timing.statistics import median_interval, paired_ratios
from intarsia.graph import Graph, load_model
from intarsia.partitioning import Partition
from intarsia.planning.request import segments_of
from intarsia.runtime import Executor, Plan, build, load_build, plan_of, this_machine, thread_budget, weights_of
from intarsia.runtime.executors.pipeline import PipelineExecutor, load_streams
from intarsia.search.streams import balanced, pipelines
from intarsia.target import Target

RESULTS = Path(__file__).parent / "results" / "stream.json"
NETWORKS = ("squeezenet", "resnet50", "text_recogniser")
ENGINES = ("onnxruntime", "openvino", "mnn", "ncnn")
SERIAL = "serial"
ROUNDS = 9
ROUND_S = 0.25
"""Least time of one way in one round."""
Feeds = Mapping[str, np.ndarray]


def network(name: str, folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every engine that takes the network, with its figures."""
    path = networks.save(name, folder)
    graph, feeds = load_model(path), networks.feeds(path, seed=1)
    for engine in ENGINES:
        if not registry.get(engine).capability(graph, Target(engine)).refusals:
            yield engine, _engine(graph, feeds, Target(engine))


def _engine(graph: Graph, feeds: Feeds, target: Target) -> dict[str, Any]:
    with ExitStack() as stack:
        ways = {}
        for name, plan in _plans(graph, feeds, target).items():
            ways[name] = _loaded(graph, plan)
            stack.callback(ways[name].close)
        expected = next(ways[SERIAL].stream([feeds]))
        for name, way in ways.items():
            with way.stream(repeat(feeds)) as stream:
                for output, value in next(stream).items():
                    assert np.abs(value - expected[output]).max() <= 1e-3 * np.abs(expected[output]).max(), name
        rounds: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(ROUNDS):
            for name, way in ways.items():
                rounds[name].append(_rate(way, feeds))
    return {
        "requests_per_second": {name: round(median_interval(rates).median, 2) for name, rates in rounds.items()},
        "over_serial": {
            name: [round(getattr(interval, side), 3) for side in ("median", "low", "high")]
            for name, rates in rounds.items()
            if name != SERIAL
            for interval in [median_interval(paired_ratios(rates, rounds[SERIAL]))]
        },
    }


def _plans(graph: Graph, feeds: Feeds, target: Target) -> dict[str, Plan]:
    threads = thread_budget()
    settings = RunSettings(threads=threads, spin=Spin.CALL)
    whole = plan_of(graph, [Partition(target=target, nodes=tuple(node.id for node in graph.nodes))], settings)
    found = {SERIAL: whole}
    for pipeline in pipelines([1.0], threads):
        found[f"{pipeline.lanes} lanes"] = replace(whole, settings=replace(settings, pipeline=pipeline))
    segments = segments_of(graph)
    costs = _step_ms(
        graph, feeds, plan_of(graph, [Partition(target=target, nodes=segment) for segment in segments], settings)
    )
    for count in dict.fromkeys((threads, 2)):
        spans = pairwise(accumulate(balanced(costs, count), initial=0))
        parts = [Partition(target=target, nodes=sum(segments[start:end], ())) for start, end in spans]
        staged = next(way for way in pipelines([1.0] * count, threads) if len(way.stages) == count)
        found[f"{count} stages"] = plan_of(graph, parts, replace(settings, pipeline=staged))
    return found


def _step_ms(graph: Graph, feeds: Feeds, plan: Plan, runs: int = 5) -> list[float]:
    """Milliseconds of each step on one thread, one after another."""
    alone = replace(plan, settings=replace(plan.settings, threads=1))
    executor = load_build(graph, build(graph, alone))
    executor.run(feeds)
    spent = np.median([executor.timed_call() for _ in range(runs)], axis=0)
    executor.close()
    return [float(ns) / 1e6 for ns in spent]


def _loaded(graph: Graph, plan: Plan) -> PipelineExecutor | Executor:
    built = build(graph, plan)
    return load_streams(plan, built.artifacts, weights_of(graph, built))


def _rate(way: PipelineExecutor | Executor, feeds: Feeds, warm: int = 4) -> float:
    with way.stream(repeat(feeds)) as stream:
        for _ in range(warm):
            next(stream)
        start = time.perf_counter()
        count = 0
        while time.perf_counter() < start + ROUND_S or count < warm:
            next(stream)
            count += 1
        return count / (time.perf_counter() - start)


def main() -> None:
    """Measure what is named, or all; each result is written as soon as it is there."""
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() and sys.argv[1:] else {}
    machine = this_machine()
    results["machine"] = {"cpu": machine.cpu, "architecture": machine.architecture, "threads": thread_budget()}
    for name in sys.argv[1:] or NETWORKS:
        results[name] = {}
        with tempfile.TemporaryDirectory() as folder:
            for engine, figures in network(name, Path(folder)):
                results[name][engine] = figures
                RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
                print(name, engine, json.dumps(figures), flush=True)


if __name__ == "__main__":
    main()
