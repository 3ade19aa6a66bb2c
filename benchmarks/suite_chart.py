"""Draws the suite's speed-ups as bars: ``python -m benchmarks.suite_chart`` writes ``benchmarks/results/suite.svg``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.competitors import BASELINES
from benchmarks.goals import Results, geometric_mean
from benchmarks.suite import RESULTS

CHART = RESULTS.with_suffix(".svg")
COLOURS = {"one engine": "#9aa5b1", "our own kernels": "#3e8ed0", "a mix of engines": "#e07b39"}
DEFAULT_COLOUR = "#2f3b46"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One network.

    Attributes:
        name: Its own.
        ships: What ships: a key of `COLOURS`.
        single: Speed-up over the best single engine, with the ends of its interval.
        default: Speed-up over ONNX Runtime's defaults, where they run.
    """

    name: str
    ships: str
    single: tuple[float, float, float]
    default: float | None


def bars(suite: Mapping[str, Any]) -> list[Bar]:
    """The networks with valid figures, the least speed-up first."""
    found = [_bar(name, entry) for name, entry in Results(suite=suite).valid.items()]
    return sorted(found, key=lambda bar: (bar.single[0], bar.name))


def _bar(name: str, entry: Mapping[str, Any]) -> Bar:
    single, default = entry["speedup_over_best_single"], entry["speedup_over_onnxruntime_default"]
    engines = set(entry["plan"]["engines"])
    alone = "one engine" if engines <= set(BASELINES) else "our own kernels"
    return Bar(
        name=name,
        ships="a mix of engines" if entry["plan"]["true_mix"] else alone,
        single=(single["median"], single["low"], single["high"]),
        default=default["median"] if default else None,
    )


def draw(found: list[Bar], path: Path) -> None:
    """One row a network: a bar for the best single engine, with its interval, and a dot for ONNX Runtime's defaults."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    # The same figures give the same file.
    with mpl.rc_context({"svg.hashsalt": "intarsia", "svg.fonttype": "none", "font.size": 9}):
        figure = Figure(figsize=(8, 1.4 + 0.26 * len(found)), layout="constrained")
        axes = figure.add_subplot()
        for ships, colour in COLOURS.items():
            rows = [(row, bar) for row, bar in enumerate(found) if bar.ships == ships]
            axes.barh(
                [row for row, _ in rows],
                [bar.single[0] - 1 for _, bar in rows],
                left=1,
                height=0.7,
                color=colour,
                label=f"ships {ships}",
            )
        for row, bar in enumerate(found):
            axes.plot(bar.single[1:], (row, row), color="black", linewidth=1)
        marked = [(bar.default, row) for row, bar in enumerate(found) if bar.default is not None]
        axes.scatter([ms for ms, _ in marked], [row for _, row in marked], s=14, color=DEFAULT_COLOUR, zorder=3)
        axes.axvline(1, color="black", linewidth=0.8)
        axes.set_xscale("log")
        axes.set_xticks(ticks := _ticks(found), labels=[f"{tick:g}" for tick in ticks])
        axes.minorticks_off()
        axes.set_yticks(range(len(found)), labels=[bar.name for bar in found])
        axes.set_ylim(-0.6, len(found) - 0.4)
        axes.grid(axis="x", color="#d8dde2", linewidth=0.6)
        axes.set_axisbelow(True)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel(
            "times as fast, log scale; bars: as the best single engine, with 95 % interval; dots: as ORT default"
        )
        figure.suptitle(_title(found), fontsize=10)
        figure.legend(loc="outside lower center", ncols=len(COLOURS), frameon=False)
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None, dpi=110)


def _title(found: list[Bar]) -> str:
    single = geometric_mean(bar.single[0] for bar in found)
    default = geometric_mean(bar.default for bar in found if bar.default is not None)
    return f"Geometric mean of {len(found)}: {single:.2f} over the best single engine, {default:.2f} over ORT default"


def _ticks(found: list[Bar]) -> list[float]:
    """The marks that the figures span."""
    figures = [figure for bar in found for figure in (*bar.single, bar.default or 1.0, 1.0)]
    marks = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 5.0)
    return [mark for mark in marks if min(figures) * 0.97 <= mark <= max(figures) * 1.03]


def main() -> None:
    """Draw what is committed."""
    draw(bars(json.loads(RESULTS.read_text(encoding="utf-8"))), CHART)


if __name__ == "__main__":
    main()
