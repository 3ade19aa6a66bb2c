"""No word that ``docs/glossary.md`` retires is in an identifier, a JSON key, a help text, an output, or a page."""

from __future__ import annotations

import json
import re
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any

import click
import pytest

from intarsia.cli.main import cli

ROOT = Path(__file__).parents[2]
GLOSSARY = ROOT / "docs" / "glossary.md"
PAGES = sorted([*ROOT.glob("docs/**/*.md"), ROOT / "README.md"])
SOURCES = sorted(ROOT.glob("src/**/*.py"))
ASSETS = sorted(each for end in ("html", "js", "css") for each in ROOT.glob(f"src/intarsia/report/page/assets/*.{end}"))
TRANSCRIPTS = sorted(ROOT.glob("tests/golden/cli/*.txt"))
REPORTS = sorted(ROOT.glob("tests/golden/reports/*.json"))
ENTRY = re.compile(r"^### (?P<term>.+)\n\n(?P<body>(?:(?!^##).*\n)*)", re.MULTILINE)
NOT = re.compile(r"^\*Not(?P<name> as a name)?\*: (?P<words>.+)\.$", re.MULTILINE)
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
LINK = re.compile(r"(?<=\])\([^)\s]*\)")

ALLOWED = {
    ("cell", "src/intarsia/cli/*.py"): "of a table",
    ("cell", "src/intarsia/runtime/summary.py"): "of a table",
    ("cell", "src/intarsia/target/describe.py"): "of a table",
    ("cell", "src/intarsia/backends/lowering/recurrent.py"): "of an LSTM",
    ("piece", "src/intarsia/spec/*.py"): "of the text that a person wrote",
    ("piece", "src/intarsia/config/*.py"): "the same",
    ("piece", "src/intarsia/target/*.py"): "the same",
    ("piece", "src/intarsia/report/limits.py"): "the same",
    ("switch", "src/intarsia/report/page/assets/page.js"): "to another theme",
}
"""Where a retired word stands in another sense: the word and the files, and the reason."""


@dataclass(frozen=True)
class Retired:
    """A word, or several in a row, that the glossary replaces.

    Attributes:
        words: In lower case.
        term: What to write instead.
        is_name: Only identifiers and JSON keys may not have it; in a sentence it is plain English.
    """

    words: tuple[str, ...]
    term: str
    is_name: bool

    def forms(self) -> Iterator[tuple[str, ...]]:
        """The words, and their plural."""
        *before, last = self.words
        plural = last[:-1] + "ies" if last.endswith("y") else last + ("es" if last.endswith(("ch", "sh", "s")) else "s")
        for form in (last, plural):
            yield (*before, form)


def retired(page: str) -> Iterator[Retired]:
    for entry in ENTRY.finditer(page):
        for found in NOT.finditer(entry["body"]):
            for words in found["words"].split(", "):
                yield Retired(tuple(words.split()), entry["term"], is_name=bool(found["name"]))


def offences(text: str, banned: Iterable[Retired]) -> Iterator[tuple[int, Retired]]:
    """The line of each retired word, which may be a part of a name: ``old_word``, ``OldWord``."""
    forms = {form: each for each in banned for form in each.forms()}
    words = [(match[0].lower(), match.start()) for match in WORD.finditer(text)]
    for length in {len(form) for form in forms}:
        for index in range(len(words) - length + 1):
            found = forms.get(tuple(word for word, _ in words[index : index + length]))
            if found is not None:
                yield text.count("\n", 0, words[index][1]) + 1, found


@cache
def names(path: Path) -> str:
    """The identifiers of a source file, each on its line."""
    lines: dict[int, list[str]] = {}
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type == tokenize.NAME:
                lines.setdefault(token.start[0], []).append(token.string + ".")
    return "\n".join(" ".join(lines.get(number, ())) for number in range(1, max(lines, default=0) + 1))


def keys(value: Any) -> Iterator[str]:
    """Every key of a JSON value, however deep."""
    if isinstance(value, dict):
        yield from value
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from keys(each)


def printed_keys(transcript: str) -> list[str]:
    """The keys that a command prints with ``--json``."""
    try:
        return list(keys(json.loads(transcript[transcript.index("\n{") : transcript.rindex("}") + 1])))
    except ValueError:
        return []


def prose(path: Path) -> str:
    """A page without what it links to, and the glossary without what it retires."""
    text = path.read_text(encoding="utf-8")
    return LINK.sub("", NOT.sub("", text) if path.name == GLOSSARY.name else text)


def faults(path: Path, text: str, banned: Iterable[Retired]) -> list[str]:
    where = str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else path.name
    return [
        f"{where}:{line}: {' '.join(each.words)}; the word is {each.term}"
        for line, each in sorted(offences(text, banned), key=lambda found: found[0])
        if not any(allows(each, where))
    ]


