"""``intarsia compare``: every engine side by side on one model, and against a comparison of another day."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import click

from intarsia.cli.comparison import print_comparison, print_judgement
from intarsia.cli.console import began, print_json, print_text, progress_line
from intarsia.cli.machine import MachineCommand
from intarsia.cli.options import FILE, json_option, long_option, setting_options, with_options
from intarsia.files import check_place, replace_file, scratch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from intarsia.config import CompilationConfig
    from intarsia.driver.settings import CompileOptions
    from intarsia.files import AnyPath
    from intarsia.report.limits import Limit


@click.command(cls=MachineCommand, short_help="Time every engine on a model.")
@click.argument("model", type=FILE)
@with_options(*setting_options)
@click.option("--save", metavar="FILE", type=FILE, help="Write the comparison, as --json prints it.")
@click.option("--baseline", metavar="FILE", type=FILE, help="A saved comparison to hold this one against.")
@click.option(
    "--fail-if",
    "limits",
    metavar="LIMIT",
    multiple=True,
    help="What must not be: p50, p99, cold, compile (ms, s), memory (MB) or error, then > or <, then a number. With a "
    "sign it is a change against the baseline, as p50>+5% or cold>+0.2s; without, the figure itself, as memory>500MB. "
    "Repeatable.",
)
@json_option
@long_option
@click.pass_context
def compare(
    context: click.Context,
    /,
    model: Path,
    target: CompilationConfig | None,
    save: Path | None,
    baseline: Path | None,
    limits: tuple[str, ...],
    as_json: bool,
    verbose: bool,
    **options: Unpack[CompileOptions],
) -> None:
    """Time MODEL on every engine, each with its best options, and recommend one.

    Each engine has the same threads. What is close to the best is benchmarked with it in turns, in fresh processes.

    With --fail-if the exit code is 6 if a limit is broken beyond the noise, 7 if the noise hides whether it is, 8 if
    the baseline is of another machine, or of other engines or threads, and 0 if all limits are kept.
    """
    then, wanted = _demands(baseline, limits)
    if save is not None:
        check_place(save)
    from intarsia.driver import compare as measure
    from intarsia.report.baseline import judge

    is_dated = save is not None or bool(limits)
    with _store(options["store"], is_fresh=is_dated) as store, progress_line() as progress:
        options["store"] = store
        report = measure(model, target, progress=progress, began=began(), **options).json()
    if save is not None:
        replace_file(save, (json.dumps(report, indent=2, allow_nan=False) + "\n").encode())
    judgement = judge(report, then, wanted)
    if as_json:
        print_json(report | ({"judgement": judgement.json()} if wanted else {}))
    else:
        print_comparison(report, verbose=verbose)
        print_text(f"\n{report['recommendation']}")
        print_judgement(judgement, baseline)
    context.exit(judgement.outcome.exit_code)


@contextmanager
def _store(named: AnyPath | None, *, is_fresh: bool) -> Iterator[AnyPath | None]:
    """The store that was named. What is held against another day is measured today, so it begins with an empty one."""
    if named is not None or not is_fresh:
        yield named
        return
    with scratch() as folder:
        yield folder / "records.sqlite"


def _demands(baseline: Path | None, limits: tuple[str, ...]) -> tuple[Mapping[str, Any] | None, list[Limit]]:
    """The baseline and the limits, read before the minutes are spent, not after."""
    if baseline is None and not limits:
        return None, []
    from intarsia.report.baseline import read_baseline
    from intarsia.report.limits import Against, parse_limit

    wanted = [parse_limit(limit) for limit in limits]
    relative = next((limit.text for limit in wanted if limit.against is not Against.VALUE), None)
    if baseline is None and relative is not None:
        raise click.UsageError(f"--fail-if {relative!r} is a change: name what it is against with --baseline FILE")
    if baseline is not None and not limits:
        raise click.UsageError("--baseline FILE goes with --fail-if LIMIT, as in --fail-if 'p50>+5%'")
    return None if baseline is None else read_baseline(baseline), wanted
