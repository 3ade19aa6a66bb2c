"""Requests a second of what ships for throughput, against each engine alone in its own best instances and threads.

``python -m benchmarks.throughput [NETWORK …] [--missing]`` adds each network to ``benchmarks/results/throughput.json``,
so that it can be stopped and continued. A network is compiled with every engine, and with each engine alone, for the
most requests a second; the artifacts are loaded as often as they say, as ``intarsia serve`` does. Beside them runs
OpenVINO's own hint for throughput with its queue of requests. All take turns in fresh processes; the product runs
twice, as the control. Some networks need the ``bench`` extra. Wants a quiet machine; about six minutes a network.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import intarsia
from benchmarks import competitors, results_file
from benchmarks.paired_benchmark import CONTROL, Contender, Effort, Result, race
from intarsia.cost.worker.lock import machine_lock
from intarsia.errors import IntarsiaError
from intarsia.runtime import thread_budget

RESULTS = Path(__file__).parent / "results" / "throughput.json"
NETWORKS = ("mobilenet_v2", "resnet18", "distilbert", "squeezenet")
ENGINES = ("onnxruntime", "openvino", "mnn", "ncnn")
QUEUE = "openvino-queue"
SERVED = "intarsia-served"
EFFORT = Effort(sets=3, rounds=10, seconds=10.0, more_sets=3, half_width=0.03)
Json = dict[str, Any]


def measure(name: str, folder: Path, budget_s: float, effort: Effort) -> Json:
    """Compile one network for requests, with all engines and with each, and race what ships.

    Raises:
        IntarsiaError: The network cannot be compiled.
        RuntimeError: A contender died.
        ImportError: The network needs the ``bench`` extra.
    """
    model = competitors.save_network(name, folder)
    feeds, store = competitors.save_feeds(model, folder), folder / "records.sqlite"
    ways: Json = {}
    contenders = []
    for target in (None, *ENGINES):
        own = competitors.PRODUCT if target is None else target
        artifact = folder / f"{own}.intarsia"
        try:
            with intarsia.compile(model, target, objective="throughput", budget=budget_s, store=store) as compiled:
                compiled.save(artifact)
                report = compiled.report
        except IntarsiaError:
            if target is None:
                raise
            continue  # this engine does not take the network
        ways[own] = {"chosen": report["chosen"], "instances": report["instances"], "threads": report["threads"]}
        contenders.append(Contender(name=own, kind=SERVED, model=artifact))
    contenders.append(Contender(name=QUEUE, kind=QUEUE, model=model))
    threads = thread_budget()
    with machine_lock():
        judge = Contender(name=competitors.DEFAULT, kind=competitors.DEFAULT, model=model)
        seen = competitors.look([*contenders, judge], feeds, folder, threads)
        racing = [each for each in contenders if each.name in seen.looks_ms]
        if not racing or racing[0].name != competitors.PRODUCT:
            raise RuntimeError(f"what ships does not answer as the others: {seen.wrong}")
        others = [each.name for each in racing[1:]]
        result = race(racing, feeds, threads, effort=effort, may_leave=others)
    return {"threads": threads, "ways": ways, "wrong": dict(seen.wrong), **figures(result)}


def figures(result: Result) -> Json:
    """Requests a second of each, and how many times as many what ships answers, with the 95 % interval."""
    product = competitors.PRODUCT
    names = [name for name in result.rounds_ms if name not in (product, CONTROL)]
    return {
        "requests_per_second": {name: round(1e3 / result.median_ms(name), 2) for name in (product, *names)},
        "times_as_many": {name: competitors.interval(result.ratio(name, product)) for name in names},
        "control_interval": competitors.interval(result.ratio(product, CONTROL)),
        "rounds": result.rounds,
        "void": result.is_void,
    }


def told(found: Mapping[str, Any]) -> str:
    """One line on a network."""
    rates = ", ".join(f"{name} {rate:.1f}" for name, rate in found["requests_per_second"].items())
    return f"requests/s: {rates}{' (void)' if found['void'] else ''}"


def main() -> None:
    """Measure what is named, or all."""
    parser = results_file.arguments("throughput", (__doc__ or "").splitlines()[0], RESULTS)
    parser.add_argument("--budget", type=float, default=60.0, metavar="SECONDS", help="of each compile")
    parser.add_argument("--sets", type=int, default=EFFORT.sets, help="of fresh processes")
    parser.add_argument("--seconds", type=float, default=EFFORT.seconds, help="of each set")
    given = parser.parse_args()
    given.networks = given.networks or list(NETWORKS)
    effort = Effort(
        sets=given.sets,
        rounds=EFFORT.rounds,
        seconds=given.seconds,
        more_sets=EFFORT.more_sets if given.sets == EFFORT.sets else 0,
        half_width=EFFORT.half_width,
    )
    results_file.run(
        given.results,
        results_file.named(parser, given),
        lambda name, folder: measure(name, folder, given.budget, effort),
        told,
    )


if __name__ == "__main__":
    main()
