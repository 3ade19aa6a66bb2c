"""One row of a case file, the forms that rows take, and which form a row has.

A form is the shape of a row's input and of what it states, never its name or its values, so rows that nobody has seen
yet are treated like those of the same shape.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A statement about the spec language: for this input these facts hold, or this error is raised.

    Attributes:
        id: Its name in the file.
        area: What it is about.
        status: ``tested`` or ``asked`` elsewhere, ``source``: read off, ``reference_defect``: known to be wrong there.
        input: What to do; its keys make the form.
        expect: Facts that hold; empty where an error is expected.
        error: The idea that the message of the error conveys; empty where facts are.
        fixtures: Declarations of the kinds that the row names and the file declares, by name.
    """

    id: str
    area: str
    status: str
    input: Mapping[str, Any]
    expect: Mapping[str, Any]
    error: str
    fixtures: Mapping[str, Mapping[str, Any]]

    @property
    def counts(self) -> bool:
        """Whether it is among the rows of which most must be adopted."""
        return self.status in {"tested", "asked"}

    def __str__(self) -> str:
        return self.id


def read_rows(path: Path) -> tuple[Row, ...]:
    """The rows of a case file."""
    data = json.loads(path.read_text(encoding="utf-8"))
    fixtures: Mapping[str, Any] = data.get("fixtures", {})
    return tuple(
        Row(
            id=case["id"],
            area=case["area"],
            status=case["status"],
            input={name: value for name, value in case["input"].items() if name != "fixture"},
            expect=case.get("expect", {}),
            error=case.get("error", ""),
            fixtures=_named_in(fixtures, json.dumps(case["input"])),
        )
        for case in data["cases"]
    )


def _named_in(fixtures: Mapping[str, Any], text: str) -> Mapping[str, Any]:
    return {name: fixture for name, fixture in fixtures.items() if re.search(rf"\b{re.escape(name)}\b", text)}


def words(text: str) -> frozenset[str]:
    """The words of a text, as a set."""
    return frozenset(text.split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What the input of a row looks like.

    Attributes:
        needs: Keys that it has.
        may: Keys that it may have besides.
        open: Whether it may have any other keys as well.
        areas: Areas it occurs in; empty for all.
        when: A further condition.
    """

    needs: frozenset[str]
    may: frozenset[str] = frozenset()
    open: bool = False
    areas: frozenset[str] = frozenset()
    when: Callable[[Row], bool] = field(default=lambda row: True)

    def fits(self, row: Row) -> bool:
        """Whether the row has this shape."""
        if self.areas and row.area not in self.areas:
            return False
        known = self.open or row.input.keys() <= self.needs | self.may
        return known and self.needs <= row.input.keys() and self.when(row)


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """A shape, and how a row of it is carried out: it raises ``AssertionError`` if the row does not hold."""

    shape: Shape
    run: Callable[[Row], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """A shape whose rows are not ours to fulfil.

    Attributes:
        shape: The shape.
        decided_by: The point of the system's description that says otherwise, or ``outside our scope``.
        reason: What we do instead, or why this is not ours.
    """

    shape: Shape
    decided_by: str
    reason: str


def form(
    run: Callable[[Row], None],
    needs: str,
    may: str = "",
    *,
    areas: str = "",
    when: Callable[[Row], bool] = lambda row: True,
) -> Form:
    """A form; the sets are written as words."""
    return Form(shape=Shape(needs=words(needs), may=words(may), areas=words(areas), when=when), run=run)


def verdict(row: Row, forms: Sequence[Form], rejections: Sequence[Rejection]) -> Form | Rejection | None:
    """How the row is treated: rejected, carried out, or ``None`` for a shape that nobody knows."""
    refused = next((rejection for rejection in rejections if rejection.shape.fits(row)), None)
    return refused or next((known for known in forms if known.shape.fits(row)), None)
