"""``intarsia tune``: measurements into the record store, and the store's records in and out."""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import click

from intarsia.cli.console import Stopped, began, print_answer, print_remark, print_table, progress_line
from intarsia.cli.machine import MachineCommand
from intarsia.cli.options import FILE, json_option, setting_options, verbose_option, with_options
from intarsia.errors import IntarsiaError
from intarsia.files import check_place
from intarsia.report.reasons import NOTHING, ms
from intarsia.wording import counted

if TYPE_CHECKING:
    from intarsia.config import CompilationConfig
    from intarsia.cost.records.store import Record, Store
    from intarsia.driver import CompileOptions

Json = dict[str, Any]


@click.command(cls=MachineCommand, short_help="Measure models into the record store.")
@click.argument("models", metavar="[MODEL]...", type=FILE, nargs=-1)
@with_options(*setting_options)
@click.option("--import", "source", metavar="FILE", type=FILE, help="First add the records of a file.")
@click.option("--export", "destination", metavar="FILE", type=FILE, help="At the end write the records to a file.")
@click.option(
    "--where",
    "conditions",
    metavar="FIELD=VALUE",
    multiple=True,
    help="Of --export and --list: only records of this target, config, engine, model, machine or kind.",
)
@click.option("--list", "is_listed", is_flag=True, help="At the end list the records by machine and model.")
@click.option("--clear", is_flag=True, help="Before all else remove the records: those made for MODELs, or all.")
@click.option("--yes", is_flag=True, help="Do not ask before --clear.")
@json_option
@verbose_option
@click.pass_context
def tune(
    context: click.Context,
    /,
    models: tuple[Path, ...],
    target: CompilationConfig | None,
    source: Path | None,
    destination: Path | None,
    conditions: tuple[str, ...],
    is_listed: bool,
    clear: bool,
    yes: bool,
    as_json: bool,
    **options: Unpack[CompileOptions],
) -> None:
    """Measure MODELs into the record store, from which compile then plans without measuring. No artifact is written.

    The models share --budget equally: each is measured as by compile with its share. What is in the store is not
    measured again, so the same command goes on where it was stopped. A file that --export writes and --import reads
    may hold records of several machines; each machine uses its own.
    """
    if not (models or source or destination or is_listed or clear):
        raise click.UsageError("name a MODEL, or one of --import, --export, --list and --clear", context)
    if conditions and not (destination or is_listed):
        raise click.UsageError("--where chooses what --export writes and --list shows; add one of them", context)
    if destination is not None:
        check_place(destination)
    from intarsia.cost.records.records_file import export_records, import_records
    from intarsia.cost.records.store import open_store
    from intarsia.cost.records.where import parse_where

    wanted = _all_of([parse_where(each).holds for each in conditions])
    records = open_store(options["store"])
    options["store"] = records.named
    report: Json = {"store": records.place}
    if clear:
        report["removed"] = _cleared(records, models, asks=not yes)
    if source is not None:
        imported = import_records(records, source)
        report |= {"added": imported.added, "left_out": imported.left_out}
        if imported.left_out:
            print_remark(f"{counted(imported.left_out, 'line')} of {source} left out: {imported.first}")
    failures = _tuned(report, models, target, options) if models else []
    if destination is not None:
        exported = export_records(records, destination, wanted)
        report["exported"] = exported.written
        _tell_damaged(exported.damaged)
    if is_listed:
        report["records"] = _listed(records, wanted)
    print_answer(report, partial(_print, destination=destination), as_json=as_json)
    if failures:
        raise failures[0]


def _cleared(records: Store, models: Sequence[Path], *, asks: bool) -> int:
    what = f"all of {counted(records.count(), 'record')}"
    if models:
        what = f"the records made for {', '.join(map(str, models))}"
    if asks and sys.stdin.isatty():
        click.confirm(f"remove {what} from {records.place}?", abort=True, err=True)
    # Records from a file know a model by its name alone.
    return records.clear([name for model in models for name in (str(model.resolve()), model.name)] if models else None)


