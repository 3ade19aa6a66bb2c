"""One network's way to its plan, as data and as a figure: ``python -m benchmarks.placement``.

Compiles it with a cold store and writes ``benchmarks/results/placement.json``; then draws the figure of
``docs/placement.md``: what each segment costs on each engine, the plan that shipped, and the plans that it was measured
against. With ``--redraw`` it draws the data on file.
"""

from __future__ import annotations

import json
import math
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import intarsia
from benchmarks.competitors import save_network
from intarsia.report.reasons import ranked

RESULTS = Path(__file__).parent / "results" / "placement.json"
FIGURE = Path(__file__).parents[1] / "docs" / "figures" / "placement.svg"
NETWORK = "pose"
TARGET = "onnxruntime, openvino, mnn, ncnn, winograd"
"""What the extra `cpu` installs."""
BUDGET_S = 60.0
KEPT = ("segments", "best_single", "chosen", "machine", "mixes", "partitions", "reason", "singles", "threads")
"""What the figure and its page need of a report."""
MOST = 3.0
"""Times as slow as the fastest engine at which the colours end."""
Json = dict[str, Any]


def measured() -> Json:
    """The report of one compile."""
    with tempfile.TemporaryDirectory() as folder:
        model = save_network(NETWORK, Path(folder))
        with intarsia.compile(model, TARGET, budget=BUDGET_S, store=Path(folder) / "records.sqlite") as compiled:
            report = json.loads(json.dumps(dict(compiled.report)))
    return {"network": NETWORK} | {name: report[name] for name in KEPT}


def engines(found: Mapping[str, Any]) -> list[str]:
    """Those that have a figure for some segment, the one with the least sum first."""
    named = {name for segment in found["segments"] for name, ms in segment["ms"].items() if ms is not None}

    def total(name: str) -> tuple[int, float]:
        known = [segment["ms"].get(name) for segment in found["segments"]]
        return known.count(None), sum(ms for ms in known if ms is not None)

    return sorted(named, key=total)


def placed(found: Mapping[str, Any]) -> list[tuple[int, int, str]]:
    """The parts of the plan that shipped: first segment, the one behind the last, engine."""
    parts, start = [], 0
    for part in found["partitions"]:
        wanted, end = len(part["nodes"]), start
        while wanted > 0:
            wanted -= found["segments"][end]["nodes"]
            end += 1
        parts.append((start, end, part["target"].split()[0]))
        start = end
    return parts


def plans(found: Mapping[str, Any]) -> list[tuple[str, float]]:
    """Every plan that was timed, by its engines: those that raced, then those timed apart; each the fastest first."""
    listed = ranked((*found["singles"], *found["mixes"]))
    several = (plan.get("targets", (plan.get("target"),)) for plan in listed)
    names = (" → ".join(target.split()[0] for target in targets) for targets in several)
    return [(name, plan["latency_ms"]) for name, plan in zip(names, listed, strict=True)]


def draw(found: Mapping[str, Any], path: Path) -> None:
    """Above, segments by engines; below, the plans that were timed as a whole."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    names, timed = engines(found), plans(found)
    # The same data give the same file.
    with mpl.rc_context({"svg.hashsalt": "intarsia", "svg.fonttype": "none", "font.size": 9}):
        figure = Figure(figsize=(9, 1.6 + 0.34 * (len(names) + len(timed))), layout="constrained", facecolor="white")
        above, below = figure.subplots(2, 1, height_ratios=(len(names) + 1, len(timed)))
        _draw_segments(above, found, names)
        _draw_plans(below, timed, found["chosen"])
        figure.savefig(path, metadata={"Date": None})


def _draw_segments(axes: Any, found: Mapping[str, Any], names: Sequence[str]) -> None:
    from matplotlib.patches import Rectangle

    best = [min(ms for ms in segment["ms"].values() if ms is not None) for segment in found["segments"]]
    ends = [sum(best[:count]) for count in range(len(best) + 1)]
    shade = _shades()
    for number, segment in enumerate(found["segments"]):
        for row, name in enumerate(names):
            ms = segment["ms"].get(name)
            behind = 1.0 if ms is None or not best[number] else max(1.0, ms / best[number])
            colour = "#ffffff" if ms is None else shade(min(1.0, math.log(behind) / math.log(MOST)))
            hatch = "////" if ms is None else None
            place = (ends[number], row - 0.45)
            axes.add_patch(
                Rectangle(place, best[number], 0.9, facecolor=colour, hatch=hatch, edgecolor="#c3c9cf", linewidth=0.4)
            )
    for start, end, name in placed(found):
        if name in names:
            place = (ends[start], names.index(name) - 0.45)
            axes.add_patch(Rectangle(place, ends[end] - ends[start], 0.9, fill=False, edgecolor="black", linewidth=2))
    axes.set_xlim(0, ends[-1])
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_yticks(range(len(names)), labels=names)
    axes.set_xlabel(
        f"segments in order, as wide as their least time (ms); dark: {MOST:g} times as slow or more, hatched: no figure"
    )
    axes.set_title(
        f"{found['network']}: what each segment takes on each engine; framed: the plan that shipped", fontsize=9
    )
    axes.tick_params(axis="y", length=0)


def _shades() -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("wood", ["#f6e3c5", "#c98a4b", "#5b3213"])


def _draw_plans(axes: Any, timed: Sequence[tuple[str, float]], chosen: str) -> None:
    rows = range(len(timed))
    axes.barh(
        rows, [ms for _, ms in timed], height=0.7, color=["#e07b39" if "→" in name else "#9aa5b1" for name, _ in timed]
    )
    for row, (_, ms) in enumerate(timed):
        axes.text(ms, row, f" {ms:.3g}", va="center", fontsize=8)
    axes.set_yticks(rows, labels=[name for name, _ in timed])
    axes.invert_yaxis()
    axes.set_xlabel("the plans, each timed as a whole (ms)")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)


def main() -> None:
    """Measure, unless ``--redraw``, and draw."""
    if "--redraw" not in sys.argv[1:]:
        RESULTS.write_text(json.dumps(measured(), indent=1) + "\n", encoding="utf-8")
    FIGURE.parent.mkdir(exist_ok=True)
    draw(json.loads(RESULTS.read_text(encoding="utf-8")), FIGURE)


if __name__ == "__main__":
    main()
