"""Commands on the pages of ``docs/`` print what the page says; those of one page run beside the files it shows.

A command and its output stand in one block without a language; ``pytest tests/golden --regenerate`` writes the outputs.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.cli_fakes import STORED, Fakes, invoke

PAGES = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^```\n\$ (?P<command>intarsia .*)\n(?P<output>(?:(?!```).*\n)*)```$", re.MULTILINE)
FILES = {"board.yaml": re.compile(r"^```yaml\n(?P<text>(?:(?!```).*\n)*)```$", re.MULTILINE)}


@pytest.mark.parametrize("name", ["command-line.md", "explain.md"])
def test_the_page_shows_what_is_printed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config
) -> None:
    Fakes().install(monkeypatch)
    path = PAGES / name
    page = path.read_text(encoding="utf-8")
    for file, pattern in FILES.items():
        if found := pattern.search(page):
            (tmp_path / file).write_text(found["text"], encoding="utf-8")
    for stem in ("model", *STORED):
        (tmp_path / f"{stem}.intarsia").touch()
    monkeypatch.chdir(tmp_path)
    shown = BLOCK.sub(lambda block: _printed(block["command"]), page)
    assert BLOCK.search(page) is not None
    if pytestconfig.getoption("regenerate"):
        path.write_text(shown, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == shown


def _printed(command: str) -> str:
    done = invoke(*shlex.split(command)[1:])
    assert done.exit_code == 0, done.output
    printed = "\n".join(line.rstrip() for line in done.output.splitlines())
    return f"```\n$ {command}\n{printed}\n```"
