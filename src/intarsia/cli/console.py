"""What every verb prints with: one JSON object, aligned columns, a progress line with the time left."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TextIO

import click

from intarsia.errors import Interrupted
from intarsia.wording import visible

if TYPE_CHECKING:
    from intarsia.cost.worker.progress import Progress, Watcher

QUIET = "intarsia.quiet"
"""Key of a context's ``meta``: ``--quiet`` was said."""
LINE_S = 5.0
PIPE_WIDTH = 200
"""Columns where there is no terminal to ask: wide enough for target texts with several options."""
MARK = "^"
"""What points at a place of the line above."""
UNKNOWN_WIDTH = 80
"""Columns of a terminal that does not tell."""


@dataclass(frozen=True, slots=True)
class Began:
    """The object of a command line's context: when its process began, by ``time.monotonic``."""

    moment: float


def began() -> float | None:
    """When the process of this command began; ``None`` where the command is not what the process was started for."""
    context = click.get_current_context(silent=True)
    found = None if context is None else context.find_object(Began)
    return None if found is None else found.moment


class Stopped(click.ClickException):
    """The verb was interrupted, and tells what is left of its work: a sentence, and the artifact if it wrote one."""

    exit_code = Interrupted.exit_code

    def __init__(self, message: str, artifact: str | None = None) -> None:
        super().__init__(message)
        self.artifact = artifact


def echo(text: str = "", *, nl: bool = True, err: bool = False, bold: bool = False) -> None:
    """What every verb prints with: whatever it is, and whoever wrote it, no terminal obeys it."""
    shown = visible(text)
    click.echo(click.style(shown, bold=True) if bold else shown, nl=nl, err=err)


def print_json(value: Mapping[str, Any]) -> None:
    """One JSON object on stdout, in ASCII but for the one control that JSON lets through."""
    echo(json.dumps(value, indent=2, allow_nan=False))


def print_answer(report: Mapping[str, Any], show: Callable[[Mapping[str, Any]], object], *, as_json: bool) -> None:
    """What a verb found: as one JSON object, or as ``show`` prints it for a person."""
    (print_json if as_json else show)(report)


def screen_width(stream: TextIO) -> int | None:
    """The columns of the terminal that a stream goes to; ``None`` where it is none."""
    if not stream.isatty():
        return None
    stated = os.environ.get("COLUMNS", "")
    if stated.isdigit() and int(stated) > 0:
        return int(stated)
    try:
        return os.get_terminal_size(stream.fileno()).columns or UNKNOWN_WIDTH
    except (OSError, ValueError):
        return UNKNOWN_WIDTH


def print_table(header: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: Sequence[str] = ()) -> None:
    """Columns on stdout, folded at blanks where they are too wide; those named in ``numbers`` are set flush right."""
    from intarsia.cli.layout import table_bands

    for number, band in enumerate(table_bands(header, list(rows), numbers, screen_width(sys.stdout) or PIPE_WIDTH)):
        if number:
            echo()
        for line in band.header:
            echo(line, bold=True)
        for line in band.rows:
            echo(line)


def print_text(text: str, indent: str = "", later: str | None = None) -> None:
    """Sentences on stdout. Each line is folded at blanks where it is wider than the terminal; a pipe has it whole.

    ``indent`` stands before each line, ``later`` instead before one that goes on from the line above it.
    """
    from intarsia.cli.layout import folded

    width = screen_width(sys.stdout)
    for line in text.split("\n"):
        echo(f"{indent}{line}" if width is None else "\n".join(folded(line, width, indent, later)))


def print_remark(text: str) -> None:
    """Sentences on stderr, folded as by `print_text`, but for a line that has a mark under it."""
    from intarsia.cli.layout import folded

    width = screen_width(sys.stderr)
    lines = text.split("\n")
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        if width is None or set(below.strip()) == {MARK}:
            echo(line, err=True)
            continue
        words = line.lstrip(" ")
        echo("\n".join(folded(words, width, line[: len(line) - len(words)])), err=True)


@contextmanager
def progress_line() -> Iterator[Watcher]:
    """Draws stage, count, time left and best latency on stderr; lines now and then where nothing can be drawn.

    Where stderr is no terminal, what whoever waits has to know is logged; with ``--quiet`` not even that is shown.
    """
    from intarsia.cost.worker.progress import TIME, WAIT, unwatched

    context = click.get_current_context(silent=True)
    if not sys.stderr.isatty() or (context is not None and QUIET in context.meta):
        yield unwatched
        return
    from rich.console import Console

    console = Console(stderr=True)
    if console.is_dumb_terminal:
        yield _Lines()
        return
    from rich.progress import BarColumn, SpinnerColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[count]}", markup=False),
        TextColumn("{task.fields[left]}", markup=False),
        TextColumn("{task.fields[note]}", markup=False),
    )
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None, count="", left="", note="")
        stage = ""

        def show(now: Progress) -> None:
            nonlocal stage
            if now.stage == TIME:
                console.print(visible(now.note), markup=False, highlight=False)
                return
            if now.stage != stage:  # the speed of another stage says nothing about this one
                stage = now.stage
                bar.reset(task, total=now.total)
            note = visible("  ".join(filter(None, (_best(now), now.note))))
            count, left = _count(now), "" if now.stage == WAIT else _left(now)
            bar.update(task, description=stage, completed=now.done, total=now.total, count=count, left=left, note=note)

        yield show


class _Lines:
    """One line for each stage, and no more than one in so many seconds besides."""

    def __init__(self) -> None:
        self._stage = ""
        self._next = 0.0

    def __call__(self, now: Progress) -> None:
        if now.stage == self._stage and time.monotonic() < self._next:
            return
        self._stage, self._next = now.stage, time.monotonic() + LINE_S
        echo("  ".join(filter(None, (now.stage, _count(now), _left(now), _best(now), now.note))), err=True)


def _count(now: Progress) -> str:
    return "" if now.total is None else f"{now.done} of {now.total}"


def _left(now: Progress) -> str:
    return "" if now.left_s is None else f"{now.left_s:.0f} s left"


def _best(now: Progress) -> str:
    return "" if now.best_ms is None else f"best {now.best_ms:.3g} ms"
