"""``intarsia export``: a single-engine plan as files that need no Intarsia to run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from intarsia.cli.console import echo, print_json
from intarsia.cli.options import FILE, json_option, verbose_option
from intarsia.cli.trust import trust_options

if TYPE_CHECKING:
    from intarsia.runtime.artifact.trust import Trust


@click.command(short_help="Write an engine's native files.")
@click.argument("artifact", type=FILE)
@click.argument("folder", metavar="[DIR]", type=FILE, required=False)
@trust_options
@json_option
@verbose_option
def export(artifact: Path, folder: Path | None, as_json: bool, trust: Trust) -> None:
    """Write the engine's native files and options of a single-engine ARTIFACT into DIR.

    Without DIR they go into a folder of the artifact's name, in the working directory.
    """
    folder = folder or Path(artifact.stem)
    if folder.exists() and not folder.is_dir():
        raise click.UsageError(f"cannot write into {folder}: it is a file; name a folder behind the artifact")
    from intarsia.runtime import Artifact, CompiledModel
    from intarsia.runtime import export as write

    with CompiledModel(Artifact(artifact, trust)) as model:
        files = write(model, folder)
        if as_json:
            facts = {"artifact": str(artifact), "target": str(model.plan.partitions[0].target)}
            print_json(facts | {"files": [str(path) for path in files]})
            return
    for path in files:
        echo(str(path))
