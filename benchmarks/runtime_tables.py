"""What pages say of starts, of the runtime `cpp` beside Python's, and of a loop whose body has a plan of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Json = Mapping[str, Any]


def cpp_runtime(found: Json) -> Iterator[tuple[str, ...]]:
    """For each plan a call and a cold start, with the control of each."""
    yield ("plan", "a call, of Python's time", "control", "cold start, ms", "of the best engine's own", "control")
    for plan, row in found["plans"].items():
        call, start = row["latency"], row["cold start"]
        yield (
            plan,
            f"{call['cpp / python']:.2f}",
            f"{call['control']:.2f}",
            f"{start['ms']['cpp']:.0f}",
            f"{_of_the_best(start):.2f}",
            f"{start['control']:.2f}",
        )


def control_flow(found: Json) -> str:
    """One sentence."""
    loop = found["refining"]
    gain, control, ms = loop["speed_over_best_single"], loop["control"], loop["median_ms"]
    inside = sorted({part["target"] for body in loop["bodies"] for part in body["partitions"]})
    around = sorted({part["target"] for part in loop["partitions"]} - {"control-flow"})
    where = "in the loop and around it" if inside == around else f"in the loop and {', '.join(around)} around it"
    best = loop["best_single"]
    return (
        f"A network that refines a picture in a loop takes {ms['intarsia']:.1f} ms with {', '.join(inside)} {where},\n"
        f"and {ms[best]:.1f} ms on {best}, the best engine that runs the loop by itself: {gain['median']:.2f} times\n"
        f"as fast ({gain['low']:.2f} to {gain['high']:.2f}; control {control['median']:.2f}; "
        "`benchmarks/control_flow.py`)."
    )


def starts(python: Json, cpp: Json) -> str:
    """One sentence: what the starts of plans on ONNX Runtime take of those of the best engine itself."""
    own = [found["ratios"]["intarsia, onnxruntime"]["wall_ms"] for found in python.values()]
    native = [_of_the_best(row["cold start"]) for plan, row in cpp["plans"].items() if plan.endswith(" onnxruntime")]
    return (
        "From the start of a process to its first answer, artifacts for ONNX Runtime take "
        f"{min(own):.2f} to {max(own):.2f}\n"
        "of the time of the best engine's own start in Python, and "
        f"{min(native):.2f} to {max(native):.2f} in C++\n"
        f"({', '.join(sorted(python))}): [all starts](docs/ship.md#the-start), [in C++](docs/cpp.md#how-fast-it-is)."
    )


def _of_the_best(start: Json) -> float:
    best = min((name for name in start["ms"] if name.endswith("alone")), key=start["ms"].__getitem__)
    return float(start[f"cpp / {best}"])
