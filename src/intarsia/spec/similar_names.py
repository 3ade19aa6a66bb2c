"""Finds the tags that an inexact name may mean: ``raspberrypi4`` or ``rtx3070`` without vendor and separators."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from intarsia.spec.problems import closest

_SHORTEST = 3
"""Letters and digits of a name that is compared at all: two are in every tag."""
_MOST_NAMED = 3


def tags_with(name: str, tags: Collection[str]) -> list[str]:
    """Return the tags that contain this name; tags that end in it come first.

    Case and separators are ignored. Numbers match as a whole: ``4`` matches ``4b``, but not ``400``. If no tag matches
    so, numbers may also run together: ``c54xlarge``.
    """
    wanted = _tokens(name)
    if sum(map(len, wanted)) < _SHORTEST or not any(each.isalpha() for each in wanted):
        return []
    tokens = {tag: _tokens(tag) for tag in tags}
    text = "".join(wanted)
    found = [tag for tag, parts in tokens.items() if _is_in(wanted, parts)]
    run_on = re.compile(rf"(?<!\d){text}(?!\d)")
    found = found or [tag for tag, parts in tokens.items() if run_on.search("".join(parts))]
    return sorted(found, key=lambda tag: (not "".join(tokens[tag]).endswith(text), tag))


def tag_near(name: str, tags: Iterable[str]) -> list[str]:
    """Return the tag that is spelled most like this name and has the same numbers, as a list of at most one."""
    wanted = _tokens(name)
    numbers = {each for each in wanted if each.isdigit()}
    folded = {"".join(parts): tag for tag in tags if numbers <= set(parts := _tokens(tag))}
    near = closest("".join(wanted), folded)
    return [] if near is None else [folded[near]]


def did_you_mean(found: Sequence[str], name: str) -> str:
    """Return ``; did you mean …?`` for these tags, or an empty string if there are none."""
    if not found:
        return ""
    if len(found) > _MOST_NAMED:
        return f"; {len(found)} tags are called so, as {found[0]!r}: 'intarsia targets {name}' lists them"
    *others, last = map(repr, found)
    return f"; did you mean {', '.join(others)}{' or ' if others else ''}{last}?"


def _tokens(name: str) -> list[str]:
    """Split a name into runs of letters and digits. A separator ends a number, but not a run of letters."""
    parts: list[str] = []
    for each in re.findall(r"[^\W\d_]+|\d+", name.lower()):
        if parts and parts[-1].isalpha() and each.isalpha():
            parts[-1] += each
        else:
            parts.append(each)
    return parts


def _is_in(wanted: Sequence[str], parts: Sequence[str]) -> bool:
    """Whether ``parts`` contain ``wanted``, which may begin inside a word and end inside a word."""
    return any(_begins(wanted, parts[start:]) for start in range(len(parts) - len(wanted) + 1))


def _begins(wanted: Sequence[str], parts: Iterable[str]) -> bool:
    last = len(wanted) - 1
    return all(
        word == part
        or (word.isalpha() and place == 0 == last and word in part)
        or (word.isalpha() and place == 0 < last and part.endswith(word))
        or (word.isalpha() and place == last > 0 and part.startswith(word))
        for place, (word, part) in enumerate(zip(wanted, parts, strict=False))
    )
