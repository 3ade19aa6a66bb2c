"""Tables of what the runtime `cpp` costs beside Python's, and of a loop whose body has a plan of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.control_flow import RESULTS as CONTROL_FLOW
from benchmarks.cpp_runtime import RESULTS as CPP_RUNTIME

__all__ = ["CONTROL_FLOW", "CPP_RUNTIME", "control_flow", "cpp_runtime"]

Json = Mapping[str, Any]


def cpp_runtime(found: Json) -> Iterator[tuple[str, ...]]:
    """For each plan a call and a cold start, with the control of each."""
    yield ("plan", "a call, of Python's time", "control", "cold start, ms", "of the best engine's own", "control")
    for plan, row in found["plans"].items():
        call, start = row["latency"], row["cold start"]
        best = min((name for name in start["ms"] if name.endswith("alone")), key=start["ms"].__getitem__)
        yield (
            plan,
            f"{call['cpp / python']:.2f}",
            f"{call['control']:.2f}",
            f"{start['ms']['cpp']:.0f}",
            f"{start[f'cpp / {best}']:.2f}",
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
