"""The figures of the README: every network against every engine called directly, from outside, at equal threads.

``python -m benchmarks.road [NETWORK …]`` compiles each network with a cold store, races the artifact against the
engines, and writes ``benchmarks/results/road.json``; ``manual`` races ResNet-50 cut by hand in 23, ``overhead``
races a plan of one partition against the direct call of its engine. Wants a quiet machine; takes half an hour.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import intarsia
from benchmarks import networks
from benchmarks.field import (
    DEFAULT,
    PRODUCT,
    exported,
    figures,
    interval,
    look,
    machine,
    onnx_readers,
    save_feeds,
    summary,
)
from benchmarks.networks.resnet_cut import cut
from benchmarks.race import CONTROL, Contender, Result, race
from intarsia.config import RunSettings, Spin
from intarsia.graph import load_model
from intarsia.partitioning import Partition, Partitioning, PlanFile, dump_plan
from intarsia.runtime import thread_budget
from intarsia.target import Target

RESULTS = Path(__file__).parent / "results" / "road.json"
BUDGET_S = 25.0
NAIVE = "naive"
OVERHEAD_ROUNDS = 60
Work = Callable[[str, Path], dict[str, Any]]


def network(name: str, folder: Path) -> dict[str, Any]:
    """Compile one network and race it."""
    model = networks.save(name, folder)
    feeds = save_feeds(model, folder)
    with intarsia.compile(model, budget=BUDGET_S, store=folder / f"{name}.sqlite") as compiled:
        report = compiled.report
        artifact = compiled.save(folder / f"{name}.intarsia")
    field = look([*onnx_readers(model), *exported(artifact, report, folder)], feeds, folder)
    product = Contender(name=PRODUCT, kind="intarsia", model=artifact)
    result = race([product, *field.racing()], feeds, thread_budget())
    winner = min((single.name for single in field.racing() if single.name != DEFAULT), key=result.median_ms)
    return {
        **figures(result),
        "first_look_ms": field.looks_ms,
        "best_single": winner,
        "time_over_best_single": interval(result.ratio(PRODUCT, winner)),
        "time_over_onnxruntime_default": interval(result.ratio(PRODUCT, DEFAULT)),
        "compile": summary(report),
    }


def manual(name: str, folder: Path) -> dict[str, Any]:
    """ResNet-50 cut by hand into 23 partitions, its stride-1 3x3 convolutions on ncnn.

    Once run as Intarsia runs it, and once naively: partition after partition, and idle threads spin as engines have
    them spin.
    """
    model = networks.save("resnet50", folder)
    feeds = save_feeds(model, folder)
    store = folder / "manual.sqlite"
    graph = load_model(model)
    parts = Partitioning(
        partitions=tuple(Partition(target=Target(target), nodes=tuple(nodes)) for target, nodes in cut(graph))
    )
    plan = PlanFile(partitions=parts.partitions, threads=thread_budget())
    with intarsia.compile(model, "onnxruntime", partition="manual", plan=plan, store=store) as compiled:
        report = compiled.report
        partitions = compiled.save(folder / "manual.intarsia")
    plainly = replace(plan, spin=Spin.FREE, embed=False)
    with intarsia.compile(model, "onnxruntime", partition="manual", plan=plainly, store=store) as compiled:
        naive = compiled.save(folder / "naive.intarsia")
    tuned = [single for single in onnx_readers(model) if single.kind.startswith("onnxruntime")]
    cuts = [
        Contender(name=name, kind="intarsia", model=path)
        for name, path in (("23 partitions", partitions), (NAIVE, naive))
    ]
    result = race([*cuts, *tuned], feeds, thread_budget())
    winner = min((single.name for single in tuned), key=result.median_ms)
    return {
        **figures(result),
        "best_onnxruntime": winner,
        "time_over_onnxruntime": interval(result.ratio("23 partitions", winner)),
        "naive_time_over_onnxruntime": interval(result.ratio(NAIVE, winner)),
        "predicted_over_measured": report["predicted_ms"] / report["latency_ms"]["median"],
        "compile": summary(report),
    }


def overhead(name: str, folder: Path) -> dict[str, Any]:
    """A network of about a millisecond: one partition on ONNX Runtime against a session, in one process.

    Both with the same settings and called as a user calls them, arrays in, arrays out; a second session is the control.
    """
    model = networks.save("tiny", folder)
    feeds = networks.feeds(model, seed=1)
    graph = load_model(model)
    whole = Partition(target=Target("onnxruntime"), nodes=tuple(node.id for node in graph.nodes))
    settings = RunSettings(threads=thread_budget(), spin=Spin.CALL)
    plan = folder / "plan.yaml"
    plan.write_text(dump_plan(Partitioning(partitions=(whole,)), settings), encoding="utf-8")
    store = folder / "tiny.sqlite"
    with intarsia.compile(model, "onnxruntime", partition="manual", plan=plan, store=store, budget=10) as compiled:
        calls: dict[str, Callable[[], Any]] = {PRODUCT: lambda: compiled(feeds)}
        calls |= {key: _session(model, feeds) for key in ("session", CONTROL)}
        rounds: dict[str, list[float]] = {key: [] for key in calls}
        for _ in range(OVERHEAD_ROUNDS):
            for key, call in calls.items():
                rounds[key].append(_median_ms(call))
        report = compiled.report
    result = Result(rounds_ms={key: tuple(times) for key, times in rounds.items()}, set_sizes=(OVERHEAD_ROUNDS,))
    return {
        "median_ms": {key: round(result.median_ms(key), 4) for key in rounds},
        "time_over_session": interval(result.ratio(PRODUCT, "session")),
        "control": interval(result.ratio(CONTROL, "session")),
        "rounds": OVERHEAD_ROUNDS,
        "compile": summary(report),
    }


def _session(model: Path, feeds: dict[str, np.ndarray]) -> Callable[[], Any]:
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = thread_budget()
    options.add_session_config_entry("session.force_spinning_stop", "1")
    session = ort.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, feeds)


def _median_ms(call: Callable[[], Any], warm: int = 5, runs: int = 20) -> float:
    spent = []
    for _ in range(warm + runs):
        start = time.perf_counter_ns()
        call()
        spent.append((time.perf_counter_ns() - start) / 1e6)
    return statistics.median(spent[warm:])


WORK: dict[str, Work] = {**dict.fromkeys(networks.NAMES, network), "manual": manual, "overhead": overhead}


def main() -> None:
    """Run what is named, or all; each result is written as soon as it is there."""
    RESULTS.parent.mkdir(exist_ok=True)
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() and sys.argv[1:] else {}
    results["machine"] = machine()
    for name in sys.argv[1:] or list(WORK):
        with tempfile.TemporaryDirectory() as folder:
            results[name] = WORK[name](name, Path(folder))
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
        print(name, json.dumps(results[name])[:400], flush=True)


if __name__ == "__main__":
    main()
