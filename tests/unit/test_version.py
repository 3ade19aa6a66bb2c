"""The version stands in one place, and what a release says of itself agrees with it."""

from __future__ import annotations

import re
import tomllib
from datetime import date
from pathlib import Path

import intarsia

ROOT = Path(__file__).parents[2]
HEADING = re.compile(r"^## \[(.+?)\](?: - (\S+))?$", re.MULTILINE)


def test_the_project_reads_it_from_its_one_place() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "version" not in project["project"]
    assert re.fullmatch(r"\d+\.\d+\.\d+", intarsia.__version__)  # CMake takes numbers alone
    assert project["tool"]["hatch"]["version"] == {"path": "src/intarsia/version.py"}


def test_no_other_source_states_it() -> None:
    stated = re.compile(rf"(?<![\d.]){re.escape(intarsia.__version__)}(?![\d.])")
    ours = ("*.py", "*.c", "*.cpp", "*.h", "*.hpp", "CMakeLists.txt")
    found = (path for pattern in ours for path in (ROOT / "src").rglob(pattern))
    sources = [*found, ROOT / "Makefile", ROOT / "hatch_build.py"]
    assert [path.name for path in sources if stated.search(path.read_text(encoding="utf-8"))] == ["version.py"]


def test_the_changelog_tells_of_it_under_what_is_not_released() -> None:
    unreleased, newest, *older = HEADING.findall((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    assert unreleased == ("Unreleased", "")
    assert newest[0] == intarsia.__version__
    days = [date.fromisoformat(day) for _, day in (newest, *older)]
    assert days == sorted(days, reverse=True)
