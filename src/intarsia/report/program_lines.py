"""What a program of C takes in memory, and how far its answers are off, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Json = Mapping[str, Any]


def memory_lines(program: Json) -> Iterator[str]:
    """What the program takes, one sentence a line."""
    for arena in program["arenas"]:
        where = f" in {arena['memory']}" if arena["memory"] else ""
        floor = f"at least {arena['lower_bound']:,} are alive at one time" if arena["bytes"] else "nothing to keep"
        yield f"workspace {arena['bytes']:,} bytes{where} ({floor})"
    where = "in the program" if program["link_weights"] else "handed over by the caller"
    yield f"weights {program['weights_bytes']:,} bytes, {where}"
    yield f"inputs {program['input_bytes']:,} bytes and outputs {program['output_bytes']:,}, the caller's"
    if program.get("code_bytes") is not None:
        yield f"code {program['code_bytes']:,} bytes, {_stack(program)}"
    for call in program["calls"]:
        if "estimate" in call:
            figures = ", ".join(f"{value:,.6g} {name}" for name, value in call["estimate"].items())
            yield f"{call['engine']}, {call['layer']}: {figures} by its compiler; estimated, not run"
    if program["place"] is None:
        yield "compiled, and run nowhere"
    else:
        untimed = ", which is an emulator: nothing is timed" if program.get("is_emulated") else ""
        yield f"built for and run on {program['place']}{untimed}"
    if program.get("instructions"):
        yield from _instructions(program["instructions"])


def _instructions(counted: Json) -> Iterator[str]:
    alone = [f"{total:,} with those of {engine} alone" for engine, total in counted["alone"].items()]
    beside = f" ({', '.join(alone)})" if len(alone) > 1 else ""
    yield f"one run executes {counted['program']:,} {counted['note']}; its kernels {counted['total']:,}{beside}"


def _stack(program: Json) -> str:
    if program.get("stack_bytes") is None:
        return "the deepest stack is known for boards only"
    doubt = f" or more: {program['stack_unknown']}" if program.get("stack_unknown") else ""
    return f"deepest stack {program['stack_bytes']:,} bytes{doubt}"


def answer_line(report: Json) -> str:
    """How far the answers were from the reference's when it was compiled."""
    error, allowed = report["max_rel_error"], report["allowed_error"]
    if error is None:
        return "its answers could not be compared with the reference's"
    why = f", which is what {report['allowed_reason']} leaves open" if report["allowed_reason"] else ""
    return f"largest error against the reference {error:.2g}, allowed {allowed:.2g}{why}"


def program_notes(report: Json) -> Iterator[str]:
    """What a program takes in memory, and how far it was off; nothing for what engines run."""
    if "program" in report:
        yield from memory_lines(report["program"])
        yield answer_line(report)
