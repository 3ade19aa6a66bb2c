"""Which tags a name may mean that leaves out the vendor, the separators, or the end: ``raspberrypi4``, ``rtx3070``."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from intarsia.spec.problems import closest

_SHORTEST = 3
"""Letters and digits of a name that is compared at all: two are in every tag."""
_MOST_NAMED = 3


def tags_with(name: str, tags: Collection[str]) -> list[str]:
    """The tags that have this name in them, those first that end in it.

    Case and separators do not count, a number is compared as a whole: ``4`` is in ``4b``, and not in ``400``. Only
    where no tag has it so, numbers may run into each other: ``c54xlarge``.
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
    """The tag that this name may be a misspelling of, whose numbers are those of the name."""
    wanted = _tokens(name)
    numbers = {each for each in wanted if each.isdigit()}
    folded = {"".join(parts): tag for tag in tags if numbers <= set(parts := _tokens(tag))}
    near = closest("".join(wanted), folded)
    return [] if near is None else [folded[near]]


def did_you_mean(found: Sequence[str], name: str) -> str:
    """``; did you mean …?`` of some tags; nothing where there are none."""
    if not found:
        return ""
    if len(found) > _MOST_NAMED:
        return f"; {len(found)} tags are called so, as {found[0]!r}: 'intarsia targets {name}' lists them"
    *others, last = map(repr, found)
    return f"; did you mean {', '.join(others)}{' or ' if others else ''}{last}?"


def _tokens(name: str) -> list[str]:
    """Runs of letters and of digits; letters go on across separators, a number ends there."""
    parts: list[str] = []
    for each in re.findall(r"[^\W\d_]+|\d+", name.lower()):
        if parts and parts[-1].isalpha() and each.isalpha():
            parts[-1] += each
        else:
            parts.append(each)
    return parts


def _is_in(wanted: Sequence[str], parts: Sequence[str]) -> bool:
    """Whether one stands in the other; its first letters may be the end of a word, its last ones the beginning."""
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
