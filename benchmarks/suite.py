"""The benchmark suite: what the product finds in a minute on each network, against every engine called directly.

``python -m benchmarks.suite [NETWORK …] [--missing] [--budget SECONDS]`` compiles each network with a cold store, races
the artifact against the engines, and adds the figures to ``benchmarks/results/suite.json``, so that it can be stopped
and gone on with. `benchmarks.goals` judges the figures. Wants a quiet machine; takes two to three minutes a network.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import intarsia
from benchmarks import competitors, goals, results_file
from benchmarks.paired_benchmark import Contender, Effort, Result, footprints, race
from intarsia.report.reasons import ranked, was_benchmarked
from intarsia.runtime import thread_budget

RESULTS = Path(__file__).parent / "results" / "suite.json"
BUDGET_S = 60.0
MAX_MEMORY = "2GB"
"""Stated, so that speed alone decides; without it, the machine's memory and that of the best engine bound a mix's."""
MOST_SETS = 24
EFFORT = Effort(
    sets=3, rounds=10, seconds=10.0, more_sets=MOST_SETS - 3, half_width=goals.WORST_HALF_WIDTH, least=goals.WORST
)
"""Three sets of some 10 s; more where the control is out, or whether the gate is reached in doubt."""
Json = dict[str, Any]


def measure(name: str, budget_s: float, folder: Path, effort: Effort = EFFORT) -> Json:
    """Compile one network and race what ships.

    Raises:
        IntarsiaError: It cannot be compiled.
        RuntimeError: A contender of the race died.
    """
    seconds: dict[str, float] = {}
    with _lap(seconds, "build"):
        model = competitors.save_network(name, folder)
        feeds = competitors.save_feeds(model, folder)
    with (
        _lap(seconds, "compile"),
        intarsia.compile(model, budget=budget_s, max_memory=MAX_MEMORY, store=folder / f"{name}.sqlite") as compiled,
    ):
        report = compiled.report
        artifact = compiled.save(folder / f"{name}.intarsia")
    with _lap(seconds, "export"):
        contenders = [*competitors.onnx_readers(model), *competitors.exported(artifact, report, folder)]
    with _lap(seconds, "look"):
        found = competitors.look(contenders, feeds, folder)
    with _lap(seconds, "race"):
        product = Contender(name=competitors.PRODUCT, kind="intarsia", model=artifact)
        racing = found.racing(plan(report)["engines"])
        result = race([product, *racing], feeds, thread_budget(), effort=effort, may_leave=found.tuned)
    kept = entry(report, found, result)
    with _lap(seconds, "footprint"):
        starting = [
            product,
            *(found.contenders[name] for name in dict.fromkeys((competitors.DEFAULT, kept["best_single"]))),
        ]
        started = footprints(starting, feeds, thread_budget())
    return kept | {"footprint": started, "seconds": seconds}


def entry(report: Mapping[str, Any], found: competitors.Field, result: Result) -> Json:
    """What is kept of one network."""
    best = result.fastest(found.tuned)
    assert best is not None  # the race lets the fastest of them stay
    return {
        **competitors.figures(result),
        "set_sizes": list(result.set_sizes),
        "times_as_long": {name: round(result.ratio(name, competitors.PRODUCT).median, 4) for name in result.rounds_ms},
        "best_single": best,
        "speedup_over_best_single": speedup(result, best),
        "speedup_over_onnxruntime_default": speedup(result, competitors.DEFAULT),
        "baselines": {engine: _baseline(engine, found, result, report) for engine in competitors.BASELINES},
        "plan": plan(report),
        "best_mix": best_mix(report),
        "compile": competitors.summary(report),
    }


def speedup(result: Result, over: str) -> Json | None:
    """How many times faster the product is, overall with its interval and in each set of processes."""
    if over not in result.rounds_ms:
        return None
    sets = result.set_ratios(over, competitors.PRODUCT)
    return {
        **competitors.interval(result.ratio(over, competitors.PRODUCT)),
        "sets": [round(ratio, 4) for ratio in sets],
    }


def plan(report: Mapping[str, Any]) -> Json:
    """What ships: the engine of each partition, the transitions, and whether engines are mixed at all.

    ``winograd`` is ONNX Runtime with kernels of ours in it, so the two together are no mix.
    """
    engines = [_engine(part["target"]) for part in report["partitions"]]
    return {
        "engines": engines,
        "transitions": report["transitions"],
        "true_mix": len({"onnxruntime" if engine == "winograd" else engine for engine in engines}) > 1,
        "predicted_ms": report["predicted_ms"],
        "measured_ms": report["latency_ms"]["median"] if report["latency_ms"] else None,
        "planning_s": report["search"]["seconds"],
    }


def best_mix(report: Mapping[str, Any]) -> Json | None:
    """The best mix that the compile measured, shipped or not, and how many times faster than singles in its race."""
    mixes = ranked(mix for mix in report["mixes"] if not mix.get("failure"))
    if not mixes:
        return None
    best = mixes[0]
    beside = [single for single in ranked(report["singles"]) if was_benchmarked(single) and was_benchmarked(best)]
    singles = {_engine(single["target"]): single["latency_ms"] for single in beside}
    return {
        "engines": [_engine(target) for target in best["targets"]],
        "transitions": best["transitions"],
        "predicted_ms": best["predicted_ms"],
        "latency_ms": best["latency_ms"],
        "speedup_over": {engine: round(ms / best["latency_ms"], 4) for engine, ms in singles.items()},
    }


def _engine(target: str) -> str:
    return target.split()[0]


def _baseline(engine: str, found: competitors.Field, result: Result, report: Mapping[str, Any]) -> Json:
    """The engine's best setting and its milliseconds, or why there is none."""
    best = found.best_of(engine, result)
    if best is not None:
        return {"setting": best[0], "ms": round(best[1], 4), "raced": best[0] in result.rounds_ms}
    wrong = [error for name, error in found.wrong.items() if name.startswith(engine)]
    if wrong:
        return {"failure": f"answers wrongly, by {min(wrong):.1e}"}
    failures = [s["failure"] for s in report["singles"] if _engine(s["target"]) == engine and "failure" in s]
    return {"failure": f"{failures[0]['stage']}: {failures[0]['reason']}" if failures else "did not run"}


@contextmanager
def _lap(seconds: dict[str, float], name: str) -> Iterator[None]:
    start = time.monotonic()
    yield
    seconds[name] = round(time.monotonic() - start, 1)


def told(found: Mapping[str, Any]) -> str:
    """One line about a network."""
    gain, seconds = found["speedup_over_best_single"], sum(found["seconds"].values())
    return (
        f"{gain['median']:.3f} ({gain['low']:.3f} to {gain['high']:.3f}) times as fast as {found['best_single']}, "
        f"ships {' + '.join(dict.fromkeys(found['plan']['engines']))}, control {found['control']:.3f}"
        f"{' (void)' if found['void'] else ''}, {seconds:.0f} s"
    )


def main() -> None:
    """Run what is named, or all."""
    parser = results_file.arguments("suite", "Compile each network and race what ships against every engine.", RESULTS)
    parser.add_argument("--budget", type=float, default=BUDGET_S, metavar="SECONDS", help="of each compile")
    parser.add_argument("--most-sets", type=int, default=MOST_SETS, metavar="N", help="of processes, in each race")
    given = parser.parse_args()
    names = results_file.named(parser, given)
    effort = replace(EFFORT, more_sets=given.most_sets - EFFORT.sets)
    results_file.run(given.results, names, lambda name, folder: measure(name, given.budget, folder, effort), told)


if __name__ == "__main__":
    main()
