"""The main job on a real network: ``make demo``.

Builds a text-line recogniser (a convolutional part and a recurrent part, with seeded weights), compiles it three ways
over every engine there is, and shows what each engine, the greedy partitioning and the measured one come to.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import intarsia
import networks

NETWORK = "text_recogniser"
FOLDER = Path(".demo")
BUDGET_S = 90.0


def main() -> None:
    """Compile, show, run once, and check the answer."""
    console = Console(width=None if sys.stdout.isatty() else 120)
    start = time.monotonic()
    FOLDER.mkdir(exist_ok=True)
    network = sys.argv[1] if len(sys.argv) > 1 else NETWORK
    path = networks.save(network, FOLDER)
    console.print(f"[bold]{network}[/bold] ({path.stat().st_size / 1e6:.0f} MB) over every engine on this machine\n")
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "records.sqlite"  # a cold store: everything below is measured now
        reports = {}
        for partition in ("greedy", "collage"):
            with intarsia.compile(path, partition=partition, budget=BUDGET_S, store=store, progress=told(console)) as m:
                reports[partition] = dict(m.report)
                if partition == "collage":
                    artifact = m.save(FOLDER / f"{network}.intarsia")
    console.print(table(reports["greedy"], reports["collage"]))
    chosen = reports["collage"]
    console.print(f"\nchosen: {chosen['chosen']}, because {chosen['reason']}")
    for number, part in enumerate(chosen["partitions"], start=1):
        nodes = part["nodes"]
        console.print(f"  {number}. {part['target']}: {len(nodes)} nodes, {nodes[0]} … {nodes[-1]}", highlight=False)
    with intarsia.load(artifact) as model:
        outputs = model(networks.feeds(path, seed=1))
    shapes = ", ".join(f"{name} {value.shape}" for name, value in outputs.items())
    console.print(f"\n{artifact} ran: {shapes}; the whole demo took {time.monotonic() - start:.0f} s")


def table(greedy: dict[str, Any], collage: dict[str, Any]) -> Table:
    """Each engine alone, greedy, the best mix found, and what ships; ~ is of another moment than the one benchmark."""
    view = Table("plan", "ms", "x best single", "transitions", "max error", "why")
    for column in view.columns[1:5]:
        column.justify = "right"

    def row(
        name: str, ms: float | None, speed: float | None, transitions: int | None, error: float | None, why: str
    ) -> None:
        view.add_row(
            name,
            "" if ms is None else f"{'~' if speed is None else ''}{ms:.2f}",
            "" if speed is None else f"{speed:.2f}",
            "" if transitions is None else str(transitions),
            "" if error is None else f"{error:.0e}",
            why,
        )

    for single in collage["singles"]:
        if "failure" in single:
            failure = single["failure"]
            row(single["target"], None, None, None, None, f"{failure['stage']}: {failure['reason']}"[:70])
        else:
            why = "best single engine" if single["target"] == collage["best_single"] else ""
            row(single["tuned"], single["latency_ms"], single["speed"], 0, single["max_rel_error"], why)
    # It was benchmarked in a compile of its own.
    row(
        "greedy",
        _median(greedy),
        None,
        greedy["transitions"],
        greedy["max_rel_error"],
        "first engine that takes a node",
    )
    for mix in collage["mixes"][:2]:
        engines = " → ".join(target.split()[0] for target in mix["targets"])
        row(mix["name"], mix["latency_ms"], mix["speed"], mix["transitions"], None, engines)
    view.add_section()
    gain = collage["speedup_vs_best_single"]
    speed = None if gain is None else gain["median"]
    row("chosen", _median(collage), speed, collage["transitions"], collage["max_rel_error"], collage["reason"])
    return view


def _median(report: dict[str, Any]) -> float | None:
    return None if report["latency_ms"] is None else report["latency_ms"]["median"]


def told(console: Console) -> Any:
    """Progress as single lines, on a terminal only."""
    seen: set[str] = set()

    def watch(progress: Any) -> None:
        line = f"{progress.stage} {progress.note}".strip()
        if console.is_terminal and line not in seen:
            seen.add(line)
            console.print(f"  {line}", style="dim", highlight=False)

    return watch


if __name__ == "__main__":
    main()
