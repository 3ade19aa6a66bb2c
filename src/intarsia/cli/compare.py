"""``intarsia compare``: every engine side by side on one model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from intarsia.cli.console import print_json, progress_line
from intarsia.cli.machine import MachineCommand
from intarsia.cli.options import FILE, json_option, long_option, measuring_options, with_options
from intarsia.cli.tables import print_plans


@click.command(cls=MachineCommand, short_help="Time every engine on a model.")
@click.argument("model", type=FILE)
@with_options(*measuring_options)
@json_option
@long_option
def compare(model: Path, shapes: tuple[tuple[str, Any], ...], as_json: bool, verbose: bool, **settings: Any) -> None:
    """Time MODEL on every engine, each with its best options, and recommend one. Nothing is written."""
    from intarsia.driver import compare as measure

    with progress_line() as progress:
        report = measure(model, shapes=dict(shapes) or None, progress=progress, **settings).json()
    if as_json:
        print_json(report)
        return
    print_plans(report, verbose=verbose)
    click.echo(f"\n{report['recommendation']}")
