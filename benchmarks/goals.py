"""What the product has to reach, and what it does: pure functions from committed results to a table.

``python -m benchmarks.goals [--markdown]`` prints it, and exits with 1 while a gate is not met or not measured.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
SOURCES = ("suite", "fixed_plans", "planning", "block_times", "accuracy")
"""The files of `RESULTS` that gates read."""

NETWORKS = 24
WORST = 0.99
WORST_HALF_WIDTH = 0.01
MEAN_OVER_SINGLE = 1.08
MEAN_OVER_DEFAULT = 1.35
MIXES = 5
MIX_GAIN = 1.05
MIX_PROCESSES = 3
PREDICTED_WITHIN = 0.10
PREDICTED_SHARE = 0.80
COLD_S = {"mobilenet_v2": 12.0, "resnet50": 25.0, "bert_base": 40.0}
"""By network."""
WARM_S = 2.5
SCALE_NODES, SCALE_S = 10_000, 5.0
OVERHEAD = 1.02
MANUAL = 1.03
THOROUGH_WITHIN = 1.02
THOROUGH_CANDIDATES = 10
BLOCKS_SHARE = 0.90
REDUCED, FINE = (0.05, 1.7), (0.01, 1.5)
"""An allowed error, and how many times as fast as ONNX Runtime's defaults that has to make each network."""
REDUCED_NETWORKS = 4
Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """One line of the table.

    Attributes:
        what: What is judged.
        gate: What it has to reach.
        figure: What it reaches; empty where nothing was measured.
        is_met: ``None`` where nothing was measured.
    """

    what: str
    gate: str
    figure: str = ""
    is_met: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """The committed results, each as read from its file; empty where there is none.

    Attributes:
        suite: Of `benchmarks.suite`.
        fixed_plans: Of `benchmarks.fixed_plans`: the hand-made cut and the overhead.
        planning: Of `benchmarks.planning`.
        block_times: Of `benchmarks.block_times`.
        accuracy: Of `benchmarks.accuracy`.
    """

    suite: Json = field(default_factory=dict)
    fixed_plans: Json = field(default_factory=dict)
    planning: Json = field(default_factory=dict)
    block_times: Json = field(default_factory=dict)
    accuracy: Json = field(default_factory=dict)

    @property
    def valid(self) -> dict[str, Json]:
        """Networks with figures whose race was not void."""
        found = self.suite.get("networks", {})
        return {name: entry for name, entry in found.items() if "failed" not in entry and not entry["void"]}


def gates(results: Results) -> tuple[Gate, ...]:
    """Every gate, in the order in which they are stated."""
    lines: tuple[Callable[[Results], Gate], ...] = (
        _networks, _worst, _over_single, _over_default, _mixes, _cold, _warm, _predicted, _scale, _overhead, _manual,
        _thorough, _reduced, _fine,
    )  # fmt: skip
    return tuple(line(results) for line in lines)


def _networks(results: Results) -> Gate:
    found = results.suite.get("networks", {})
    gate = Gate(what="networks with valid figures", gate=f"≥ {NETWORKS}")
    left = ", ".join(name for name in found if name not in results.valid)
    figure = f"{len(results.valid)} of {len(found)}" + (f" (void or failed: {left})" if left else "")
    return _filled(gate, figure, len(results.valid) >= NETWORKS) if found else gate


def _worst(results: Results) -> Gate:
    gate = Gate(
        what="worst model against best single", gate=f"≥ {WORST} (interval half-width ≤ {WORST_HALF_WIDTH:.0%})"
    )
    gains = _gains(results, "speedup_over_best_single")
    if not gains:
        return gate
    name = min(gains, key=lambda name: (gains[name]["median"], name))
    gain = gains[name]
    half_width = (gain["high"] - gain["low"]) / 2 / gain["median"]
    # An interval that lies above the gate as a whole leaves nothing in doubt, however wide it is.
    sure = half_width <= WORST_HALF_WIDTH or gain["low"] >= WORST
    figure = f"{gain['median']:.3f} ± {half_width:.1%} ({name})"
    return _filled(gate, figure, gain["median"] >= WORST and sure)


def _over_single(results: Results) -> Gate:
    gate = Gate(what="geometric mean against best single", gate=f"≥ {MEAN_OVER_SINGLE}")
    return _mean(gate, _gains(results, "speedup_over_best_single"), MEAN_OVER_SINGLE)


