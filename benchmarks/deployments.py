"""One model over two machines: what ships over a fast link and over a slow one, and how fast it is.

``python -m benchmarks.deployments [NETWORK …] [--budget 120]`` starts two workers, each bound to one core of
this machine and with one kind of engine, behind links of 1 Gbit/s and of 10 Mbit/s with 1 ms delay each way, and
writes ``benchmarks/results/deployments.json``. Wants a quiet machine with two cores, and a C compiler for the link.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import intarsia
import networks
from benchmarks import results_file
from benchmarks.shaped_link import Shape, ShapedLink, built
from intarsia.addresses import Address
from intarsia.config.search_settings import Objective
from intarsia.runtime import this_machine
from networks import unlike
from tests.remote_workers import RunningWorker

RESULTS = Path(__file__).parent / "results" / "deployments.json"
ENGINES = {"a": "onnxruntime", "b": "openvino"}
DELAY_S = 1e-3
LINKS = {
    "1 Gbit/s": Shape(bits_per_s=1e9, delay_s=DELAY_S),
    "10 Mbit/s": Shape(bits_per_s=1e7, delay_s=DELAY_S),
}
NETWORKS = ("resnet50", unlike.LINE_READER)
"""One that both engines run alike, and one whose halves suit one each."""
OBJECTIVES: tuple[Objective, ...] = ("latency", "throughput")
Json = dict[str, Any]


@contextmanager
def workers(folder: Path) -> Iterator[Mapping[str, RunningWorker]]:
    """Two workers, each bound to a core of its own."""
    cores = sorted(os.sched_getaffinity(0))
    made: dict[str, RunningWorker] = {}
    try:
        for name, core in zip(ENGINES, cores, strict=False):
            made[name] = RunningWorker(folder / name, command=("taskset", "-c", str(core)))
        yield made
    finally:
        for each in made.values():
            each.end()


def one(
    program: Path, model: Path, there: Mapping[str, RunningWorker], shape: Shape, objective: Objective, budget_s: float
) -> Json:
    """What ships with one link and one objective."""
    with ExitStack() as stack:
        machines = {}
        for name, worker in there.items():
            link = stack.enter_context(ShapedLink(program, Address.parse(worker.address).port, shape))
            runtime = f"rpc -address={link.address} -token-file={worker.token_file} -timeout=60"
            machines[name] = {"targets": [ENGINES[name]], "runtime": runtime}
        with intarsia.compile_deployment(
            model, {"machines": machines}, budget=budget_s, objective=objective
        ) as compiled:
            report = compiled.report
            names = ("chosen", "best_alone", "reason", "plans", "control", "machines", "stages", "predicted", "seconds")
            return {name: report[name] for name in names}


def main(arguments: list[str] | None = None) -> None:
    """Run all, and write each as soon as it is there."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.deployments", description=__doc__)
    parser.add_argument("networks", nargs="*", default=list(NETWORKS), metavar="NETWORK")
    parser.add_argument("--budget", type=float, default=120.0, help="seconds of each compile")
    parser.add_argument("--results", type=Path, default=RESULTS)
    given = parser.parse_args(arguments)
    found: Json = {"machine": this_machine().cpu, "budget_s": given.budget, "networks": {}}
    for name in given.networks:
        with tempfile.TemporaryDirectory() as folder, workers(Path(folder)) as there:
            program = built(Path(folder))
            model = networks.save(name, Path(folder))
            for link, shape in LINKS.items():
                for objective in OBJECTIVES:
                    result = one(program, model, there, shape, objective, given.budget)
                    found["networks"].setdefault(name, {}).setdefault(link, {})[objective] = result
                    results_file.store(given.results, found)
                    print(f"{name}, {link}, {objective}: {result['reason']}", flush=True)


if __name__ == "__main__":
    main()
