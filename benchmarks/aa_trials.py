"""A plan against itself, by the product's own paired benchmark and rule: it must report "no difference" in 95 of 100
trials.

``python -m benchmarks.aa_trials [--trials 100] [--seconds 50]`` runs as many trials as fit and adds them to
``benchmarks/results/aa_trials.json``; calling it again goes on where it stopped. Wants a quiet machine.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import networks
from intarsia.config import RunSettings, Spin
from intarsia.cost.timing.paired_benchmark import BenchmarkEffort, Contender, paired_benchmark
from intarsia.cost.timing.verdict import CONTROL_NAME, Shown, Verdict
from intarsia.cost.worker.lock import machine_lock
from intarsia.graph import Graph, load_model
from intarsia.partitioning import Partition, Partitioning, linear_order
from intarsia.runtime import Plan, build, plan_of, this_machine, thread_budget, write_artifact
from intarsia.target import Target

RESULTS = Path(__file__).parent / "results" / "aa_trials.json"
TRIALS = 100
EFFORT = BenchmarkEffort(seconds=1.6)
"""What a compile with a budget of 20 seconds, the smallest with three sets of processes, gives its final paired
benchmark."""
ENGINES = (("onnxruntime",), ("onnxruntime", "ncnn"))
"""The plans that are tried in turn: a single engine, and a mix of two whose threads wait in different ways."""
FIRST, SECOND = "plan", "the same plan"


def plan(graph: Graph, engines: Sequence[str]) -> Plan:
    """The graph in as many regions of equal length as there are engines."""
    order = linear_order(graph)
    bounds = [len(order) * part // len(engines) for part in range(len(engines) + 1)]
    stretches = [order[start:end] for start, end in pairwise(bounds)]
    parts = [(Target(engine), nodes) for engine, nodes in zip(engines, stretches, strict=True)]
    partitions: tuple[Partition, ...] = Partitioning.of(graph, parts).partitions
    return plan_of(graph, partitions, RunSettings(threads=thread_budget(), spin=Spin.CALL))


def trial(folder: Path, artifact: Path, planned: Plan, seed: int) -> dict[str, Any]:
    """One paired benchmark, and what the rule of the final decision says of it."""
    contenders = [Contender(name=name, path=artifact, plan=planned) for name in (FIRST, SECOND)]
    with machine_lock():
        verdict = paired_benchmark(folder, contenders, EFFORT, seed, keep=SECOND)
    if verdict.failed:
        raise RuntimeError(f"a paired benchmark ended early: {dict(verdict.failed)}")
    ratio, control = verdict.speedup(SECOND, FIRST), verdict.speedup(CONTROL_NAME, FIRST)
    return {
        "engines": list(planned.engines),
        "ratio": [round(ratio.median, 4), round(ratio.low, 4), round(ratio.high, 4)],
        "control": round(control.median, 4),
        "control_interval": [round(control.low, 4), round(control.high, 4)],
        "void": verdict.is_void,
        "sets": list(verdict.set_sizes),
        "rounds": [
            round(a / b, 4) for a, b in zip(*(verdict.rounds_ms[name] for name in (FIRST, SECOND)), strict=True)
        ],
        "ms": round(verdict.expected_ms(FIRST), 4),
        "difference": _difference(verdict),
    }


def _difference(verdict: Verdict) -> str | None:
    """What is said to be faster, if anything is; the plan to beat may lose and may win."""
    pairs = ((SECOND, FIRST), (FIRST, SECOND))
    return next((name for name, other in pairs if verdict.compared(name, other) is Shown.FASTER), None)


def summary(trials: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The figures that matter, of trials and machine."""
    machine = this_machine()
    return {
        "trials": len(trials),
        "no_difference": sum(each["difference"] is None for each in trials),
        "of_them_void": sum(each["void"] for each in trials),
        "machine": {"cpu": machine.cpu, "architecture": machine.architecture, "threads": thread_budget()},
    }


def main() -> None:
    """Run trials until there are enough, or the time is spent."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=TRIALS, help="trials in all, those of earlier calls among them")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="start no further trial after this time")
    arguments = parser.parse_args()
    end = time.monotonic() + arguments.seconds
    trials: list[dict[str, Any]] = json.loads(RESULTS.read_text())["each"] if RESULTS.exists() else []
    graph = load_model(networks.build("tiny"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        artifacts: dict[Path, Plan] = {folder / f"{'-'.join(names)}.intarsia": plan(graph, names) for names in ENGINES}
        for path, planned in artifacts.items():
            write_artifact(path, graph, build(graph, planned))
        while len(trials) < arguments.trials and time.monotonic() < end:
            path, planned = list(artifacts.items())[len(trials) % len(artifacts)]
            trials.append(trial(folder, path, planned, seed=len(trials)))
            print(len(trials), json.dumps(trials[-1]), flush=True)
            RESULTS.write_text(json.dumps({**summary(trials), "each": trials}, indent=1) + "\n")


if __name__ == "__main__":
    main()
