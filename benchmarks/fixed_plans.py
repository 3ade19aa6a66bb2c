"""Two plans that no search found, each against its engine called directly.

``python -m benchmarks.fixed_plans [manual] [overhead]`` writes ``benchmarks/results/fixed_plans.json``. ``manual`` is
ResNet-50 cut by hand into 23 partitions, ``overhead`` a plan of one partition. Wants a quiet machine.
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
import networks
from benchmarks.competitors import (
    PRODUCT,
    figures,
    interval,
    machine,
    onnx_readers,
    save_feeds,
    summary,
)
from benchmarks.paired_benchmark import CONTROL, Contender, Result, race
from intarsia.config import RunSettings, Spin
from intarsia.graph import load_model
from intarsia.partitioning import Partition, Partitioning, PlanFile, dump_plan
from intarsia.runtime import thread_budget
from intarsia.target import Target
from networks.resnet_cut import cut

RESULTS = Path(__file__).parent / "results" / "fixed_plans.json"
NAIVE = "naive"
OVERHEAD_ROUNDS = 60
Work = Callable[[str, Path], dict[str, Any]]


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


WORK: dict[str, Work] = {"manual": manual, "overhead": overhead}


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
