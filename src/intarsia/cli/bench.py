"""``intarsia bench``: finished artifacts timed against each other, or against an engine as it comes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from intarsia.cli.console import print_answer, print_table, print_text, progress_line
from intarsia.cli.machine import complete_target
from intarsia.cli.options import FILE, Seconds, json_option, seed_option, verbose_option
from intarsia.cli.trust import trust_options
from intarsia.errors import ExecutionError
from intarsia.report.reasons import NOTHING, megabytes, ms
from intarsia.wording import counted

if TYPE_CHECKING:
    from intarsia.evaluation.benchmark import Benchmark
    from intarsia.runtime.artifact.trust import Trust

Json = dict[str, Any]


@click.command(short_help="Time artifacts against each other.")
@click.argument("artifacts", metavar="ARTIFACT...", type=FILE, nargs=-1, required=True)
@click.option(
    "--against",
    metavar="SPEC",
    multiple=True,
    shell_complete=complete_target,
    help="Also an engine that runs the model whole, as it comes.",
)
@click.option("--budget", type=Seconds(), metavar="SECONDS", default=20.0, show_default=True, help="Seconds to spend.")
@seed_option
@trust_options
@json_option
@verbose_option
def bench(
    artifacts: tuple[Path, ...], against: tuple[str, ...], budget: float, seed: int, as_json: bool, trust: Trust
) -> None:
    """Time ARTIFACTs in turns, in several sets of fresh processes, on the same inputs.

    All are compared with the first, or with the first engine that --against names (such as onnxruntime, or any spec of
    one target), which has as many threads as the first artifact. The baseline also runs twice: where its ratio to
    itself differs from 1 by more than 2 %, or its 95 % interval by more than 10 %, nothing is called faster or slower.

    Programs for emulated boards are compared by the instructions that one call executes.
    """
    from intarsia.evaluation.benchmark import benchmark
    from intarsia.evaluation.instructions import are_emulated, count
    from intarsia.runtime import Artifact
    from intarsia.target import Target

    opened = [Artifact(path, trust) for path in artifacts]
    if are_emulated(opened):
        if against:
            raise click.UsageError(
                "--against times an engine here, and these programs run in an emulator: leave it out"
            )
        with progress_line() as progress:
            plans = count(opened, seed, progress)
        print_answer({"plans": plans}, _print_instructions, as_json=as_json)
        return
    with progress_line() as progress:
        found = benchmark(opened, [Target(spec) for spec in against], budget, seed, progress)
    print_answer(_report(found), _print, as_json=as_json)
    for name, (stage, reason) in found.verdict.failed.items():
        raise ExecutionError(found.targets[name], f"{name}, {stage}: {reason}")


def _print_instructions(report: Mapping[str, Any]) -> None:
    first = report["plans"][0]["instructions"]
    rows = [
        (
            each["name"],
            f"{each['instructions']:,}",
            f"{each['instructions'] / first:.3f}",
            each["place"],
            each["targets"],
        )
        for each in report["plans"]
    ]
    header = ("plan", "instructions", "ratio", "on", "runs on")
    print_table(header, rows, numbers=header[1:3])
    print_text("\ninstructions of one call in QEMU, which models no cycles")


def _report(found: Benchmark) -> Json:
    verdict = found.verdict
    control = None if not verdict.rounds_ms else asdict(verdict.speedup("control", found.baseline))
    return {
        "baseline": found.baseline,
        "plans": [_plan(found, name) for name in found.names],
        "control": control,
        "is_void": verdict.is_void,
        "rounds": sum(verdict.set_sizes),
        "processes": len(verdict.set_sizes),
    }


def _plan(found: Benchmark, name: str) -> Json:
    verdict = found.verdict
    facts: Json = {"name": name, "targets": found.targets[name]}
    if name not in verdict.benchmarked:
        stage, reason = verdict.failed.get(name, ("run", "it was not benchmarked"))
        return facts | {"failure": {"stage": stage, "reason": reason}}
    tail, footprint = verdict.tails[name], verdict.footprints[name]
    return facts | {
        "latency_ms": asdict(verdict.latency(name)),
        "p99_ms": None if tail.p99 is None else asdict(tail.p99),
        "calls": tail.calls,
        "speedup": asdict(verdict.speedup(name, found.baseline)),
        "verdict": "baseline" if name == found.baseline else verdict.compared(name, found.baseline).value,
        "cold_s": min(footprint.cold_s, default=None),
        "peak_bytes": footprint.peak_bytes,
    }


def _print(report: Mapping[str, Any]) -> None:
    header = ("plan", "ms", "95 %", "p99", "speed", "cold s", "peak", "runs on", "")
    print_table(header, [_row(plan) for plan in report["plans"]], numbers=header[1:7])
    control = report["control"]
    if control is not None:
        void = "; the machine was too noisy, so nothing is shown" * report["is_void"]
        print_text(
            f"\n{counted(report['rounds'], 'round')} in {counted(report['processes'], 'set')} of processes; "
            f"the baseline against itself: "
            f"{control['median']:.3f} ({control['low']:.3f} to {control['high']:.3f}){void}"
        )


def _row(plan: Json) -> tuple[str, ...]:
    if "failure" in plan:
        failed = f"failed at {plan['failure']['stage']}: {plan['failure']['reason']}"
        return plan["name"], NOTHING, "", NOTHING, NOTHING, NOTHING, NOTHING, plan["targets"], failed
    latency, speed, p99 = plan["latency_ms"], plan["speedup"], plan["p99_ms"]
    gain = "" if plan["verdict"] == "baseline" else f" ({speed['low']:.2f} to {speed['high']:.2f})"
    return (
        plan["name"],
        ms(latency["median"]),
        f"{ms(latency['low'])} to {ms(latency['high'])}",
        NOTHING if p99 is None else ms(p99["median"]),
        f"{speed['median']:.2f}",
        NOTHING if plan["cold_s"] is None else f"{plan['cold_s']:.2f}",
        megabytes(plan["peak_bytes"]),
        plan["targets"],
        plan["verdict"] + gain,
    )
