"""The tables of ``docs/options.md`` are those of the engines; ``pytest tests/docs --regenerate`` writes them.

That the engines read what they say is for ``tests/conformance/test_options.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pytest

from intarsia.config.levels import LEVELS
from intarsia.planning.effects import NOT_HERE, effects, level_effects
from intarsia.target import KINDS
from intarsia.target.describe import describe_kind

PAGE = Path(__file__).parents[2] / "docs" / "options.md"
TABLE = re.compile(r"(?<=<!-- options -->\n).*?(?=<!-- end -->)", re.DOTALL)


def tables() -> str:
    """A table for each kind of every level."""
    return "\n".join((*_targets(), *_levels())) + "\n\n"


def _targets() -> Iterator[str]:
    described = [name for name, kind in KINDS.items() if NOT_HERE in effects(kind).values()]
    yield "\n## Every kind of target\n"
    yield from _rows({name: what for name, what in effects(KINDS["llvm"]).items() if _is_shared("llvm", name)})
    yield from _rows({name: what for name, what in effects(KINDS["mnn"]).items() if name in ("base", "python")}, "")
    yield "\n## Kinds of targets\n"
    yield "No engine here serves these kinds. A compile says so of the whole target: it writes the plan, or leaves the"
    yield f"target out and names it as absent. They are: {', '.join(described)}."
    for name, kind in KINDS.items():
        own = {option: what for option, what in effects(kind).items() if not _is_shared(name, option)}
        if name not in described and own:
            yield f"\n### `{name}`\n"
            yield from _rows(own)


def _is_shared(kind: str, option: str) -> bool:
    """Whether every kind has it, and the same happens to it; how many threads there are, each engine is told."""
    shared = {each.name for each in describe_kind(KINDS[kind]).options if each.is_shared}
    return option in shared - {"threads"}


def _levels() -> Iterator[str]:
    yield "\n## Other levels"
    for level, kinds in LEVELS.items():
        for name, kind in kinds.items():
            if kind.options:
                yield f"\n### {level} `{name}`\n" if level != name else f"\n### {level}\n"
                yield from _rows(level_effects(level, kind))


def _rows(told: Mapping[str, str], header: str = "| option | read by |\n| --- | --- |") -> Iterable[str]:
    return filter(None, (header, *(f"| `{name}` | {what} |" for name, what in told.items())))


def test_the_tables_are_those_of_the_engines(request: pytest.FixtureRequest) -> None:
    text = PAGE.read_text(encoding="utf-8")
    if request.config.getoption("--regenerate"):
        PAGE.write_text(TABLE.sub(lambda _: tables(), text), encoding="utf-8")
        return
    found = TABLE.search(text)
    assert found is not None
    assert found[0] == tables()


def test_every_option_of_every_kind_and_level_is_on_it() -> None:
    for kind in KINDS.values():
        assert effects(kind).keys() == kind.options.keys()
    for level, kinds in LEVELS.items():
        for each in kinds.values():
            assert level_effects(level, each).keys() == each.options.keys()
