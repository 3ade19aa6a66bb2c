"""Pairs up the words after a kind: which option each states, and where its value is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from intarsia.spec.problems import Problems, Where
from intarsia.spec.schema import Option
from intarsia.spec.syntax import Piece, is_quoted
from intarsia.spec.types import Bool


class Statement(NamedTuple):
    """One stated option.

    Attributes:
        name: Of the option, not yet looked up.
        key: The characters that name it.
        value: The characters of its value; ``None`` for the bare option.
    """

    name: str
    key: Piece
    value: Piece | None


def read_statements(
    words: list[Piece], options: Mapping[str, Option], where: Where, problems: Problems
) -> Iterator[Statement]:
    """Pair up ``-name=value``, ``-name value``, ``-name``, and ``name=value`` where the schema knows the name."""
    i = 0
    while i < len(words):
        word = words[i]
        i += 1
        name = word.text.lstrip("-")
        dashes = len(word.text) - len(name)
        equals = name.find("=")
        if not name or equals == 0:
            problems.add(where.on(word), "not an option: a name is missing after the dashes")
        elif equals > 0:
            key = word.cut(dashes, dashes + equals)
            value = word.cut(dashes + equals + 1, len(word.text))
            if not dashes and (key.text not in options or is_quoted(word.text)):
                problems.add(where.on(word), "options start with '-'")
            elif not value.text:
                problems.add(where.on(word), f"no value after '='; write {key.text}='' for an empty one")
            else:
                yield Statement(key.text, key, value)
        elif not dashes:
            problems.add(where.on(word), "options start with '-'; a further target needs a comma and a blank before it")
        else:
            value_word = _value_word(options.get(name), words[i : i + 1])
            i += value_word is not None
            yield Statement(name, word.cut(dashes, len(word.text)), value_word)


def _value_word(option: Option | None, following: list[Piece]) -> Piece | None:
    if not following or following[0].text.startswith("-"):
        return None
    word = following[0]
    if option is not None and isinstance(option.type, Bool) and not option.type.reads(word.text):
        return None
    return word
