"""The report of a network that was written as C, as a person reads it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from intarsia.cli.console import print_table, print_text
from intarsia.report.program_lines import answer_line, memory_lines

Json = Mapping[str, Any]


def print_program(report: Json, *, verbose: bool = False) -> None:
    """Who computes what, what the program takes in memory, and how far its answers are off; all values if asked."""
    program = report["program"]
    rows = [(str(place), each["target"], str(len(each["nodes"]))) for place, each in enumerate(report["partitions"], 1)]
    rows += [("-", each["target"], f"absent: {each['reason']}") for each in report["absent"]]
    print_table(("partition", "target", "nodes"), rows)
    click.echo()
    for line in (f"chosen: {report['chosen']}; {report['reason']}", *report["remarks"], *memory_lines(program)):
        print_text(line)
    print_text(answer_line(report))
    if verbose:
        _print_values(program)


def _print_values(program: Json) -> None:
    for arena in program["arenas"]:
        rows = [
            (
                each["name"],
                each["layer"],
                f"{each['offset']:,}",
                f"{each['bytes']:,}",
                f"{each['first_call']}-{each['last_call']}",
            )
            for each in arena["values"]
        ]
        click.echo()
        print_table(("value", "of", "offset", "bytes", "calls"), rows, numbers=("offset", "bytes"))
    calls = [
        (str(place), each["engine"], each["function"], each["layer"]) for place, each in enumerate(program["calls"])
    ]
    click.echo()
    print_table(("call", "engine", "function", "computes"), calls)
    if program.get("instructions"):
        click.echo()
        _print_kernels(program["instructions"])


def _print_kernels(counted: Json) -> None:
    rows = []
    for each in counted["kernels"]:
        others = (f"{other['way']} of {other['engine']}: {_executed(other)}" for other in each["others"])
        name = each["nodes"][0] if each["nodes"] else each["instruction"]
        rows.append((name, each["engine"], each["way"], f"{each['instructions']:,}", "; ".join(others)))
    print_table(("layer", "engine", "kernel", counted["unit"], "not chosen"), rows, numbers=(counted["unit"],))


def _executed(other: Json) -> str:
    return f"{other['instructions']:,}" if "instructions" in other else f"failed: {other['failed']}"
