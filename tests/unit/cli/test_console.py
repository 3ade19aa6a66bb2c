from __future__ import annotations

import io
import json

import click
import pytest

from intarsia.cli import console
from intarsia.cli.console import (
    PIPE_WIDTH,
    QUIET,
    print_json,
    print_remark,
    print_table,
    print_text,
    progress_line,
    screen_width,
)
from intarsia.cost.worker.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_json_refuses_what_is_no_json(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"a": [1, None]})
    assert json.loads(capsys.readouterr().out) == {"a": [1, None]}
    with pytest.raises(ValueError, match="not JSON compliant"):
        print_json({"a": float("inf")})


def test_columns_are_aligned_and_text_is_taken_literally(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("what", "ms"), [("[bold]x[/bold] :smile:", "1.5"), ("y", "10.5")], numbers=("ms",))
    assert capsys.readouterr().out.splitlines() == [
        "what                      ms",
        "[bold]x[/bold] :smile:   1.5",
        "y                       10.5",
    ]


def test_no_line_ends_in_blanks(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("a", ""), [("x", ""), ("y", "remark")])
    assert capsys.readouterr().out == "a\nx\ny  remark\n"


def test_a_long_cell_is_folded_and_not_cut(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("target",), [("x" * (PIPE_WIDTH + 50),)])
    assert capsys.readouterr().out.count("x") == PIPE_WIDTH + 50


def test_a_sentence_is_folded_on_a_terminal_and_whole_in_a_pipe(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sentence = "the best mix is faster " * 9
    print_text(sentence.strip())
    assert capsys.readouterr().out == f"{sentence.strip()}\n"
    monkeypatch.setattr(console, "screen_width", lambda _: 60)
    print_text(sentence.strip(), indent="  ")
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 60
    assert all(line.startswith("  ") for line in lines)
    assert " ".join(" ".join(lines).split()) == sentence.strip()


def test_a_line_with_a_mark_under_it_is_left_as_it_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "screen_width", lambda _: 20)
    print_remark("error: it is wrong in this place:\n  mnn -precision=lo -threads=2\n      ^^^^^^^^^^")
    assert capsys.readouterr().err.splitlines() == [
        "error: it is wrong",
        "in this place:",
        "  mnn -precision=lo -threads=2",
        "      ^^^^^^^^^^",
    ]


@pytest.mark.parametrize(("columns", "width"), [("72", 72), ("", 80), ("wide", 80)])
def test_the_width_of_a_terminal(columns: str, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert screen_width(Terminal()) == width  # a terminal that has no file descriptor to ask
    assert screen_width(io.StringIO()) is None


def test_progress_is_quiet_in_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = io.StringIO()
    monkeypatch.setattr("sys.stderr", pipe)
    with progress_line() as show:
        show(Progress(stage="measure", done=3, total=9))
    assert pipe.getvalue() == ""


def test_progress_is_drawn_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TERM", "xterm")
    with progress_line() as show:
        show(Progress(stage="normalise"))
        show(Progress(stage="measure [1]", done=3, total=9, best_ms=12.345, note="mnn"))
    drawn = terminal.getvalue()
    assert "measure [1]" in drawn
    assert "3 of 9" in drawn
    assert "best 12.3 ms  mnn" in drawn


def test_on_a_terminal_that_cannot_be_drawn_on_there_are_lines_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "dumb")
    with progress_line() as show:
        show(Progress(stage="engines", done=0, total=4))
        for done in (1, 2, 3):  # all of them at once
            show(Progress(stage="engines", done=done, total=4))
        show(Progress(stage="decide", done=1, total=3, best_ms=1.5, note="mnn"))
    assert terminal.getvalue() == "engines  0 of 4\ndecide  1 of 3  best 1.5 ms  mnn\n"


def test_asked_to_be_quiet_it_draws_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    context = click.Context(click.Command("compile"))
    context.meta[QUIET] = True
    with context, progress_line() as show:
        show(Progress(stage="engines", done=0, total=4))
    assert terminal.getvalue() == ""


HOSTILE = "\x1b]0;owned\x07 \x1b[31m \u202egnp.exe \u2066 \x9b2J \x7f \r"


def test_no_terminal_obeys_what_is_printed_whoever_wrote_it(capsys: pytest.CaptureFixture[str]) -> None:
    print_text(HOSTILE)
    print_remark(HOSTILE)
    print_table((HOSTILE,), [(HOSTILE,)])
    print_json({HOSTILE: HOSTILE})
    console.echo(f"{HOSTILE}\n\tand on")
    told = capsys.readouterr()
    shown = told.out + told.err
    assert not [sign for sign in shown if not (sign.isprintable() or sign in "\n\t")]
    assert r"\x1b]0;owned\x07 \x1b[31m \u202egnp.exe \u2066 \x9b2J \x7f \r" in shown
    assert "\n\tand on" in shown


def test_what_is_only_foreign_is_left_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    print_text("größer → twice; 名前")
    assert capsys.readouterr().out == "größer → twice; 名前\n"
