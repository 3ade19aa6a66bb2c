"""The report of a compile for several machines, as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from intarsia.cost.timing.verdict import CONTROL_NAME
from intarsia.deploy.link_figures import LinkFigures
from intarsia.deploy.machines import Machine
from intarsia.version import __version__

if TYPE_CHECKING:
    from intarsia.config.deployment import Deployment
    from intarsia.deploy.decide import Outcome


def report_of(
    outcome: Outcome,
    deployment: Deployment,
    machines: Mapping[str, Machine],
    *,
    model: str,
    streams: bool,
    budget_s: float,
    seconds: float,
) -> dict[str, Any]:
    """What was measured and decided."""
    return {
        "model": model,
        "version": __version__,
        "objective": "throughput" if streams else "latency",
        "budget_s": budget_s,
        "seconds": seconds,
        "machines": {name: _machine(name, machine, outcome) for name, machine in machines.items()},
        "stages": [_stage(outcome, number) for number in range(len(outcome.plan.stages))],
        "chosen": outcome.plan.name,
        "best_alone": outcome.best_alone,
        "reason": outcome.reason,
        "plans": _plans(outcome),
        "control": _control(outcome),
        "predicted": [
            {
                "stages": [
                    {"machine": run.machine, "nodes": len(outcome.line.run(run.start, run.end))} for run in split.runs
                ],
                "ms": split.predicted_ms,
                "link_ms": split.link_ms,
            }
            for split in outcome.predicted
        ],
        "failed": dict(outcome.failed),
        "remarks": link_remarks(deployment, outcome.links),
    }


def _machine(name: str, machine: Machine, outcome: Outcome) -> dict[str, Any]:
    link = outcome.links[name]
    alone = next((plan for plan in outcome.alone if plan.name == name), None)
    report: Mapping[str, Any] = {} if alone is None else alone.stages[0].report
    return {
        "cpu": report.get("machine", {}).get("cpu"),
        "cores": report.get("machine", {}).get("cores"),
        "is_here": machine.place is None,
        "alone": None if alone is None else {"chosen": report["chosen"], "ms": alone.stages[0].ms},
        "link": None if link is None else {"round_trip_ms": link.round_trip_s * 1e3, "bytes_per_s": link.bytes_per_s},
    }


def _stage(outcome: Outcome, number: int) -> dict[str, Any]:
    stage = outcome.plan.stages[number]
    return {
        "machine": stage.machine,
        "nodes": len(stage.nodes),
        "first": stage.nodes[0],
        "last": stage.nodes[-1],
        "chosen": stage.report["chosen"],
        "engines": list(dict.fromkeys(part["target"] for part in stage.report["partitions"])),
        "ms": stage.ms,
        "max_rel_error": stage.report.get("max_rel_error"),
    }


def _plans(outcome: Outcome) -> list[dict[str, Any]]:
    """Every plan that was timed, the fastest first."""
    verdict = outcome.verdict
    if verdict is None:
        return []
    names = [name for name in verdict.rounds_ms if name != CONTROL_NAME]
    rows = []
    for name in sorted(names, key=verdict.expected_ms):
        gain = verdict.speedup(name, verdict.first)
        shown = None if name == verdict.first else verdict.compared(name, verdict.first, far_counts=True).value
        rows.append(
            {
                "name": name,
                "ms": verdict.expected_ms(name),
                "speed": asdict(gain),
                "shown": shown,
            }
        )
    return rows


def _control(outcome: Outcome) -> dict[str, Any] | None:
    verdict = outcome.verdict
    if verdict is None or not verdict.rounds_ms:
        return None
    return {**asdict(verdict.control), "is_void": verdict.is_void}


def link_remarks(deployment: Deployment, links: Mapping[str, LinkFigures | None]) -> list[str]:
    """For each link that is stated, that it was measured, and what; ``links`` holds the way to each machine."""
    found = []
    for link in deployment.links:
        stated = [f"{name} {value:g}" for name in ("bandwidth", "latency") if (value := link.options.get(name))]
        ways = {name: figures for name in link.between if (figures := links[name]) is not None}
        measured = "; ".join(
            f"to {name} {each.bytes_per_s:.3g} bytes/s and a round trip of {each.round_trip_s:.3g} s"
            for name, each in ways.items()
        )
        with_figures = f" with {' and '.join(stated)}" if stated else ""
        found.append(
            f"the link between {' and '.join(link.between)} is stated{with_figures}, which is not used: "
            f"values go through this machine, and its links were measured: {measured or 'both are this machine'}"
        )
    return found
