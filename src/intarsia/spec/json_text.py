"""Parses JSON that people write: duplicate keys, infinite numbers and very deep nesting are errors."""

from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn

from intarsia.spec.documents import MOST_BYTES, MOST_DEEP, TOO_LARGE, TextError
from intarsia.spec.problems import shown_name

MOST_DIGITS = 4000
"""Of one number: Python converts no more than 4300 between int and text."""
_HALF = re.compile(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)


def parse_json(text: str) -> Any:
    """Return the data of JSON text. Raises `TextError` for invalid JSON, duplicate keys and odd numbers."""
    if len(text) > MOST_BYTES:
        raise TextError(TOO_LARGE)
    try:
        data = json.loads(
            text, object_pairs_hook=_table, parse_constant=_constant, parse_float=_float, parse_int=_integer
        )
    except json.JSONDecodeError as error:
        raise TextError(error.msg, text, min(error.pos, len(text)), min(error.pos + 1, len(text))) from None
    except (ValueError, RecursionError) as error:
        raise _flaw(text) or TextError(str(error)) from None
    if depth(data) > MOST_DEEP:
        raise _flaw(text) or TextError(_TOO_DEEP)
    return data


def depth(data: object) -> int:
    """Return how deeply lists and maps are nested."""
    found, level = 0, [data]
    while level := [item for item in level if isinstance(item, dict | list)]:
        found += 1
        level = [inner for item in level for inner in (item.values() if isinstance(item, dict) else item)]
    return found


def check_written(data: object, text: str) -> None:
    """Raise a `TextError` for an unpaired surrogate escape, which is half a character."""
    half = _HALF.search(text)
    if half is None:
        return
    try:
        json.dumps(data, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise TextError(
            "this escape is half of a character; write both halves, or the character itself", text, *half.span()
        ) from None


def number_flaw(word: str) -> str:
    """Return why a number cannot be a value, or an empty string if it can."""
    if len(word) > MOST_DIGITS:
        return f"this number has {len(word)} digits; at most {MOST_DIGITS} are allowed"
    return "" if math.isfinite(float(word)) else f"{shown_name(word)} is larger than any number that a float holds"


_TOO_DEEP = f"nested deeper than {MOST_DEEP} levels"


def _table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        raise ValueError("a name appears more than once")
    return table


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number; write a finite one")


def _float(word: str) -> float:
    if flaw := number_flaw(word):
        raise ValueError(flaw)
    return float(word)


def _integer(word: str) -> int:
    if len(word) > MOST_DIGITS:
        raise ValueError(number_flaw(word))
    return int(word)


def _flaw(text: str) -> TextError | None:
    """Find the first error whose place the parser does not tell, by scanning the tokens again."""
    names: list[set[str] | None] = []  # of each open map those said so far; None for a list
    before = ""
    for found in _TOKEN.finditer(text):
        token, what = found[0], ""
        if token in ("{", "["):
            names.append(set() if token == "{" else None)
            what = _TOO_DEEP if len(names) > MOST_DEEP else ""
        elif token in ("}", "]"):
            del names[-1:]
        elif token.startswith('"'):
            own = names[-1] if names and before in ("{", ",") else None
            if own is not None:
                what = _again(token, own)
        elif token in ("NaN", "Infinity", "-Infinity"):
            what = f"{token} is not a JSON number; write a finite one"
        elif token[0] in "-0123456789":
            what = _number(token)
        if what:
            return TextError(what, text, *found.span())
        before = token
    return None


def _again(token: str, said: set[str]) -> str:
    try:
        name = json.loads(token)
    except ValueError:
        return ""
    if name in said:
        return f"{shown_name(name)} appears more than once"
    said.add(name)
    return ""


def _number(token: str) -> str:
    try:
        is_whole = token.lstrip("-").isdecimal()
        return number_flaw(token) if not is_whole or len(token) > MOST_DIGITS else ""
    except ValueError:
        return ""
