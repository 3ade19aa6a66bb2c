"""``intarsia export``: a single-engine plan as files that need no Intarsia to run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from intarsia.cli.console import echo, print_answer, print_remark
from intarsia.cli.options import FILE, json_option, shape_option, verbose_option
from intarsia.cli.trust import trust_options

if TYPE_CHECKING:
    from intarsia.runtime.artifact.trust import Trust


@click.command(short_help="Write an engine's native files.")
@click.argument("artifact", type=FILE)
@click.argument("folder", metavar="[DIR]", type=FILE, required=False)
@click.option("--with-test", "has_test", is_flag=True, help="Also a test of C with recorded inputs and outputs.")
@click.option(
    "--runtime", type=click.Choice(["cpp"]), help="A project of C++ that runs any plan, mixes too, without Python."
)
@click.option(
    "--target", metavar="TARGET", help="ARTIFACT is a model: write it whole for an engine or a device elsewhere."
)
@shape_option
@trust_options
@json_option
@verbose_option
def export(
    artifact: Path,
    folder: Path | None,
    has_test: bool,
    runtime: str | None,
    target: str | None,
    shapes: dict[str, Any] | None,
    as_json: bool,
    trust: Trust,
) -> None:
    """Write the engine's native files and options of a single-engine ARTIFACT into DIR.

    Of an artifact that was compiled for the executor aot it is a project of C, whatever engines take part.
    With --runtime cpp it is a project of C++ with CMake: the library that runs artifacts, this one, and an example.
    With --target, ARTIFACT is an ONNX file: it is written whole for an engine that does not run here, such as coreml,
    or as code for a GPU that is not here, such as cuda or metal.
    Without DIR they go into a folder of the artifact's name, in the working directory.
    """
    folder = folder or Path(artifact.stem)
    if folder.exists() and not folder.is_dir():
        raise click.UsageError(f"cannot write into {folder}: it is a file; name a folder behind the artifact")
    if runtime is not None and has_test:
        raise click.UsageError("--with-test writes a test of C for the executor aot, and --runtime cpp has none")
    if target is not None:
        if runtime is not None or has_test:
            raise click.UsageError("--target writes a model for an engine; leave out --runtime and --with-test")
        _write_package(artifact, folder, target, shapes, as_json=as_json)
        return
    if shapes:
        raise click.UsageError("--shape binds dimensions of a model, which only --target takes here")
    from intarsia.runtime import Artifact, CompiledModel
    from intarsia.runtime import export as write

    with CompiledModel(Artifact(artifact, trust)) as model:
        if runtime:
            from intarsia.runtime.cpp.exporting import export_project

            written = export_project(model.artifact, folder)
        else:
            written = write(model, folder, has_test=has_test)
        files = [str(path) for path in written]
        report = {"artifact": str(artifact), "target": str(model.plan.partitions[0].target), "files": files}
    print_answer(report, lambda report: echo("\n".join(report["files"])), as_json=as_json)


def _write_package(model: Path, folder: Path, target: str, shapes: dict[str, Any] | None, *, as_json: bool) -> None:
    from intarsia.driver.packages import write_package

    written, why = write_package(model, target, folder, shapes=shapes)
    files = [str(path) for path in written]
    report = {"model": str(model), "target": target, "files": files, "not_run": why}
    print_answer(report, lambda report: echo("\n".join(report["files"])), as_json=as_json)
    print_remark(f"not run: {why}")
