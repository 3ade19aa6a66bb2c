"""Does ``--budget`` bound the whole command? Its wall clock on eight networks, as the shell sees it.

``python -m benchmarks.budget [--largest SECONDS] [NETWORK ...]`` runs ``python -m intarsia compile`` in a process of
its own with an empty record store, for each budget and with and without ``--max-error``. Each row goes to
``benchmarks/results/budget.json`` as soon as it is there, and rows that are there are not run again (remove the file to
start anew). The whole table takes at most 22 minutes on a machine that keeps what it announces; it ends with status 1
if a row took more than 1.1 times what was stated, or announced.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import competitors, results_file

RESULTS = Path(__file__).parent / "results" / "budget.json"
NETWORKS = (
    "squeezenet",
    "text_recogniser",
    "style_transfer",
    "inception_v1",
    "cnn_transformer",
    "densenet121",
    "resnet50",
    "bvlc_alexnet",
)
"""From 5 to 244 MB; none needs the `bench` extra."""
BUDGETS_S = (5.0, 20.0, 60.0)
MAX_ERROR = "1e-2"
MOST = 1.1
"""Times what was stated, or announced, that a command may take."""
Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One command."""

    network: str
    budget_s: float
    max_error: str | None

    @property
    def name(self) -> str:
        """Its key in the results."""
        return f"{self.network}, {self.budget_s:g} s{', max-error ' + self.max_error if self.max_error else ''}"

    def arguments(self, model: Path, folder: Path) -> list[str]:
        """What the shell would be told."""
        own = ["compile", str(model), "--budget", f"{self.budget_s:g}", "--json", "--quiet"]
        kept = ["--store", str(folder / "records.sqlite"), "-o", str(folder / "out.intarsia")]
        return [*own, *kept, *(["--max-error", self.max_error] if self.max_error else [])]


def cases(networks: Iterable[str], largest_s: float) -> Iterator[Case]:
    """The commands, those with short budgets first."""
    several = tuple(networks)
    for budget_s in BUDGETS_S:
        for network in several if budget_s <= largest_s else ():
            for max_error in (None, MAX_ERROR):
                yield Case(network=network, budget_s=budget_s, max_error=max_error)


def row(case: Case, took_s: float, report: Json) -> Json:
    """What a command came to, by its clock and what it said itself."""
    announced_s = report["search"]["announced_s"]
    return {
        "network": case.network,
        "budget_s": case.budget_s,
        "max_error": case.max_error,
        "announced_s": announced_s,
        "because": report["search"]["announced_because"],
        "took_s": round(took_s, 2),
        "ratio": round(took_s / (announced_s or case.budget_s), 3),
        "chosen": report["chosen"],
        "reason": report["reason"],
        "measured": report["search"]["measured"],
    }


def run(case: Case, model: Path) -> Json:
    """Run a command with nothing recorded.

    Raises:
        RuntimeError: It failed.
    """
    with tempfile.TemporaryDirectory() as name:
        command = [sys.executable, "-m", "intarsia", *case.arguments(model, Path(name))]
        start = time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "HOME": name}, check=False)
        took_s = time.monotonic() - start
    if done.returncode:
        raise RuntimeError(f"{case.name}: status {done.returncode}: {done.stderr.strip()}")
    return row(case, took_s, json.loads(done.stdout))


def line(found: Json) -> str:
    """A row of the table."""
    announced = "-" if found["announced_s"] is None else f"{found['announced_s']:g}"
    verdict = "" if found["ratio"] <= MOST else "  TOO LONG"
    return (
        f"{found['network']:<16} {found['budget_s']:>6g} {found['max_error'] or '-':>9} {announced:>9} "
        f"{found['took_s']:>7.1f} {found['ratio']:>6.2f}  {found['chosen']}{verdict}"
    )


HEADER = f"{'network':<16} {'stated':>6} {'max-error':>9} {'announced':>9} {'took':>7} {'ratio':>6}  ships"


def too_long(rows: Iterable[Json]) -> list[Json]:
    """Those that took more than they may."""
    return [found for found in rows if found["ratio"] > MOST]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what is not in the results yet, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.budget")
    parser.add_argument("networks", nargs="*", metavar="NETWORK", default=NETWORKS)
    parser.add_argument("--largest", type=float, default=max(BUDGETS_S), help="leave out budgets beyond this")
    asked = parser.parse_args(arguments)
    results = results_file.load(RESULTS)
    rows: dict[str, Json] = results.setdefault("rows", {})
    chosen = list(cases(asked.networks, asked.largest))
    print(HEADER, flush=True)
    with tempfile.TemporaryDirectory() as name:
        models: dict[str, Path] = {}
        for case in chosen:
            if case.name not in rows:
                if case.network not in models:
                    models[case.network] = competitors.save_network(case.network, Path(name))
                rows[case.name] = run(case, models[case.network])
                results_file.store(RESULTS, results)
            print(line(rows[case.name]), flush=True)
    late = too_long(rows[case.name] for case in chosen)
    if late:
        sys.exit(f"{len(late)} of {len(chosen)} took more than {MOST} times what was stated or announced")


if __name__ == "__main__":
    main()
