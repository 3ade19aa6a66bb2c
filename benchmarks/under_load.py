"""Are the claims true that a compile makes on a busy machine? Benchmarks of the same plans in quiet judge them.

``python -m benchmarks.under_load [NETWORK …] [--missing]`` compiles each network four times, each time with a fresh
store, while two endless loops take the processors; then it stops the loops, benchmarks the same plans, and compares.
It adds each network to ``benchmarks/results/under_load.json``, so that it can be stopped and continued, and prints the
table. Wants a machine with nothing else on it; takes about five minutes a network.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import intarsia
import networks
from benchmarks import competitors, results_file
from intarsia.cost.reference.reference_io import VALUES, record_values
from intarsia.cost.timing.paired_benchmark import BenchmarkEffort, Contender, paired_benchmark
from intarsia.cost.timing.statistics import Interval
from intarsia.cost.timing.verdict import CONTROL_NAME, Shown, Verdict, out_by
from intarsia.cost.worker.lock import machine_lock
from intarsia.driver import stages
from intarsia.graph import Graph, save_graph
from intarsia.planning.problem import Candidate
from intarsia.report.comparison import Comparison
from intarsia.runtime import build, plan_of, write_artifact
from intarsia.runtime.executors.drawn_feeds import graph_feeds
from intarsia.search.search import Found, search

RESULTS = Path(__file__).parent / "results" / "under_load.json"
NETWORKS = ("squeezenet", "shufflenet", "inception_v1", "text_recogniser", "cnn_transformer")
"""Small ones, that need nothing but this project; on the last three our kernels or a mix are near the best."""
COMPILES = 4
BUDGET_S = 45.0
LOOPS = 2
QUIET = BenchmarkEffort(processes=4, rounds=20, seconds=8.0, repeats=2)
CLAIMS = (Shown.FASTER, Shown.SLOWER)
CONFIRMED, UNDECIDED, CONTRADICTED, UNJUDGED = "confirmed", "undecided", "contradicted", "not judged"
Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """That one plan is faster, or slower, than another.

    Attributes:
        plan: The one that something is said of.
        baseline: The best single engine of that compile.
        shown: What is said.
        gain: The figures that it was said by.
    """

    plan: Candidate
    baseline: Candidate
    shown: Shown
    gain: Interval


@contextmanager
def busy(loops: int = LOOPS) -> Iterator[list[int]]:
    """Endless loops beside what is done meanwhile; their process ids."""
    running = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(loops)]
    try:
        yield [each.pid for each in running]
    finally:
        for each in running:
            each.kill()
            each.wait()


def compiled(model: Path, number: int, folder: Path) -> tuple[Json, Found, Graph]:
    """One compile with a store of its own: what is kept of it, and the plans that it spoke of."""
    found: list[Found] = []

    def keeping(*args: Any, **settings: Any) -> Found:
        found.append(search(*args, **settings))
        return found[-1]

    start = time.monotonic()
    with (
        patch.object(stages, "search", keeping),
        intarsia.compile(model, budget=BUDGET_S, seed=number, store=folder / f"{number}.sqlite") as product,
    ):
        wall_s = time.monotonic() - start
        report, graph = product.report, product.artifact.graph()
    search_ = report["search"]
    kept = {
        "wall_s": round(wall_s, 1),
        "chosen": report["chosen"],
        "best_single": report["best_single"],
        "conclusion": report["conclusion"],
        "recommendation": Comparison(report).recommendation,
        "control": search_["control"],
        "void": search_["control_void"],
    }
    return kept, found[-1], graph


def claims(found: Found) -> list[Claim]:
    """All that the sentences and tables of a compile say to be faster or slower than its best single engine."""
    decision, verdict = found.decision, found.decision.verdict
    best = decision.best_single
    if best is None or best.name not in verdict.benchmarked:
        return []
    mixes = [] if found.collage is None else [mix.candidate for mix in found.collage.mixes]
    plans = [*(plan for single in found.singles for plan in single.candidates), *mixes, *decision.reduced.candidates]
    others = [plan for plan in plans if plan.name in verdict.benchmarked and plan.name != best.name]
    said = [
        Claim(
            plan=plan,
            baseline=best,
            shown=verdict.compared(plan.name, best.name),
            gain=verdict.speedup(plan.name, best.name),
        )
        for plan in others
    ]
    return [each for each in said if each.shown in CLAIMS]


def quiet_race(graph: Graph, plans: Sequence[Candidate], folder: Path, seed: int = 0) -> tuple[Verdict, dict[int, str]]:
    """The plans against each other; and the name of each there, by its place."""
    save_graph(graph, folder)
    record_values(folder / VALUES, graph_feeds(graph, seed))
    names: dict[int, str] = {}
    contenders = []
    for place, candidate in enumerate(plans):
        plan, path = plan_of(graph, candidate.partitions, candidate.settings), folder / f"quiet-{place}.intarsia"
        write_artifact(path, graph, build(graph, plan))
        names[place] = f"{place}: {candidate.name}"
        contenders.append(Contender(name=names[place], path=path, plan=plan))
    with machine_lock():
        return paired_benchmark(folder, contenders, QUIET, seed), names


def judged(shown: Shown, quiet: Interval) -> str:
    """What a quiet race says of a claim: contradicted if its whole interval lies on the other side."""
    is_faster, is_slower = quiet.low > 1.0, quiet.high < 1.0
    if is_faster or is_slower:
        return CONFIRMED if is_faster is (shown is Shown.FASTER) else CONTRADICTED
    return UNDECIDED


def measure(name: str, folder: Path) -> Json:
    """Compile one network beside busy loops, and judge what was said.

    Raises:
        IntarsiaError: It cannot be compiled.
    """
    model = networks.save(name, folder)
    with busy():
        several = [compiled(model, number, folder) for number in range(COMPILES)]
    graph = several[-1][2]
    said = [claims(found) for _, found, _ in several]
    keys = {_key(plan): plan for each in said for claim in each for plan in (claim.baseline, claim.plan)}
    places = {key: place for place, key in enumerate(keys)}
    verdict, names = quiet_race(graph, [*keys.values()], folder) if keys else (None, {})
    rows = [
        kept | {"claims": [_judgement(claim, verdict, places, names) for claim in own]}
        for (kept, _, _), own in zip(several, said, strict=True)
    ]
    return {"compiles": rows, "quiet": None if verdict is None else _quiet(verdict)}


def _key(plan: Candidate) -> tuple[Any, ...]:
    """What makes it the same plan in another compile."""
    return plan.partitions, plan.settings


def _judgement(claim: Claim, verdict: Verdict | None, places: Mapping[Any, int], names: Mapping[int, str]) -> Json:
    plan, baseline = (names[places[_key(each)]] for each in (claim.plan, claim.baseline))
    row = {
        "plan": claim.plan.name,
        "baseline": claim.baseline.name,
        "said": claim.shown.value,
        "by": competitors.interval(claim.gain),
    }
    if verdict is None or verdict.is_void or not {plan, baseline} <= verdict.benchmarked:
        return row | {"quiet": None, "judged": UNJUDGED}
    quiet = verdict.speedup(plan, baseline)
    return row | {"quiet": competitors.interval(quiet), "judged": judged(claim.shown, quiet)}


def _quiet(verdict: Verdict) -> Json:
    control = verdict.control if CONTROL_NAME in verdict.rounds_ms else None
    return {
        "control": None if control is None else competitors.interval(control),
        "void": verdict.is_void,
        "rounds": sum(verdict.set_sizes),
        "failed": {name: list(why) for name, why in verdict.failed.items()},
    }


def is_called_void(row: Mapping[str, Any]) -> bool:
    """Whether a compile whose control does not hold says so, and claims nothing."""
    control = row["control"]
    if control is None or not out_by(Interval(**control)):
        return True
    return bool(row["void"]) and not row["claims"]


def summary(entry: Mapping[str, Any]) -> tuple[str, ...]:
    """A network's row of the table."""
    rows = entry["compiles"]
    said = [claim["judged"] for row in rows for claim in row["claims"]]
    return (
        str(len(rows)),
        str(sum(row["void"] for row in rows)),
        str(sum(not is_called_void(row) for row in rows)),
        str(len(said)),
        *(str(said.count(outcome)) for outcome in (CONFIRMED, UNDECIDED, CONTRADICTED, UNJUDGED)),
    )


