"""``intarsia report``: an artifact's report as one HTML page; loads no engine, unless it is to run the plan."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from intarsia.cli.console import echo, print_answer
from intarsia.cli.explain import engines_of
from intarsia.cli.options import FILE, json_option, verbose_option
from intarsia.cli.trust import trust_options
from intarsia.errors import ArtifactError
from intarsia.files import check_place, replace_file
from intarsia.numbers import shown
from intarsia.report.reasons import NEEDED

if TYPE_CHECKING:
    from intarsia.runtime import Artifact
    from intarsia.runtime.artifact.trust import Trust

SUFFIX = ".html"
RANDOM_SEED = 0


@click.command(short_help="Write an artifact's report as one HTML page.")
@click.argument("source", metavar="ARTIFACT|REPORT.json", type=FILE)
@click.option("-o", "--output", metavar="OUT", type=FILE, help=f"The page. [default: ./ARTIFACT{SUFFIX}]")
@click.option(
    "--run", is_flag=True, help="Also run the artifact on random inputs, and show what each partition takes now."
)
@trust_options
@json_option
@verbose_option
def report(source: Path, output: Path | None, run: bool, as_json: bool, trust: Trust) -> None:
    """Write one page that holds all of itself: which engine runs what, how fast, and why.

    Of a report alone (what compile --json prints) it shows everything but the graph.
    """
    out = output or Path(source.name).with_suffix(SUFFIX)
    if out.exists() and source.exists() and out.samefile(source):
        raise click.UsageError(f"cannot write {out}: it is the artifact itself; name another file with -o")
    check_place(out)
    page, nodes, run_ms = _of_report(source, run, trust) if _is_json(source) else _of_artifact(source, run, trust)
    replace_file(out, page.encode())
    facts = {"source": str(source), "page": str(out), "bytes": len(page.encode()), "nodes": nodes, "run_ms": run_ms}
    print_answer(facts, lambda facts: echo(f"wrote {facts['page']}"), as_json=as_json)


Made = tuple[str, int, Sequence[float] | None]
"""The page, the count of its nodes, and what a run took."""


def _of_report(source: Path, run: bool, trust: Trust) -> Made:
    from jinja2 import TemplateError

    from intarsia.report.page import render

    if trust.signed_by:
        raise click.UsageError(f"{source} is a report: only an artifact can be signed")
    if run or _is_about_code(trust):
        raise click.UsageError(f"{source} is a report: only an artifact can be run")
    facts = _read(source)
    try:
        return render(facts), _nodes(facts), None
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, TemplateError) as error:
        raise ArtifactError(
            f"{source}: no report as a compile writes it ({type(error).__name__}: {shown(str(error))}); "
            "intarsia compile MODEL --json prints one"
        ) from error


def _is_about_code(trust: Trust) -> bool:
    return bool(trust.allow) or not trust.machine_code or trust.trusted


def _of_artifact(source: Path, run: bool, trust: Trust) -> Made:
    from intarsia.report.page import Provenance, render
    from intarsia.runtime import Artifact
    from intarsia.runtime.artifact.artifact import reading_report

    if not run and _is_about_code(trust):
        raise click.UsageError("--allow, --no-machine-code and --trusted are about running the artifact: add --run")
    opened = Artifact(source, trust if run else replace(trust, is_read=True))
    facts = opened.report() | {"artifact": str(source)}
    run_ms = _run(opened) if run else None
    provenance = Provenance(engines=engines_of(opened), plan=opened.plan_text(), run_ms=run_ms)
    graph = opened.graph()
    with reading_report(source):
        return render(facts, graph, provenance), _nodes(facts), run_ms


def _nodes(facts: Mapping[str, Any]) -> int:
    return sum(len(part["nodes"]) for part in facts["partitions"])


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
    except (OSError, ValueError, RecursionError) as error:
        raise ArtifactError(f"{source}: cannot be read as JSON ({error})") from error
    if not isinstance(facts, dict):
        raise ArtifactError(f"{source}: no report of a compile; intarsia compile MODEL --json prints one")
    if missing := sorted(NEEDED - facts.keys()):
        raise ArtifactError(
            f"{source}: no report of a compile, it lacks {', '.join(missing)}; intarsia compile MODEL --json prints one"
        )
    report: Mapping[str, Any] = facts
    return report


def _run(opened: Artifact) -> list[float]:
    from intarsia.runtime import CompiledModel, random_feeds

    with CompiledModel(opened) as model:
        return model.profile(random_feeds(model.sample_inputs, RANDOM_SEED))
