"""``intarsia export``: a single-engine plan as files that need no Intarsia to run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from intarsia.cli.console import echo, print_answer
from intarsia.cli.options import FILE, json_option, verbose_option
from intarsia.cli.trust import trust_options

if TYPE_CHECKING:
    from intarsia.runtime.artifact.trust import Trust


@click.command(short_help="Write an engine's native files.")
@click.argument("artifact", type=FILE)
@click.argument("folder", metavar="[DIR]", type=FILE, required=False)
@click.option("--with-test", "has_test", is_flag=True, help="Also a test of C with recorded inputs and outputs.")
@trust_options
@json_option
@verbose_option
def export(artifact: Path, folder: Path | None, has_test: bool, as_json: bool, trust: Trust) -> None:
    """Write the engine's native files and options of a single-engine ARTIFACT into DIR.

    Of an artifact that was compiled for the executor aot it is a project of C, whatever engines take part.
    Without DIR they go into a folder of the artifact's name, in the working directory.
    """
    folder = folder or Path(artifact.stem)
    if folder.exists() and not folder.is_dir():
        raise click.UsageError(f"cannot write into {folder}: it is a file; name a folder behind the artifact")
    from intarsia.runtime import Artifact, CompiledModel
    from intarsia.runtime import export as write

    with CompiledModel(Artifact(artifact, trust)) as model:
        files = [str(path) for path in write(model, folder, has_test=has_test)]
        report = {"artifact": str(artifact), "target": str(model.plan.partitions[0].target), "files": files}
    print_answer(report, lambda report: echo("\n".join(report["files"])), as_json=as_json)
