"""``intarsia report``: an artifact's report as one HTML page; loads no engine, unless it is to run the plan."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from intarsia.cli.console import print_json
from intarsia.cli.options import FILE, json_option, verbose_option
from intarsia.errors import ArtifactError

if TYPE_CHECKING:
    from intarsia.runtime import Artifact

SUFFIX = ".html"
RANDOM_SEED = 0


@click.command(short_help="Write an artifact's report as one HTML page.")
@click.argument("source", metavar="ARTIFACT|REPORT.json", type=FILE)
@click.option("-o", "--output", metavar="OUT", type=FILE, help=f"The page. [default: ARTIFACT with suffix {SUFFIX}]")
@click.option("--run", is_flag=True, help="Run the artifact on random inputs too, and show what each part takes now.")
@json_option
@verbose_option
def report(source: Path, output: Path | None, run: bool, as_json: bool) -> None:
    """Write one self-contained page: which engine runs what, how fast, and why.

    Of a report alone (what compile --json prints) it shows everything but the graph.
    """
    from intarsia.report.page import render, write

    out = output or source.with_suffix(SUFFIX)
    if _is_json(source):
        if run:
            raise click.UsageError(f"{source} is a report: only an artifact can be run")
        facts = _read(source)
        page = render(facts)
    else:
        from intarsia.runtime import Artifact

        opened = Artifact(source)
        facts = opened.report() | {"artifact": str(source)}
        page = render(facts, opened.graph(), _provenance(opened, run))
    _write(write, page, out)
    if as_json:
        nodes = sum(len(part["nodes"]) for part in facts["partitions"])
        print_json({"source": str(source), "page": str(out), "bytes": out.stat().st_size, "nodes": nodes})
    else:
        click.echo(f"wrote {out}")


def _is_json(source: Path) -> bool:
    """An artifact is a zip."""
    try:
        with source.open("rb") as stream:
            return stream.read(64).lstrip()[:1] == b"{"
    except OSError as error:
        raise ArtifactError(f"{source}: cannot be read ({error.strerror})") from error


def _read(source: Path) -> Mapping[str, Any]:
    try:
        facts = json.loads(source.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ArtifactError(f"{source}: cannot be read as JSON ({error})") from error
    if not isinstance(facts, dict) or "partitions" not in facts:
        raise ArtifactError(f"{source}: no report of a compile; intarsia compile MODEL --json prints one")
    return facts


def _provenance(opened: Artifact, run: bool) -> Any:
    from intarsia.report.page import Provenance

    engines = {name: {"version": e.version, "licence": e.licence} for name, e in opened.manifest.engines.items()}
    return Provenance(engines=engines, plan=opened.plan_text(), run_ms=_run(opened) if run else None)


def _run(opened: Artifact) -> list[float]:
    from intarsia.runtime import CompiledModel, random_feeds

    with CompiledModel(opened) as model:
        return model.profile(random_feeds(model.sample_inputs, RANDOM_SEED))


def _write(write: Any, page: str, out: Path) -> None:
    try:
        write(page, out)
    except OSError as error:
        raise click.UsageError(f"cannot write {out}: {error.strerror}") from error
