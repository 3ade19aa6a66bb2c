"""Whether the message of an error conveys the idea that a row states in other words."""

from __future__ import annotations

import re
from collections.abc import Callable
from types import MappingProxyType

import pytest

from intarsia.errors import IntarsiaError
from tests.conformance.rows.row import Row, words

SHARE = 0.5
"""Of the words of an idea, how many the message must have, each in one of its spellings."""

QUOTED = r"""(?<!\w)["']([^"']+)["'](?!\w)"""
"""A name in quotes; an apostrophe is none."""

SYNONYMS = (
    "option attribute field property binding say",
    "kind tvm native",
    "native whole",
    "defined registered known",
    "known recognize recognized available exist there defined undefined such",
    "input model",
    "invalid malformed wrong bad unknown mismatched unbalanced closes cannot",
    "integer int",
    "string str text",
    "boolean bool",
    "fallback default",
    "must require requires required should need needs cannot",
    "duplicate once twice again already previously equal",
    "parse parsed read load recognize",
    "given specified found stated named names passed",
    "empty none nothing missing least",
    "device primitive",
    "points path at",
    "accelerator external partial part",
    "composite list machine",
    "follow follows produced derived",
    "parser options fill",
    "user stated",
    "set argument current",
    "match matches serves",
)
"""Words that say the same in such messages."""

FILLERS = words(
    "a an and are as at be but by can carry does doesn for from has have in into is it its may more no not of on only "
    "or that the this to use used inside was when while with other text form"
)
"""Words that say nothing about what is wrong."""


def _stem(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _concepts() -> MappingProxyType[str, frozenset[int]]:
    table: dict[str, set[int]] = {}
    for number, line in enumerate(SYNONYMS):
        for word in line.split():
            table.setdefault(_stem(word), set()).add(number)
    return MappingProxyType({word: frozenset(numbers) for word, numbers in table.items()})


CONCEPTS = _concepts()


def _words(text: str) -> set[str]:
    return {_stem(word) for word in re.findall(r"[a-z]+", text.lower()) if word not in FILLERS and len(word) > 1}


def _are_alike(left: str, right: str) -> bool:
    return left == right or not CONCEPTS.get(left, frozenset()).isdisjoint(CONCEPTS.get(right, frozenset()))


def missing(message: str, idea: str) -> str:
    """What the message lacks of the idea; empty if it conveys it.

    What the idea quotes must be there as it is; what it says in brackets is a remark; of its other words most must be
    there in some spelling. Of several clauses that end in ", or …" one is enough.
    """
    said = re.sub(r"\([^)]*\)", "", idea)
    absent = [name for name in re.findall(QUOTED, said) if name not in message]
    if absent:
        return f"it does not name {', '.join(absent)}"
    bare = re.sub(QUOTED, "", said)
    lost = [_lost(message, clause) for clause in (bare.split(",") if ", or " in bare else [bare])]
    return "" if "" in lost else lost[0]


def _lost(message: str, clause: str) -> str:
    wanted, have = _words(clause), _words(message)
    lost = [word for word in wanted if not any(_are_alike(word, other) for other in have)]
    few = len(wanted) - len(lost) < SHARE * len(wanted)
    return f"it has too few of the idea's words; without {', '.join(sorted(lost))}" if few else ""


def expect_error(row: Row, attempt: Callable[[], object]) -> None:
    """The attempt raises one of our own errors, whose message conveys the row's idea."""
    with pytest.raises(IntarsiaError) as caught:
        attempt()
    lack = missing(str(caught.value), row.error)
    assert not lack, f"{caught.value}\ndoes not say {row.error!r}: {lack}"
