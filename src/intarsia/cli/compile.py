"""``intarsia compile``: a model in, an artifact and the reasons out."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from intarsia.cli.console import print_json, progress_line
from intarsia.cli.options import FILE, json_option, measuring_options, verbose_option, with_options
from intarsia.cli.tables import print_outcome

if TYPE_CHECKING:
    from intarsia.driver import Strategy

SUFFIX = ".intarsia"


@click.command("compile", short_help="Find the fastest mix of engines and write it.")
@click.argument("model", type=FILE)
@with_options(*measuring_options)
@click.option(
    "--partition",
    type=click.Choice(["single", "greedy", "collage", "manual"]),
    help="How to divide the model. [default: collage, or manual with --plan]",
)
@click.option("--plan", metavar="FILE", type=FILE, help="Plan file that --partition manual replays.")
@click.option("--seed", metavar="N", type=int, default=0, show_default=True, help="For inputs and search.")
@click.option("-o", "--output", metavar="OUT", type=FILE, help=f"The artifact. [default: MODEL with suffix {SUFFIX}]")
@json_option
@verbose_option
def compile_(
    model: Path,
    partition: Strategy | None,
    plan: Path | None,
    output: Path | None,
    shapes: tuple[tuple[str, Any], ...],
    as_json: bool,
    **settings: Any,
) -> None:
    """Measure which engine is best for which part of MODEL, and write the artifact that runs it."""
    out = _destination(model, output)
    from intarsia.driver import compile

    with progress_line() as progress:
        compiled = compile(
            model,
            partition=partition or ("manual" if plan else "collage"),
            plan=plan,
            shapes=dict(shapes) or None,
            progress=progress,
            **settings,
        )
    with compiled:
        compiled.save(out)
        report = {**compiled.report, "artifact": str(out)}
    if as_json:
        print_json(report)
    else:
        print_outcome(report)
        click.echo(f"\nwrote {out}")


def _destination(model: Path, output: Path | None) -> Path:
    """Checked before the minutes are spent, not after."""
    out = output or model.with_suffix(SUFFIX)
    wrong = None
    if out.is_dir():
        wrong = "it is a folder"
    elif not out.parent.is_dir():
        wrong = f"{out.parent} is not a folder"
    elif not os.access(out.parent, os.W_OK):
        wrong = f"no right to write in {out.parent}"
    elif out.exists() and model.exists() and out.samefile(model):
        wrong = "it is the model itself; name another file with -o"
    if wrong is not None:
        raise click.UsageError(f"cannot write {out}: {wrong}")
    return out
