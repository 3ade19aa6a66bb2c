"""How long planning takes, and whether more time would give a better plan.

``python -m benchmarks.planning [resnet50] [scale] [thorough]`` writes ``benchmarks/results/planning.json``: resnet50
planned with a cold and a warm store, a large graph planned on costs from a table, and resnet50's plan of a minute raced
against the plan of a search that leaves nothing out (which takes up to half an hour).
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import intarsia
from benchmarks import field, ledger, scale
from benchmarks.race import Contender, Effort, race
from intarsia.config import SearchSettings
from intarsia.cost.measure import Measurer
from intarsia.cost.progress import unwatched
from intarsia.cost.store import Store
from intarsia.cost.workspace import Workspace
from intarsia.driver import MIN_SEARCH_SHARE, SEARCH_SHARE
from intarsia.partition import boundaries
from intarsia.runtime import thread_budget
from intarsia.search import CollageResult, CollageSearch, Deadline, Request, decide, plan_compilation, tune_singles

RESULTS = Path(__file__).parent / "results" / "planning.json"
NETWORK = "resnet50"
BUDGET_S = 60.0
THOROUGH_S = 1200.0
"""Budget of the search without pruning."""
EFFORT = Effort(seconds=10.0, more_sets=3, half_width=0.01)
Json = dict[str, Any]


def resnet50(folder: Path) -> Json:
    """Seconds from the call to the finished artifact, with nothing recorded and with everything recorded."""
    model = field.save_network(NETWORK, folder)
    found: Json = {"budget_s": BUDGET_S}
    for name in ("cold", "warm"):
        start = time.monotonic()
        with intarsia.compile(model, budget=BUDGET_S, store=folder / "records.sqlite") as compiled:
            found[f"{name}_s"] = round(time.monotonic() - start, 2)
            found[f"{name}_search"] = field.summary(compiled.report)["search"]
    return found


def large(folder: Path) -> Json:
    """See `benchmarks.scale`."""
    return scale.partitioned(scale.NODES, folder)


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A search's outcome: the artifact that ships, what the search found, and what both took."""

    artifact: Path
    search: CollageResult
    measured: int
    seconds: float


def thorough(folder: Path) -> Json:
    """The plan of a minute against the plan of a search that leaves nothing out, each with a cold store of its own."""
    model = field.save_network(NETWORK, folder)
    feeds = field.save_feeds(model, folder)
    quick = planned(model, folder / "quick", BUDGET_S, is_pruned=True)
    full = planned(model, folder / "full", THOROUGH_S, is_pruned=False)
    contenders = [
        Contender(name=n, kind="intarsia", model=p.artifact) for n, p in (("plan", quick), ("thorough", full))
    ]
    result = race(contenders, feeds, thread_budget(), effort=EFFORT, may_leave=["thorough"])
    return {
        **field.figures(result),
        "plan_over_thorough": field.interval(result.ratio("plan", "thorough")),
        **{f"{name}_candidates": p.search.candidates for name, p in (("plan", quick), ("thorough", full))},
        **{f"{name}_measured": p.measured for name, p in (("plan", quick), ("thorough", full))},
        **{f"{name}_s": p.seconds for name, p in (("plan", quick), ("thorough", full))},
        "thorough_is_finished": full.search.is_finished,
    }


def planned(model: Path, folder: Path, budget_s: float, *, is_pruned: bool) -> Planned:
    """What `intarsia.compile` does in such a budget, with or without pruning."""
    deadline = Deadline(budget_s)
    settings = SearchSettings(budget_s=budget_s, prune=is_pruned)
    job = plan_compilation(Request(model=model, search=settings))
    folder.mkdir()
    records = Store(folder / "records.sqlite")
    space = Workspace(records)
    borders = {value for atom in job.problem.atoms for value in boundaries(job.graph, atom).outputs}
    space.prepare(job.graph, borders, settings.seed)
    engines = {target.kind.name for target in job.problem.targets}
    with Measurer(job.graph, space.folder, records, engines, job.origin) as measurer:
        singles = tune_singles(job.problem, measurer, unwatched)
        tuned = {single.tuned: job.problem.capabilities[single.target] for single in singles}
        wholes = {single.tuned: single.outcome for single in singles}
        search_s = max(SEARCH_SHARE * budget_s - deadline.spent, MIN_SEARCH_SHARE * budget_s)
        found = CollageSearch(job.problem, measurer, tuned, wholes, unwatched).run(Deadline(search_s))
        plans = [candidate for single in singles for candidate in single.candidates]
        mixes = [mix.candidate for mix in found.mixes]
        decision = decide(job.problem, measurer, plans, mixes, None, unwatched)
        return Planned(
            artifact=decision.artifact, search=found, measured=measurer.measured, seconds=round(deadline.spent, 2)
        )


WORK: dict[str, Callable[[Path], Json]] = {"resnet50": resnet50, "scale": large, "thorough": thorough}


def main() -> None:
    """Run what is named, or all; each result is written as soon as it is there."""
    names = sys.argv[1:] or list(WORK)
    if unknown := [name for name in names if name not in WORK]:
        sys.exit(f"there is no {', '.join(unknown)}; there are {', '.join(WORK)}")
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            found = WORK[name](Path(folder))
        results = ledger.load(RESULTS)
        results[name] = found
        ledger.store(RESULTS, results)
        print(name, found, flush=True)


if __name__ == "__main__":
    main()
