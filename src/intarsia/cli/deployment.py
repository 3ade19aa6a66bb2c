"""``--deployment``: a model over several machines, compiled, run and explained."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click
from click.core import ParameterSource

from intarsia.cli.console import Stopped, began, echo, print_answer, print_table, print_text, progress_line
from intarsia.report.reasons import ms
from intarsia.wording import counted

if TYPE_CHECKING:
    from intarsia.deploy.model import DeployedModel
    from intarsia.driver import CompileOptions

deployment_option = click.option(
    "--deployment",
    metavar="FILE",
    help="Several machines and their workers, as a file, a tag or text: the model may be divided among them.",
)


def refuse_others(context: click.Context) -> None:
    """Raise a `click.UsageError` for a flag that says what ``--deployment`` says, or is of one machine."""
    from intarsia.deploy.verbs import REFUSED

    for name in ("place", "target", *REFUSED):
        source = context.get_parameter_source(name)
        if name in context.params and source not in (None, ParameterSource.DEFAULT) and context.params[name]:
            flag = "on" if name == "place" else name.replace("_", "-")
            raise click.UsageError(f"--{flag} is of one machine; leave out that or --deployment")


def compile_for(model: Path, deployment: str, out: Path, options: CompileOptions, *, as_json: bool) -> None:
    """Compile a model for the machines of a deployment, and write the artifact."""
    from intarsia.deploy.verbs import REFUSED, compile_deployment

    stated = {name: value for name, value in options.items() if name not in REFUSED and value is not None}
    kept = cast("CompileOptions", stated)
    with _nothing_kept(), progress_line() as progress:
        compiled = compile_deployment(model, deployment, progress=progress, began=began(), **kept)
    with compiled:
        compiled.save(out)
        report = {**compiled.report, "artifact": str(out)}
    print_answer(report, print_deployed, as_json=as_json)
    if not as_json:
        echo(f"\nwrote {out}")


def loaded(artifact: Path, deployment: str, trust: Any) -> DeployedModel:
    """An artifact, loaded on the machines of a deployment."""
    from intarsia.deploy.verbs import load_deployment

    return load_deployment(artifact, deployment, trust=trust)


def is_deployed(artifact: Path) -> bool:
    """Whether it is an artifact for several machines, by the names of what it holds; nothing is checked."""
    import zipfile

    from intarsia.runtime.artifact.container import DEPLOYMENT

    try:
        with zipfile.ZipFile(artifact) as archive:
            return DEPLOYMENT in archive.namelist()
    except (OSError, ValueError, NotImplementedError, zipfile.BadZipFile):
        return False


def explain_deployed(artifact: Path, *, plan: bool, as_json: bool) -> None:
    """Show which machine runs which stage of an artifact, and the measurements that decided it."""
    from intarsia.deploy.artifact import DeployedArtifact
    from intarsia.runtime.artifact.artifact import reading_report

    if plan:
        raise click.UsageError("--plan prints the plan file of one machine, and this artifact is for several")
    report = DeployedArtifact(artifact).report()
    with reading_report(artifact):
        print_answer(report, print_deployed, as_json=as_json)


@contextmanager
def _nothing_kept() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        raise Stopped(
            "interrupted: nothing is written; the same command goes on from what the machines recorded", None
        ) from None


def print_deployed(report: Mapping[str, Any]) -> None:
    """The report of a model over several machines, as a person reads it."""
    print_text(f"{Path(report['artifact']).name}: {report['reason']}")
    echo("")
    stages = [
        (str(number), stage["machine"], " + ".join(stage["engines"]), str(stage["nodes"]), ms(stage["ms"]))
        for number, stage in enumerate(report["stages"], start=1)
    ]
    print_table(("stage", "machine", "runs on", "nodes", "ms"), stages, numbers=("nodes", "ms"))
    echo("")
    print_table(
        ("machine", "alone", "its ms", "round trip", "bandwidth"),
        [_machine_row(name, machine) for name, machine in report["machines"].items()],
        numbers=("its ms", "round trip", "bandwidth"),
    )
    if report["plans"]:
        echo("")
        what = "ms a request of a stream" if report["objective"] == "throughput" else "ms a call, from here"
        rows = [
            (plan["name"], ms(plan["ms"]), f"{plan['speed']['median']:.2f}", plan["shown"] or "the one to beat")
            for plan in report["plans"]
        ]
        print_table(("plan", what, "speed", ""), rows, numbers=(what, "speed"))
        control = report["control"]
        if control is not None:
            state = "void: the same plan differed from itself" if control["is_void"] else "the same plan against itself"
            print_text(f"A/A control {control['median']:.3f} ({control['low']:.3f} to {control['high']:.3f}), {state}")
    for name, why in report["failed"].items():
        print_text(f"{name} was left out: {why}")
    for remark in report["remarks"]:
        print_text(remark)
    print_text(f"took {report['seconds']:.0f} s on {counted(len(report['machines']), 'machine')}")


def _machine_row(name: str, machine: Mapping[str, Any]) -> tuple[str, ...]:
    alone, link = machine["alone"], machine["link"]
    chosen = ("does not run the whole model", "") if alone is None else (alone["chosen"], ms(alone["ms"]))
    if link is None:
        return (name, *chosen, "this machine", "")
    return (name, *chosen, f"{ms(link['round_trip_ms'])} ms", f"{link['bytes_per_s'] / 1e6:.1f} MB/s")