def allows(each: Retired, where: str) -> Iterator[tuple[str, str]]:
    """The exceptions that let a word stand in a file."""
    return (found for found in ALLOWED if found[0] == " ".join(each.words) and fnmatch(where, found[1]))


ALL = tuple(retired(GLOSSARY.read_text(encoding="utf-8")))
EVERYWHERE = tuple(each for each in ALL if not each.is_name)


def test_no_identifier_has_a_retired_word() -> None:
    assert [fault for path in SOURCES for fault in faults(path, names(path), ALL)] == []


def test_no_json_key_has_a_retired_word() -> None:
    reports = [(path, list(keys(json.loads(path.read_text(encoding="utf-8"))))) for path in REPORTS]
    printed = [(path, printed_keys(path.read_text(encoding="utf-8"))) for path in TRANSCRIPTS]
    assert all(found for _, found in reports)
    assert any(found for _, found in printed)
    # One line for each key: those of several never make up a phrase.
    assert [each for path, found in (*reports, *printed) for each in key_faults(path, found)] == []


def key_faults(path: Path, found: Iterable[str]) -> list[str]:
    return [fault for key in dict.fromkeys(found) for fault in faults(path, key, ALL)]


def commands(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    yield name, command
    if isinstance(command, click.Group):
        for each in command.commands.values():
            yield from commands(each, f"{name} {each.name}")


def help_faults(command: click.Command, banned: Iterable[Retired]) -> list[str]:
    options = [part for each in command.params for part in (*each.opts, getattr(each, "help", None), each.metavar)]
    texts = [command.help, command.short_help, command.epilog, *options]
    return [f"{each.words} in {text!r}" for text in texts if text for _, each in offences(text, banned)]


def test_no_help_text_has_a_retired_word() -> None:
    found = dict(commands(cli, "intarsia"))
    assert len(found) > len(cli.commands)
    assert {name: faults for name, command in found.items() if (faults := help_faults(command, EVERYWHERE))} == {}


@pytest.mark.parametrize("path", [*PAGES, *TRANSCRIPTS, *ASSETS], ids=lambda path: path.name)
def test_no_page_and_no_output_has_a_retired_word(path: Path) -> None:
    assert faults(path, prose(path), EVERYWHERE) == []


def test_each_entry_has_a_sentence_and_says_who_uses_the_word() -> None:
    entries = {entry["term"]: entry["body"] for entry in ENTRY.finditer(GLOSSARY.read_text(encoding="utf-8"))}
    assert [term for term, body in entries.items() if body.startswith("*") or "*In the field*: " not in body] == []
    terms = {tuple(term.lower().split()) for term in entries}
    assert terms.isdisjoint({form for each in ALL for form in each.forms()})


def test_each_allowance_is_needed() -> None:
    texts = {str(path.relative_to(ROOT)): names(path) for path in SOURCES}
    texts |= {str(path.relative_to(ROOT)): prose(path) for path in (*PAGES, *TRANSCRIPTS, *ASSETS)}
    used = {found for where, text in texts.items() for _, each in offences(text, ALL) for found in allows(each, where)}
    assert [found for found in ALLOWED if found not in used] == []


PLANTED = "### segment\n\nThe smallest unit.\n\n*Not*: atom, old story.\n\n*Not as a name*: cell.\n\n## Next\n"


@pytest.mark.parametrize("code", ["MAX_ATOMS = 1", "class AtomCost: ...", "def f(old_stories): ...", "cell = 1"])
def test_a_planted_identifier_is_found(tmp_path: Path, code: str) -> None:
    path = tmp_path / "planted.py"
    path.write_text(f"clean = 1\n{code}\n", encoding="utf-8")
    assert [line.split(":")[:2] for line in faults(path, names(path), list(retired(PLANTED)))] == [["planted.py", "2"]]


@pytest.mark.parametrize("text", ["The atoms\nof it.", "an\nold story", "`atom_ms`", "```\natom 1\n```"])
def test_a_planted_page_is_found(tmp_path: Path, text: str) -> None:
    path = tmp_path / "page.md"
    path.write_text(f"A cell of the table, [see](atom.md).\n{text}\n", encoding="utf-8")
    assert len(faults(path, prose(path), [each for each in retired(PLANTED) if not each.is_name])) == 1


def test_a_planted_key_is_found(tmp_path: Path) -> None:
    found = list(keys({"model": [{"cells": 1, "atom_ms": 2, "ok": "atom"}]}))
    assert len(key_faults(tmp_path / "report.json", found)) == 2
    assert printed_keys('$ intarsia\n{\n  "atom": {"b": 1}\n}\n[exit 0]\n') == ["atom", "b"]


def test_a_planted_help_text_is_found() -> None:
    command = click.Command("x", params=[click.Option(["--most-atoms"], help="Of the cells.")], help="An old story.")
    assert len(help_faults(command, [each for each in retired(PLANTED) if not each.is_name])) == 2
