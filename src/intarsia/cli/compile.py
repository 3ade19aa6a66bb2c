"""``intarsia compile``: a model in, an artifact and the reasons out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from intarsia.cli.console import Stopped, began, echo, print_answer, progress_line
from intarsia.cli.deployment import compile_for, deployment_option, refuse_others
from intarsia.cli.machine import MachineCommand
from intarsia.cli.options import FILE, json_option, long_option, search_options, with_options
from intarsia.cli.tables import print_outcome
from intarsia.cli.worker_options import worker_options
from intarsia.errors import ArtifactError, Interrupted, MissingStageError
from intarsia.files import check_place, replace_file

if TYPE_CHECKING:
    from intarsia.config import CompilationConfig
    from intarsia.cost.worker.progress import Watcher
    from intarsia.driver import CompileOptions
    from intarsia.remote.place import WorkerPlace
    from intarsia.runtime import CompiledModel

SUFFIX = ".intarsia"
PLAN_SUFFIX = ".plan.yaml"
"""Of the plan of a machine that nothing here compiles for."""


@click.command("compile", cls=MachineCommand, short_help="Find the fastest mix of engines and write it.")
@click.argument("model", type=FILE)
@with_options(*search_options)
@click.option("-o", "--output", metavar="OUT", type=FILE, help=f"The artifact. [default: ./MODEL{SUFFIX}]")
@deployment_option
@with_options(*worker_options)
@json_option
@long_option
@click.pass_context
def compile_(
    context: click.Context,
    model: Path,
    target: CompilationConfig | None,
    output: Path | None,
    as_json: bool,
    verbose: bool,
    deployment: str | None,
    place: WorkerPlace | None,
    **options: Unpack[CompileOptions],
) -> None:
    """Measure which engine is best for which part of MODEL, and write the artifact that runs it.

    With --deployment also which machine.
    """
    out = _destination(model, output)
    if deployment is not None:
        refuse_others(context)
        compile_for(model, deployment, out, options, as_json=as_json)
        return
    with _best_kept(out), _plan_kept(out.with_suffix(PLAN_SUFFIX)), progress_line() as progress:
        options["partition"] = options["partition"] or ("manual" if options["plan"] else "collage")
        compiled = _compiled(model, target, place, progress, options)
    with compiled:
        compiled.save(out)
        report = {**compiled.report, "artifact": str(out)}
    print_answer(report, partial(print_outcome, verbose=verbose), as_json=as_json)
    if not as_json:
        echo(f"\nwrote {out}")


def _compiled(
    model: Path,
    target: CompilationConfig | None,
    place: WorkerPlace | None,
    progress: Watcher,
    options: CompileOptions,
) -> CompiledModel:
    """The model, compiled here, or on the machine that ``--on`` or the runtime names."""
    from intarsia.config.drives import is_elsewhere

    named = target if target is not None and is_elsewhere(target.runtime) else None
    if place is None and named is None:
        from intarsia.driver import compile

        return compile(model, target, progress=progress, began=began(), **options)
    if place is not None and named is not None:
        raise click.UsageError(f"--on names a machine, and so does the runtime {str(named.runtime)!r}; leave one out")
    from intarsia.remote import verbs

    if place is not None:
        return verbs.compile_on(place, model, target, progress=progress, **options)
    return verbs.compile(model, target, progress=progress, **options)


@contextmanager
def _plan_kept(path: Path) -> Iterator[None]:
    """Write the plan that an error holds because nothing here compiles it."""
    try:
        yield
    except MissingStageError as error:
        replace_file(path, error.plan.encode())
        echo(f"wrote {path}", err=True)
        raise


@contextmanager
def _best_kept(out: Path) -> Iterator[None]:
    """Write the best plan so far of a compile that is interrupted, but never over one that came to its end."""
    try:
        yield
    except KeyboardInterrupt as interrupt:
        best = interrupt.best if isinstance(interrupt, Interrupted) else None
        outcome, written = "nothing is written", None
        if best is not None:
            with best:
                if _is_finished(out):
                    outcome = f"{out} stays as it was"
                else:
                    best.save(out)
                    written = str(out)
                    outcome = f"wrote {out}, the best so far ({best.report['chosen']} alone)"
        raise Stopped(f"interrupted: {outcome}; the same command goes on where this stopped", written) from None


def _is_finished(out: Path) -> bool:
    """Whether there is an artifact already whose compile came to its end."""
    from intarsia.runtime import Artifact
    from intarsia.runtime.artifact.trust import OWN

    if not out.is_file():  # a pipe would be waited for
        return False
    try:  # whoever signed it: of what is there nothing is loaded
        return not Artifact(out, OWN).report()["search"].get("interrupted", False)
    except ArtifactError:
        return False


def _destination(model: Path, output: Path | None) -> Path:
    """Checked before the minutes are spent, not after."""
    if model.suffix == SUFFIX:
        raise click.UsageError(
            f"{model} is an artifact, compiled already: intarsia run {model} runs it, "
            f"intarsia explain {model} shows its plan"
        )
    out = output or Path(model.name).with_suffix(SUFFIX)
    check_place(out)
    if out.exists() and model.exists() and out.samefile(model):
        raise click.UsageError(f"cannot write {out}: it is the model itself; name another file with -o")
    return out
