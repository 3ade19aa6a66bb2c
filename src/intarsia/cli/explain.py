"""``intarsia explain``: what an artifact does and what it was measured against; loads no engine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from intarsia.cli.console import echo, print_answer, print_json, print_text
from intarsia.cli.deployment import explain_deployed, is_deployed
from intarsia.cli.options import FILE, json_option, long_option
from intarsia.cli.tables import print_layers, print_outcome
from intarsia.cli.trust import code_facts, code_lines, reading_options

if TYPE_CHECKING:
    from intarsia.runtime import Artifact
    from intarsia.runtime.artifact.trust import Trust


@click.command(short_help="Show an artifact's plan and why.")
@click.argument("artifact", type=FILE)
@click.option("--plan", is_flag=True, help="Print the plan file instead, to edit and hand to compile --plan.")
@reading_options
@json_option
@long_option
def explain(artifact: Path, plan: bool, as_json: bool, verbose: bool, trust: Trust) -> None:
    """Show which engine runs which part of ARTIFACT, and the measurements that decided it.

    Also who signed it, the machine code that it holds, and the libraries and interpreters that it names.
    """
    from intarsia.runtime import Artifact
    from intarsia.runtime.artifact.artifact import reading_report

    if is_deployed(artifact):
        explain_deployed(artifact, plan=plan, as_json=as_json)
        return
    opened = Artifact(artifact, trust)
    if plan:
        facts = {"artifact": str(opened.path), "plan": opened.plan_text()}
        print_answer(facts, lambda facts: echo(facts["plan"], nl=False), as_json=as_json)
        return
    report = opened.report() | {"artifact": str(artifact), "engines": engines_of(opened)} | code_facts(opened)
    with reading_report(artifact):
        if as_json:
            print_json(report)
            return
        versions = ", ".join(f"{name} {facts['version']}" for name, facts in report["engines"].items())
        print_text(f"{artifact}: built with {versions} on {opened.manifest.machine.cpu}")
        for line in code_lines(report):
            print_text(line)
        echo("")
        print_outcome(report, verbose=verbose)
        if not verbose:
            print_layers(report)


def engines_of(opened: Artifact) -> dict[str, dict[str, Any]]:
    """The engines that an artifact needs, with the version and licence of each."""
    return {name: {"version": e.version, "licence": e.licence} for name, e in opened.manifest.engines.items()}
