"""A compile's or a comparison's report, as a person reads it. Everything shown is in the JSON report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import click

from intarsia.cli.console import echo, print_table, print_text
from intarsia.cli.program import print_program
from intarsia.report.bodies import parts_of_bodies
from intarsia.report.reasons import (
    NOTHING,
    Json,
    about_ms,
    decision,
    divided,
    driven_inside,
    figures,
    here,
    in_precision,
    joined,
    larger_needs,
    latency,
    load_of,
    ms,
    opportunity,
    per_second,
    percent,
    ranked,
    rows_inside,
    runner_up,
    signed_ms,
    transitions,
    void,
    was_benchmarked,
)
from intarsia.wording import counted

MOST_MIXES = 3
"""Mixes before the rest is only counted, so that all fits one screen."""
MOST_PARTS = MOST_LAYERS = 8
"""The same of partitions and transfers, and of layers."""
_NO_FAILURES = {
    "capability": "refused",
    "prefilter": "prefilter",
    "interrupted": "interrupted",
    "memory": "memory",
    "no time": "no time",
}
"""How it is told that a stage ended it which is no failure of the engine."""
_FIGURES = ("nodes", "predicted", "measured", "share", "transition")
_TIMES = ("predicted", "measured", "transition")
_HOST = "cpu"
"""The device of which nothing is said as long as all parts are there."""
_BUCKETS = ("sizes of a call", "measured at", "runs on", "ms", "best single engine", "its ms", "times as fast")
Row = tuple[str, str, str, str]


def print_plans(report: Json, *, verbose: bool = False) -> None:
    """Every benchmarked plan, fastest first, what was timed apart, and the engines that could not run it, with why."""
    mixes = report.get("mixes", ())
    shown = [*report.get("reduced_precision", ()), *(mixes if verbose else mixes[:MOST_MIXES])]
    timed = ranked((*report["singles"], *shown, *report.get("default_settings", ())))
    rows = [_row(plan, report) for plan in timed]
    if not verbose and len(mixes) > MOST_MIXES:
        rows.append((f"{counted(len(mixes) - MOST_MIXES, 'more mix', 'more mixes')} (--verbose)", "", "", ""))
    header = ("plan", f"ms{here(report)}", "speed", "")
    rows += _failures(report)
    if load_of(report) is None:
        print_table(header, rows, numbers=header[1:3])
    else:
        _print_under_load(timed, rows, here(report))
    for line in void(report):
        print_text(line)


def _print_under_load(timed: Sequence[Json], rows: Sequence[Row], where: str) -> None:
    """The same rows, with what each plan answers under load in place of its milliseconds."""
    figures = ("instances", f"requests/s{where}", f"p50{where}", f"p99{where}")
    wide: list[tuple[str, ...]] = [
        (row[0], *_load_cells(plan), *row[2:]) for plan, row in zip(timed, rows, strict=False)
    ]
    wide += [(row[0], *("" if not row[1] else NOTHING for _ in figures), *row[2:]) for row in rows[len(timed) :]]
    print_table(("plan", *figures, "speed", ""), wide, numbers=(*figures, "speed"))
    print_text("instances x threads of each; p50 and p99: ms of a call with all instances at work")


def _load_cells(plan: Json) -> tuple[str, str, str, str]:
    load = plan.get("load")
    if load is None:
        return NOTHING, NOTHING, NOTHING, NOTHING
    mark = "" if was_benchmarked(plan) else "~"
    return divided(load), mark + per_second(load), ms(load["p50_ms"]), ms(load["p99_ms"])


def _row(plan: Json, report: Json) -> Row:
    if "default_of" in plan:
        from intarsia.report import default_settings  # it loads what measures; starting the command does not

        return plan["target"], latency(plan), speed(plan), default_settings.remark(plan)
    return _mix_row(plan) if "transitions" in plan else _single_row(plan, report)


def _single_row(single: Json, report: Json) -> Row:
    is_best = single["target"] == report["best_single"]
    error = single.get("max_rel_error")
    remarks = [
        "best single engine" if is_best else _unraced(single),
        # What fp32 explains is not worth a word in each row.
        f"error {error:.2g}" if error is not None and report.get("allowed_reason") else "",
    ]
    return single["tuned"], latency(single), speed(single), "; ".join(filter(None, remarks))


def _mix_row(mix: Json) -> Row:
    gain, failure = mix.get("speedup_vs_best_single"), mix.get("failure")
    remarks = [
        transitions(mix["transitions"]),
        "" if gain is None else f"{gain['low']:.2f} to {gain['high']:.2f}",
        _unraced(mix) if failure is None else f"failed at {failure['stage']}: {failure['reason']}",
    ]
    name = f"{mix['name']}: {joined(mix['targets'])}"
    if "precision" in mix:
        name = f"{joined(mix['targets'])} in {' + '.join(mix['precision'])}"
        remarks[0] = f"error {mix['error']:.2g}"
    return name, latency(mix), speed(mix), "; ".join(filter(None, remarks))


def _unraced(plan: Json) -> str:
    """Its figure is of another time than those of the plans that were benchmarked with each other."""
    return "" if was_benchmarked(plan) else "timed apart"


def speed(plan: Json) -> str:
    """How many times as fast as the plan to beat it is."""
    found = plan.get("speed")
    return NOTHING if found is None else f"{found:.2f}"


def failed(failure: Json) -> str:
    """Why a plan has no figure. Not all of it is a failure: some engines refuse, some were not even tried."""
    stage = _NO_FAILURES.get(failure["stage"], f"failed at {failure['stage']}")
    repro = f"; repro: {failure['repro']}" if failure.get("repro") else ""
    return f"{stage}: {failure['reason']}{repro}"


def _failures(report: Json) -> Iterator[Row]:
    for single in report["singles"]:
        failure = single.get("failure")
        if failure is not None:
            yield single["target"], NOTHING, NOTHING, failed(failure)
    for absent in report.get("absent", ()):
        yield absent["target"], NOTHING, NOTHING, f"absent: {absent['reason']}"


def print_outcome(report: Json, *, verbose: bool = False) -> None:
    """What was timed, what was chosen and why, its partitions with their alternatives, and what the choice gained."""
    if "program" in report:
        print_program(report, verbose=verbose)
        return
    from intarsia.report import default_settings

    print_buckets(report)
    print_plans(report, verbose=verbose)
    click.echo()
    for line in (*decision(report), *larger_needs(report), *default_settings.sentences(report)):
        print_text(line)
    click.echo()
    _print_parts(report, here(report), verbose=verbose)
    _print_transfers(report.get("transfers", ()), verbose=verbose)
    click.echo()
    for line in figures(report):
        print_text(line)
    if verbose:
        _print_alternatives(report["partitions"], here(report))
        _print_segments(report)
        print_layers(report, verbose=True)


def _print_parts(report: Json, where: str, *, verbose: bool) -> None:
    parts = report["partitions"]
    figures = tuple(name + where if name in _TIMES else name for name in _FIGURES)
    shown = set(range(len(parts))) if verbose else _costliest(parts)
    compared = any(runner_up(part) != NOTHING for part in parts)
    placed = any((part.get("device") or _HOST) != _HOST for part in parts)
    rows: list[tuple[str, ...]] = []
    for number, part in enumerate(parts):
        if number not in shown:
            continue
        rows.append(
            (
                str(number + 1),
                in_precision(part),
                *((part["device"] or _HOST,) if placed else ()),
                str(len(part["nodes"])),
                ms(part["predicted_ms"]),
                ms(part["measured_ms"]),
                percent(part.get("share")),
                ms(part.get("transition_ms")),
                *((runner_up(part),) if compared else ()),
            )
        )
        blank = ("",) * (len(figures) - 1 + compared)
        device = ("",) if placed else ()
        rows += [(at, name, *device, str(nodes), *blank) for at, name, nodes in rows_inside(part, str(number + 1))]
        for inner in parts_of_bodies(part, report.get("bodies", ())):
            figures = (inner.nodes, ms(inner.predicted_ms), ms(inner.measured_ms), percent(inner.share))
            cells = figures if inner.nodes else ("", "", "", "")
            rows.append((inner.place, inner.text, *device, *cells, *[""] * (1 + compared)))
    header = ("partition", "target", *(("device",) if placed else ()), *figures, *(("runner-up",) if compared else ()))
    print_table(header, rows, numbers=figures)
    if len(shown) < len(parts):
        rest = sum(part["share"] or 0.0 for number, part in enumerate(parts) if number not in shown)
        click.echo(f"{counted(len(parts) - len(shown), 'more partition')}, {percent(rest)} together (--verbose)")
    for number, part in enumerate(parts, start=1):
        if number - 1 in shown and "inside" in part:
            print_text(f"partition {number} inside: {driven_inside(part['inside'])}")
    if any(part.get("runners_up") for part in parts):
        print_text("ms; runner-up: this partition on it (the whole plan more or less); ~ is an estimate")


def _print_transfers(transfers: Sequence[Json], *, verbose: bool) -> None:
    """What is brought to devices and back; nothing for a plan on the CPU."""
    if not transfers:
        return
    shown = transfers if verbose else transfers[:MOST_PARTS]
    rows = [
        (
            each["value"],
            f"{each['source']} → {each['destination']}",
            str(each["partition"]),
            ", ".join(map(str, each["readers"])) or "the caller",
            NOTHING if each["bytes"] is None else f"{each['bytes']:,}",
            "in its call" if each["is_inside"] else ms(each["ms"]),
        )
        for each in shown
    ]
    header = ("transfer", "way", "partition", "read by", "bytes", "took")
    click.echo()
    print_table(header, rows, numbers=header[4:])
    if len(shown) < len(transfers):
        click.echo(f"{counted(len(transfers) - len(shown), 'more transfer')} (--verbose)")


def _costliest(parts: Sequence[Json]) -> set[int]:
    return set(sorted(range(len(parts)), key=lambda number: -(parts[number].get("share") or 0.0))[:MOST_PARTS])


def _print_alternatives(parts: Sequence[Json], where: str) -> None:
    rows = []
    for number, part in enumerate(parts, start=1):
        nodes = f"{part['nodes'][0]} … {part['nodes'][-1]}"
        rows.append((str(number), part["target"], ms(part["predicted_ms"]), "", f"chosen; {nodes}"))
        for each in part.get("runners_up", ()):
            plan = NOTHING if each["plan_ms"] is None else signed_ms(each["plan_ms"])
            rows.append(("", each["target"], about_ms(each), plan, ""))
        rows += [("", each["target"], NOTHING, NOTHING, each["reason"]) for each in part.get("not_chosen", ())]
    click.echo()
    header = ("partition", "target", f"ms{where}", "plan", "")
    print_table(header, rows, numbers=header[2:4])


def _print_segments(report: Json) -> None:
    segments = report.get("segments")
    if not segments:
        return
    targets = tuple(segments[0]["ms"])
    rows = []
    for number, segment in enumerate(segments):
        costs = (ms(segment["ms"][target]) for target in targets)
        rows.append((str(number), str(segment["nodes"]), *costs, f"{segment['first']} … {segment['last']}"))
    click.echo()
    for place in report["opportunities"]:
        print_text(opportunity(place))
    print_table((f"segment{here(report)}", "nodes", *targets, ""), rows, numbers=("nodes", *targets))


def print_layers(report: Json, *, verbose: bool = False) -> None:
    """What layers take on each engine that tells, those first that take longest; nothing where none does."""
    from intarsia.report.layers import engines_of, how, own_kernels, rows_of

    engines, layers = engines_of(report), rows_of(report)
    if not layers:
        return
    own = own_kernels(report)
    shown = layers if verbose else layers[:MOST_LAYERS]
    facts = {
        "layer": [layer.node for layer in shown],
        "operator": [layer.op for layer in shown],
        **({"runs on": [layer.target for layer in shown]} if any(layer.target for layer in layers) else {}),
        **({"our kernel": [layer.kernel or NOTHING for layer in shown]} if own else {}),
    }
    rows = [
        (*cells, *(ms(each or None) for each in layer.ms))
        for cells, layer in zip(zip(*facts.values(), strict=True), shown, strict=True)
    ]
    click.echo()
    print_table((*facts, *engines), rows, numbers=engines)
    if len(shown) < len(layers):
        click.echo(f"{counted(len(layers) - len(shown), 'more layer')} (--verbose)")
    print_text(how(report))
    if own:
        print_text(own)


def print_buckets(report: Json) -> None:
    """A row for each bucket; nothing where every dimension is known. What follows is about the last one."""
    buckets = report.get("buckets", ())
    if not buckets:
        return
    rows = [_bucket_row(bucket) for bucket in buckets]
    click.echo("A call runs at its true sizes, never padded, on the plan of its row (executor vm):\n")
    header = [name + here(report) if name.endswith("ms") else name for name in _BUCKETS]
    print_table(header, rows, numbers=[name for name in header if "ms" in name.split()])
    click.echo("\nIn brackets: the 95 % interval.")
    stated = [part["target"] for bucket in buckets for part in bucket["partitions"]]
    for target in dict.fromkeys(target for target in stated if " " in target):
        echo(f"{_engine(target)} runs as: {target}")
    echo(f"The rest is about {rows[-1][0]}; --json has all.\n")


def _bucket_row(bucket: Json) -> tuple[str, ...]:
    names = list(dict.fromkeys(_engine(part["target"]) for part in bucket["partitions"]))
    gain, single = bucket["speedup_vs_best_single"], bucket["best_single"]
    took = (bucket["latency_ms"] or {}).get("median")
    cells = (
        _sizes(bucket["ranges"]),
        ", ".join(f"{name} {size}" for name, size in bucket["measured_at"].items()),
        " + ".join(names),
        ms(took),
    )
    if single is None:
        return (*cells, NOTHING, NOTHING, NOTHING)
    if len(bucket["partitions"]) == 1 and names == [_engine(single)]:
        return (*cells, "the same", ms(took), NOTHING)
    if gain is None or took is None:
        return (*cells, _engine(single), NOTHING, NOTHING)
    interval = f"{gain['median']:.2f} ({gain['low']:.2f} to {gain['high']:.2f})"
    return (*cells, _engine(single), ms(took * gain["median"]), interval)


def _sizes(ranges: Mapping[str, tuple[int, int]]) -> str:
    each = (f"{name} {low}" + (f" to {high}" if high > low else "") for name, (low, high) in ranges.items())
    return ", ".join(each)


def _engine(target: str) -> str:
    return target.partition(" ")[0]