HEADER = ("network", "compiles", "void", "void and not said", "claims", CONFIRMED, UNDECIDED, CONTRADICTED, UNJUDGED)


def table(results: Mapping[str, Any]) -> str:
    """All networks, and every claim that a quiet race contradicts."""
    done = {name: entry for name, entry in results["networks"].items() if "failed" not in entry}
    lines = [" | ".join(HEADER), *(" | ".join((name, *summary(entry))) for name, entry in done.items())]
    lines += [
        f"{name}: {claim['plan']} was said to be {claim['said']} than {claim['baseline']}: {claim['by']}, in quiet "
        f"{claim['quiet']}"
        for name, entry in done.items()
        for row in entry["compiles"]
        for claim in row["claims"]
        if claim["judged"] == CONTRADICTED
    ]
    return "\n".join(lines)


def _told(entry: Mapping[str, Any]) -> str:
    pairs = zip(HEADER[1:], summary(entry), strict=True)
    return ", ".join(f"{count} {name}" for name, count in pairs)


def main() -> None:
    """Run what is named, or all, and print the table."""
    parser = results_file.arguments("under_load", "Compile beside busy loops, and judge the claims in quiet.", RESULTS)
    given = parser.parse_args()
    names = list(given.networks or NETWORKS)
    if unknown := [name for name in names if name not in results_file.KNOWN]:
        parser.error(f"no network {', '.join(unknown)}; there are {', '.join(results_file.KNOWN)}")
    if given.missing:
        names = results_file.missing(results_file.load(given.results), names)
    results_file.run(given.results, names, measure, _told)
    print(table(results_file.load(given.results)))


if __name__ == "__main__":
    main()
