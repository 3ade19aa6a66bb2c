"""Rows about lists of targets as text, whose kinds and options may be invented."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby

from intarsia.spec import Bool, Str
from intarsia.spec.types import OptionType
from intarsia.target import ALIASES, Target, parse_targets
from tests.conformance.rows.diagnostics import expect_error
from tests.conformance.rows.facts import check_target, kind_name, plain
from tests.conformance.rows.fixtures import made_up
from tests.conformance.rows.row import Row, form


def run_tokens(row: Row) -> None:
    """A list of targets cut into words: each target is read with just the options of its words."""
    listed = [list(group) for is_comma, group in groupby(row.expect["tokens"], lambda token: token == ",")]
    entries = [group for group in listed if group != [","]]
    with made_up({entry[0]: _types(entry[1:]) for entry in entries}):
        found = parse_targets(row.input["tokenize"])
        assert [target.kind.name for target in found] == [entry[0] for entry in entries]
        for target, entry in zip(found, entries, strict=True):
            assert target == Target(" ".join(entry))
            assert target.options.keys() == _types(entry[1:]).keys()


def _types(words: Sequence[str]) -> dict[str, OptionType]:
    """The options that words state, a bare one as a flag."""
    stated = (word.lstrip("-").partition("=") for word in words)
    return {name: Str() if equals else Bool() for name, equals, _ in stated}


def _invented(text: str) -> dict[str, dict[str, OptionType]]:
    """Kinds and options that a text names, each option as a word; those that exist stay as they are."""
    found: dict[str, dict[str, OptionType]] = {}
    for entry in re.split(r",\s+(?=\w)|,(?=[\w-]+(?:,|$))", text):
        name, *words = entry.split()
        if name not in ALIASES:
            found.setdefault(name, {}).update(_types(words))
    return found


def run_parse(row: Row) -> None:
    """A list of targets as text, whose kinds or options may be invented."""
    text = row.input["parse"]
    with made_up(_invented(text)):
        if row.error:
            expect_error(row, lambda: parse_targets(text))
            return
        found = parse_targets(text)
        for name, wanted in row.expect.items():
            match name:
                case "names":
                    assert [target.kind.name for target in found] == [kind_name(each) for each in wanted]
                case "is_native":
                    assert [target.kind.level == "device" for target in found] == wanted
                case "wanted":
                    check_target(found[0], {"attrs": wanted})
                case "reference":
                    continue  # what was wrong elsewhere
                case _:
                    assert name.startswith("opts"), f"no check for the fact {name!r} of a list"
                    check_target(found[int(name.removeprefix("opts"))], {"attrs": wanted})


def run_parse_each(row: Row) -> None:
    """Several texts of one target, and what each states for an option."""
    texts = row.input["parse_each"]
    with made_up({name: types for text in texts for name, types in _invented(text).items()}):
        found = [Target(text) for text in texts]
        assert {name: [plain(target[name]) for target in found] for name in row.expect} == row.expect


FORMS = (
    form(run_tokens, "tokenize"),
    form(run_parse, "parse"),
    form(run_parse_each, "parse_each"),
)
