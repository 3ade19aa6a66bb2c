from __future__ import annotations

import re

import pytest

from intarsia.config import EXECUTORS, RUNTIMES
from intarsia.config.cli_overrides.flags import all_flags
from intarsia.target import KINDS
from intarsia.target.describe import describe_kinds
from tests.cli_fakes import invoke


@pytest.fixture(scope="module")
def listed() -> dict[str, dict[str, set[str]]]:
    """The names of ``compile --help`` by section and first column."""
    sections: dict[str, dict[str, set[str]]] = {}
    for section in invoke("compile", "--help").stdout.split("\n\n"):
        title, *lines = section.splitlines()
        found = re.match(r"Flags of (\w+)", title)
        if found is not None:
            rows = re.sub(r"\n {10,}", " ", "\n".join(lines)).splitlines()
            cells = (re.split(r"  +", row.strip(), maxsplit=1) for row in rows)
            sections[found[1]] = {first: set(names.split(", ")) for first, names in cells}
    return sections


@pytest.mark.parametrize("name", KINDS)
def test_every_option_of_every_kind_is_in_the_help(name: str, listed: dict[str, dict[str, set[str]]]) -> None:
    kind, rows = KINDS[name], listed["targets"]
    shared = rows["every KIND"] | rows[f"every {'engine' if kind.level == 'engine' else 'device'}"]
    assert kind.options.keys() <= rows.get(name, set()) | shared
    assert rows.get(name, set()) <= kind.options.keys()
    assert (name in rows) != (name in rows["no others"])
    if kind.level != "syntax":
        assert shared <= kind.options.keys()


def test_every_option_of_executors_and_runtimes_is_in_the_help(listed: dict[str, dict[str, set[str]]]) -> None:
    for title, kinds in (("executors", EXECUTORS), ("runtimes", RUNTIMES)):
        assert listed[title] == {name: set(kind.options) for name, kind in kinds.items() if kind.options}


@pytest.mark.parametrize("verb", [["compile"], ["compare"], ["config", "show"]])
def test_every_flag_is_explained(verb: list[str]) -> None:
    done = invoke(*verb, "--help-targets")
    assert done.exit_code == 0
    words = done.stdout.split()
    assert [word for word in words if re.match(r"--(target|executor|runtime)-", word)] == list(map(str, all_flags()))
    text = "".join(words)
    for kind in describe_kinds().values():
        for option in kind.options:
            assert f"{option.flag}{''.join(option.help.split())}" in text
