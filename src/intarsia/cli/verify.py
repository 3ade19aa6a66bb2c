"""``intarsia verify``: is an artifact whole, does it answer rightly here, and is its mix still worth it?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from intarsia.cli.console import echo, print_answer, print_table, print_text, progress_line
from intarsia.cli.feeds import read_feeds
from intarsia.cli.options import ARRAY, FILE, SEED, json_option, store_option, verbose_option
from intarsia.cli.trust import is_signed, trust_options
from intarsia.errors import MismatchError
from intarsia.files import scratch
from intarsia.report.reasons import ms

if TYPE_CHECKING:
    from intarsia.cost.records.store_url import StoreUrl
    from intarsia.cost.worker.progress import Watcher
    from intarsia.evaluation.recheck import Timing
    from intarsia.evaluation.verification import Check
    from intarsia.runtime import Artifact
    from intarsia.runtime.artifact.trust import Trust

VALIDATION_SEED = 1
"""A compile checks with the seed 0."""
SLOWER = 6
"""Exit code of a mix that is slower here than an engine alone; `compare --fail-if` has it for a broken limit."""


@click.command(short_help="Check an artifact against the reference.")
@click.argument("artifact", type=FILE)
@click.option("--input", "inputs", type=ARRAY, multiple=True, help="An input from a .npy file; others are at random.")
@click.option(
    "--seed", "seeds", metavar="N", type=SEED, multiple=True, help=f"Of inputs at random. [default: {VALIDATION_SEED}]"
)
@click.option(
    "-o", "--output", metavar="OUT", type=FILE, help="Write the engine alone there, if it is faster here than the mix."
)
@store_option
@trust_options
@json_option
@verbose_option
@click.pass_context
def verify(
    context: click.Context,
    /,
    artifact: Path,
    inputs: tuple[tuple[str, Path], ...],
    seeds: tuple[int, ...],
    output: Path | None,
    store: Path | StoreUrl | None,
    as_json: bool,
    trust: Trust,
) -> None:
    """Check that ARTIFACT is whole, and that what it computes here is what ONNX's own evaluator computes.

    Then it is timed, a mix against the engine that was the fastest one alone when it was compiled: some ten seconds.

    Exits with 5 if an output is further off than its dtype allows, and with 6 if that engine is faster here; with -o,
    a plan with that engine alone is written then instead. --input and --seed may be given more than once.
    """
    from intarsia.cost.records.store import open_store
    from intarsia.evaluation.recheck import retime
    from intarsia.evaluation.verification import verify_artifact
    from intarsia.runtime import Artifact

    opened, seeds = Artifact(artifact, trust), seeds or (VALIDATION_SEED,)
    feeds = read_feeds(dict(inputs))
    with progress_line() as progress:
        checks = verify_artifact(opened, open_store(store), seeds, feeds, progress)
        is_right = all(check.is_right for check in checks)
        timing = retime(opened, seeds[0], progress) if is_right else None
        is_slower = timing is not None and timing.is_slower
        if output is not None and timing is not None and timing.single is not None and is_slower:
            _fall_back(opened, timing.single, output, store, progress)
    written = str(output) if is_slower and output is not None else None
    report = _report(opened, checks) | {"timing": None if timing is None else asdict(timing), "written": written}
    print_answer(report, partial(_print, timing=timing), as_json=as_json)
    context.exit(MismatchError.exit_code if not is_right else SLOWER if is_slower and written is None else 0)


def _fall_back(opened: Artifact, single: str, output: Path, store: Path | StoreUrl | None, progress: Watcher) -> None:
    """Compile the model that the artifact holds for that engine alone."""
    from intarsia.driver import compile

    with scratch() as folder:
        model = folder / f"{opened.path.stem}.onnx"
        opened.save_model(model)
        threads = opened.plan.settings.threads
        with compile(model, single, partition="single", threads=threads, store=store, progress=progress) as compiled:
            compiled.save(output)


def _report(opened: Artifact, checks: Sequence[Check]) -> dict[str, Any]:
    return {
        "artifact": str(opened.path),
        "bytes": opened.path.stat().st_size,
        "signed_by": opened.signer if is_signed(opened) else None,
        "engines": {name: engine.version for name, engine in opened.manifest.engines.items()},
        "changed_engines": opened.changed_engines(),
        "remarks": opened.check_machine(),
        "is_right": all(check.is_right for check in checks),
        "verified": opened.plan.settings.verified,
        "checks": [
            {
                "inputs": check.inputs,
                "is_right": check.is_right,
                "outputs": [
                    {
                        "name": found.name,
                        "error": found.error if isfinite(found.error) else None,
                        "allowed": found.allowed,
                        "is_right": found.is_acceptable,
                    }
                    for found in check.outputs
                ],
                "unchecked": list(check.unchecked),
                "guilty": check.guilty,
            }
            for check in checks
        ],
    }


def _print(report: Mapping[str, Any], timing: Timing | None) -> None:
    engines = ", ".join(f"{name} {version}" for name, version in report["engines"].items())
    signed = "" if report["signed_by"] is None else f", signed by the key {report['signed_by']}"
    print_text(f"{report['artifact']}: {report['bytes'] / 1e6:.1f} MB, its checksum holds{signed}; {engines}")
    for change in report["changed_engines"]:
        print_text(f"rebuilt in memory, since {change}")
    for remark in report["remarks"]:
        print_text(remark)
    rows = []
    for check in report["checks"]:
        for found in check["outputs"]:
            error = "not comparable" if found["error"] is None else f"{found['error']:.2g}"
            verdict = "right" if found["is_right"] else "wrong"
            rows.append((check["inputs"], found["name"], error, f"{found['allowed']:.2g}", verdict))
        rows += [(check["inputs"], name, "", "", "unchecked") for name in check["unchecked"]]
    click.echo()
    print_table(("inputs", "output", "error", "allowed", ""), rows, numbers=("error", "allowed"))
    if not report["verified"]:
        click.echo("\nit ships unverified: when it was compiled, no engine could be shown to answer rightly")
    for guilty in filter(None, (check["guilty"] for check in report["checks"])):
        print_text(f"\n{guilty}")
    if timing is not None:
        print_text(f"\n{_told(timing)}")
        if report["written"] is not None:
            echo(f"wrote {report['written']}, with that engine alone")
        elif timing.is_slower:
            click.echo("that engine alone is better here; -o OUT writes a plan with it")


def _told(timing: Timing) -> str:
    then = "" if timing.then_ms is None else f"; it took {ms(timing.then_ms)} when it was compiled"
    here = f"{ms(timing.ms.median)} ms a call here ({ms(timing.ms.low)} to {ms(timing.ms.high)}){then}"
    if timing.single is None:
        return here
    if timing.speedup is None or timing.single_ms is None:
        return f"{here}\n{timing.single} alone was not timed: {timing.untimed}"
    gain = timing.speedup
    times, spread = f"{gain.median:.2f} times as fast", f"{gain.low:.2f} to {gain.high:.2f}"
    match timing.shown:
        case "faster":
            verdict = f"{times} as {timing.single} alone ({spread})"
        case "slower":
            verdict = f"slower than {timing.single} alone: {times} ({spread})"
        case "void":
            verdict = f"the machine is too noisy now to compare it with {timing.single} alone ({spread} times as fast)"
        case _:
            from intarsia.cost.timing.verdict import unshown

            verdict = f"no difference shown to {timing.single} alone ({unshown(gain, None)})"
    return f"{here}\n{verdict}"
