"""How long planning takes, and whether more time would give a better plan.

``python -m benchmarks.planning [mobilenet_v2] [resnet50] [bert_base] [scale] [thorough]`` writes
``benchmarks/results/planning.json``: three networks planned with a cold and a warm store, a large graph planned on
costs from a table, and resnet50's plan of a minute raced against the plan of a search that leaves nothing out (which
takes up to a quarter of an hour).
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import intarsia
from benchmarks import competitors, large_graph, results_file
from benchmarks.paired_benchmark import Contender, Effort, race
from intarsia.runtime import thread_budget

RESULTS = Path(__file__).parent / "results" / "planning.json"
NETWORKS = ("mobilenet_v2", "resnet50", "bert_base")
THOROUGH = "resnet50"
BUDGET_S = 60.0
THOROUGH_S = 600.0
"""Budget of the search without pruning."""
EFFORT = Effort(seconds=10.0, more_sets=3, half_width=0.01)
Json = dict[str, Any]


def planned(network: str, folder: Path) -> Json:
    """Seconds from the call to the finished artifact, with nothing recorded and with everything recorded."""
    model = competitors.save_network(network, folder)
    found: Json = {"budget_s": BUDGET_S}
    for name in ("cold", "warm"):
        start = time.monotonic()
        with intarsia.compile(model, budget=BUDGET_S, store=folder / "records.sqlite") as compiled:
            found[f"{name}_s"] = round(time.monotonic() - start, 2)
            found[f"{name}_search"] = competitors.summary(compiled.report)["search"]
    return found


def large(folder: Path) -> Json:
    """See `benchmarks.large_graph`."""
    return large_graph.partitioned(large_graph.NODES, folder)


def thorough(folder: Path) -> Json:
    """The plan of a minute against the plan of a search that leaves nothing out, each with a cold store of its own."""
    model = competitors.save_network(THOROUGH, folder)
    feeds = competitors.save_feeds(model, folder)
    found: Json = {}
    contenders = []
    for name, budget_s, prune in (("plan", BUDGET_S, True), ("thorough", THOROUGH_S, False)):
        records = folder / name / "records.sqlite"
        with intarsia.compile(model, budget=budget_s, store=records, prune=prune) as compiled:
            search = compiled.report["search"]
            artifact = compiled.save(folder / f"{name}.intarsia")
        found |= {f"{name}_{key}": search[key] for key in ("candidates", "measured", "seconds", "finished")}
        found[f"{name}_engines"] = [part["target"] for part in compiled.report["partitions"]]
        contenders.append(Contender(name=name, kind="intarsia", model=artifact))
    result = race(contenders, feeds, thread_budget(), effort=EFFORT, may_leave=["thorough"])
    return {
        **competitors.figures(result),
        "plan_over_thorough": competitors.interval(result.ratio("plan", "thorough")),
        **found,
    }


WORK: dict[str, Callable[[Path], Json]] = {
    **{network: partial(planned, network) for network in NETWORKS},
    "scale": large,
    "thorough": thorough,
}


def main() -> None:
    """Run what is named, or all; each result is written as soon as it is there."""
    names = sys.argv[1:] or list(WORK)
    if unknown := [name for name in names if name not in WORK]:
        sys.exit(f"there is no {', '.join(unknown)}; there are {', '.join(WORK)}")
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            found = WORK[name](Path(folder))
        results = results_file.load(RESULTS)
        results[name] = found
        results_file.store(RESULTS, results)
        print(name, found, flush=True)


if __name__ == "__main__":
    main()