def _over_default(results: Results) -> Gate:
    gate = Gate(what="geometric mean against ORT default", gate=f"≥ {MEAN_OVER_DEFAULT}")
    return _mean(gate, _gains(results, "speedup_over_onnxruntime_default"), MEAN_OVER_DEFAULT)


def _mixes(results: Results) -> Gate:
    gate = Gate(
        what=f"models where a true mix wins ≥ {MIX_GAIN - 1:.0%} in each of {MIX_PROCESSES} processes",
        gate=f"≥ {MIXES}",
    )
    if not results.valid:
        return gate
    winners = [name for name, entry in results.valid.items() if _mix_wins(entry)]
    return _filled(gate, f"{len(winners)}" + (f" ({', '.join(winners)})" if winners else ""), len(winners) >= MIXES)


def _mix_wins(entry: Json) -> bool:
    gain = entry["speedup_over_best_single"]
    everywhere = len(gain["sets"]) >= MIX_PROCESSES and min(gain["sets"]) >= MIX_GAIN
    return bool(entry["plan"]["true_mix"]) and everywhere and gain["median"] >= MIX_GAIN


def _cold(results: Results) -> Gate:
    return _seconds("planned, cold store", results, "cold_s", COLD_S)


def _warm(results: Results) -> Gate:
    return _seconds("planned, warm store", results, "warm_s", dict.fromkeys(COLD_S, WARM_S))


def _seconds(what: str, results: Results, key: str, limits: Mapping[str, float]) -> Gate:
    limit = " / ".join(f"{each:g}" for each in limits.values())
    gate = Gate(what=f"{what}: {' / '.join(limits)}", gate=f"≤ {limit} s")
    found = {name: results.planning.get(name, {}).get(key) for name in limits}
    if None in found.values():
        return gate
    return _filled(
        gate,
        " / ".join(f"{seconds:.1f}" for seconds in found.values()) + " s",
        all(found[name] <= limits[name] for name in limits),
    )


def _predicted(results: Results) -> Gate:
    gate = Gate(
        what=f"predicted within {PREDICTED_WITHIN:.0%} of measured", gate=f"≥ {PREDICTED_SHARE:.0%} of the suite"
    )
    plans = {name: entry["plan"] for name, entry in results.valid.items() if entry["plan"]["measured_ms"]}
    if not plans:
        return gate
    off = [name for name, plan in plans.items() if not _is_near(plan)]
    share = 1 - len(off) / len(plans)
    figure = f"{share:.0%}" + (f" (off: {', '.join(off)})" if off else "")
    return _filled(gate, figure, share >= PREDICTED_SHARE)


def _is_near(plan: Json) -> bool:
    predicted = plan["predicted_ms"]
    return predicted is not None and abs(predicted / plan["measured_ms"] - 1) <= PREDICTED_WITHIN


def _scale(results: Results) -> Gate:
    gate = Gate(what=f"{SCALE_NODES:,}-node graph partitioned, measurement aside", gate=f"≤ {SCALE_S:.0f} s")
    found = results.planning.get("scale")
    if found is None:
        return gate
    return _filled(gate, f"{found['seconds']:.2f} s", found["nodes"] >= SCALE_NODES and found["seconds"] <= SCALE_S)


def _overhead(results: Results) -> Gate:
    gate = Gate(what="one-partition plan over the direct call, 1 ms model", gate=f"≤ {OVERHEAD - 1:.0%}")
    return _ratio(gate, results.fixed_plans.get("overhead", {}).get("time_over_session"), OVERHEAD)


def _manual(results: Results) -> Gate:
    gate = Gate(what="resnet50 in 23 partitions against ORT alone", gate=f"≤ {MANUAL} of its time")
    return _ratio(gate, results.fixed_plans.get("manual", {}).get("time_over_onnxruntime"), MANUAL)


def _ratio(gate: Gate, found: Json | None, limit: float) -> Gate:
    if found is None:
        return gate
    figure = f"{found['median']:.3f} ({found['low']:.3f} to {found['high']:.3f})"
    return _filled(gate, figure, found["median"] <= limit)


