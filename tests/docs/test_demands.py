"""``docs/demands.md`` answers fifteen demands, each with a command that exists and a test that exists."""

from __future__ import annotations

import ast
import re
import shlex
from functools import cache
from pathlib import Path

import pytest

from intarsia.cli.main import cli
from tests.docs.test_examples import parse

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "demands.md"
COLUMNS = 5
CODE = re.compile(r"`([^`]+)`")


def rows() -> list[list[str]]:
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


@cache
def named_in(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


def test_there_are_fifteen_each_with_an_answer() -> None:
    found = rows()
    assert [int(row[0]) for row in found] == list(range(1, 16))
    assert [row[0] for row in found if len(row) != COLUMNS or not all(row)] == []


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_its_commands_are_spelt_right(row: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    commands = CODE.findall(row[3])
    assert commands
    for command in commands:
        parse(cli, shlex.split(command)[1:], command)


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_its_tests_are_there(row: list[str]) -> None:
    named = CODE.findall(row[4])
    assert named
    for each in named:
        file, _, name = each.partition("::")
        assert name in named_in(ROOT / file), each