def _tuned(
    report: Json, models: Sequence[Path], target: CompilationConfig | None, options: CompileOptions
) -> list[IntarsiaError]:
    """Measure, and note what came of each model; the errors are told at the end."""
    from intarsia.driver import tune as measure

    rows: list[Json] = []
    report["models"] = rows
    failures = []
    try:
        with progress_line() as progress:
            results = measure(models, target, progress=progress, began=began(), **options)
            for model, found in zip(models, results, strict=False):
                if isinstance(found, IntarsiaError):
                    failures.append(found)
                rows.append({"model": str(model)} | _row(found))
    except KeyboardInterrupt:
        done = f"{len(rows)} of {counted(len(models), 'model is', 'models are')} done"
        raise Stopped(f"interrupted: {done}; the same command goes on where this stopped") from None
    return failures


def _row(found: Mapping[str, Any] | IntarsiaError) -> Json:
    if isinstance(found, IntarsiaError):
        return {"error": str(found)}
    search = found["search"]
    of_search = {name: search[name] for name in ("measured", "cached", "finished", "seconds")}
    return of_search | {name: found[name] for name in ("best_single", "chosen", "latency_ms", "reason")}


def _tell_damaged(count: int) -> None:
    if count:
        print_remark(f"{counted(count, 'record')} in the store cannot be used, and will be made anew where needed")


def _all_of(conditions: Sequence[Callable[[Record], bool]]) -> Callable[[Record], bool]:
    return lambda record: all(holds(record) for holds in conditions)


def _listed(records: Store, wanted: Callable[[Record], bool]) -> list[Json]:
    from intarsia.cost.records.records_file import MODEL, machine_of
    from intarsia.runtime import this_machine

    groups: defaultdict[tuple[str, str, str], list[Any]] = defaultdict(list)
    found = records.records()
    _tell_damaged(found.damaged)
    for record in filter(wanted, found.records):
        groups[*machine_of(record), Path(record.provenance.get(MODEL) or "in memory").name].append(record)
    return [
        {
            "machine": fingerprint,
            "name": name,
            "is_here": fingerprint == this_machine().fingerprint,
            "model": model,
            "engines": sorted(
                {f"{name} {version}" for each in several for name, version in each.facts.get("engines", {}).items()}
            ),
            "records": len(several),
            "kinds": dict(Counter(each.kind for each in several)),
            "last_made_at": max(each.made_at for each in several),
        }
        for (fingerprint, name, model), several in groups.items()
    ]


def _print(report: Mapping[str, Any], destination: Path | None) -> None:
    if "removed" in report:
        click.echo(f"removed {counted(report['removed'], 'record')} from {report['store']}")
    if "added" in report:
        click.echo(f"added {counted(report['added'], 'record')} to {report['store']}")
    if "models" in report:
        header = ("model", "measured", "from the store", "ms", "ships", "")
        print_table(header, [_cells(row) for row in report["models"]], numbers=header[1:4])
    if "exported" in report:
        click.echo(f"wrote {counted(report['exported'], 'record')} to {destination}")
    if "records" in report:
        _print_records(report["records"])


def _cells(row: Json) -> tuple[str, ...]:
    if "error" in row:
        return row["model"], NOTHING, NOTHING, NOTHING, NOTHING, row["error"]
    latency = NOTHING if row["latency_ms"] is None else ms(row["latency_ms"]["median"])
    ended = "" if row["finished"] else "the time ended before the search did; "
    return row["model"], str(row["measured"]), str(row["cached"]), latency, row["chosen"], ended + row["reason"]


def _print_records(groups: Sequence[Json]) -> None:
    rows = [
        (
            f"{each['name'] or each['machine']}{' (here)' if each['is_here'] else ''}",
            each["model"],
            str(each["records"]),
            datetime.fromtimestamp(each["last_made_at"], UTC).strftime("%Y-%m-%d"),
            ", ".join(each["engines"]),
        )
        for each in groups
    ]
    print_table(("machine", "model", "records", "last", "engines"), rows, numbers=("records",))