def _thorough(results: Results) -> Gate:
    gate = Gate(
        what="resnet50's plan against a search without pruning",
        gate=f"≤ {THOROUGH_WITHIN} of its time, of ≥ {THOROUGH_CANDIDATES} times the candidates",
    )
    found = results.planning.get("thorough")
    if found is None:
        return gate
    times = found["plan_over_thorough"]
    candidates = found["thorough_candidates"] / found["plan_candidates"]
    figure = (
        f"{times['median']:.3f} of its time; {found['plan_candidates']} and {found['thorough_candidates']} candidates"
    )
    return _filled(gate, figure, times["median"] <= THOROUGH_WITHIN and candidates >= THOROUGH_CANDIDATES)


def near_blocks(results: Results) -> dict[str, float]:
    """How near each plan is to the best measured kernels: the sum of the best blocks over what was measured.

    Where a gate is out of reach, this is the line to hold instead: ≥ `BLOCKS_SHARE`.
    """
    found = results.block_times.get("networks", {})
    return {
        name: found[name]["sum_of_best_ms"] / entry["median_ms"]["intarsia"]
        for name, entry in results.valid.items()
        if found.get(name, {}).get("sum_of_best_ms")
    }


def _reduced(results: Results) -> Gate:
    return _allowed(results, *REDUCED)


def _fine(results: Results) -> Gate:
    return _allowed(results, *FINE)


def _allowed(results: Results, allowed: float, limit: float) -> Gate:
    """The slowest network with an allowed error against ONNX Runtime's defaults; all must keep to the error."""
    gate = Gate(what=f"slowest with an allowed error of {allowed:g}, against ORT default", gate=f"≥ {limit}")
    networks = results.accuracy.get("networks", {})
    found = {name: entry["allowed"][str(allowed)] for name, entry in networks.items() if "failed" not in entry}
    if not found:
        return gate
    gains = {name: each["speedup_over_onnxruntime_default"]["median"] for name, each in found.items()}
    name = min(gains, key=gains.__getitem__)
    faults = [
        f"{each} has an error of {entry['worst_error']:.3g}"
        for each, entry in found.items()
        if entry["worst_error"] > allowed
    ]
    faults += [f"{each} is void" for each, entry in found.items() if entry["void"]]
    figure = "; ".join([f"{gains[name]:.2f} ({name}, of {len(gains)})", *faults])
    return _filled(gate, figure, gains[name] >= limit and not faults and len(gains) >= REDUCED_NETWORKS)


def _gains(results: Results, key: str) -> dict[str, Json]:
    return {name: entry[key] for name, entry in results.valid.items() if entry[key] is not None}


def _mean(gate: Gate, gains: Mapping[str, Json], limit: float) -> Gate:
    if not gains:
        return gate
    mean = geometric_mean(gain["median"] for gain in gains.values())
    return _filled(gate, f"{mean:.3f} over {len(gains)}", mean >= limit)


def geometric_mean(figures: Iterable[float]) -> float:
    """Of at least one figure, all above 0."""
    logs = [math.log(figure) for figure in figures]
    return math.exp(sum(logs) / len(logs))


def _filled(gate: Gate, figure: str, is_met: bool) -> Gate:
    return Gate(what=gate.what, gate=gate.gate, figure=figure, is_met=is_met)


_HEADER = ("what", "gate", "figure", "met")
_MET = {True: "yes", False: "no", None: "not measured"}


def _rows(lines: Sequence[Gate]) -> Iterator[tuple[str, ...]]:
    yield from ((line.what, line.gate, line.figure, _MET[line.is_met]) for line in lines)


def as_text(lines: Sequence[Gate]) -> str:
    """Columns for a terminal."""
    rows = [_HEADER, *_rows(lines)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADER))]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def as_markdown(lines: Sequence[Gate]) -> str:
    """A table for a page."""
    rows = chain([_HEADER, ("---",) * len(_HEADER)], _rows(lines))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def read(folder: Path) -> Results:
    """The results that are there."""
    files = {name: folder / f"{name}.json" for name in SOURCES}
    return Results(**{name: json.loads(file.read_text("utf-8")) for name, file in files.items() if file.exists()})


def main() -> None:
    """Print the table."""
    results = read(RESULTS)
    lines = gates(results)
    print(as_markdown(lines) if "--markdown" in sys.argv[1:] else as_text(lines))
    for name, share in sorted(near_blocks(results).items(), key=lambda pair: pair[1]):
        if share < BLOCKS_SHARE:
            print(f"{name}: its best measured blocks add up to {share:.0%} of the plan's time")
    sys.exit(not all(line.is_met for line in lines))


if __name__ == "__main__":
    main()
