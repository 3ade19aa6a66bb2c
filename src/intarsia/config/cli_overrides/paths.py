"""Flat paths such as ``targets[1].host.mcpu``: what stands at one in a form, and what the schema says of that."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from intarsia.config.compilation import LEVEL as CONFIG_LEVEL
from intarsia.config.elements import CONFIG, ElementOf, level_of
from intarsia.errors import SpecError
from intarsia.spec import Kind, Level, ListOf, MapOf, Option, Spec, SpecOf, read
from intarsia.spec.problems import Where, nearest
from intarsia.spec.reader import SpecReader
from intarsia.spec.syntax import Piece
from intarsia.spec.types import OptionType, Value
from intarsia.target.target import LEVEL as TARGET_LEVEL

Steps = tuple[str | int, ...]
"""The names and indices of a path, outermost first."""

_STEP = re.compile(r"\[(?P<index>[0-9]{1,6})\]|(?:^|(?<!^)\.)(?P<name>[^.\[\]\s]+)")


def read_path(text: str) -> Steps:
    """The steps of a path; a `SpecError` where it is none."""
    steps: list[str | int] = []
    at = 0
    while at < len(text):
        found = _STEP.match(text, at)
        if found is None:
            break
        steps.append(found["name"] if found["index"] is None else int(found["index"]))
        at = found.end()
    if not steps or at < len(text) or isinstance(steps[0], int):
        raise SpecError(f"{text!r} is not a path; write one such as targets[1].mcpu or executor.link-params")
    return tuple(steps)


def print_path(steps: Steps) -> str:
    """The path of these steps."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).removeprefix(".")


def leaves(form: object, at: Steps = ()) -> Iterator[tuple[Steps, Any]]:
    """Each leaf of a form with its path. A list is a leaf itself unless it holds something with names in it."""
    if isinstance(form, Mapping) and form:
        for name, inner in form.items():
            yield from leaves(inner, (*at, str(name)))
    elif isinstance(form, list) and any(isinstance(item, Mapping) for item in form):
        for index, inner in enumerate(form):
            yield from leaves(inner, (*at, index))
    else:
        yield at, form


def value_at(form: Any, steps: Steps) -> Any:
    """What stands at a path, or ``None``."""
    for step in steps:
        if isinstance(form, Mapping) and isinstance(step, str):
            form = form.get(step)
        elif isinstance(form, list) and isinstance(step, int) and step < len(form):
            form = form[step]
        else:
            return None
    return form


def changed(form: Any, steps: Steps, value: object) -> Any:
    """A copy of the form with this value at the path; of all but its last step, only maps may be missing."""
    if not steps:
        return value
    step, rest = steps[0], steps[1:]
    if isinstance(step, int):
        return [changed(item, rest, value) if index == step else item for index, item in enumerate(form)]
    form = {} if form is None else form
    return {**form, step: changed(form.get(step), rest, value)}


def kind_named(level: Level, word: str) -> Kind | None:
    """The kind of this name, in any spelling and with or without a device index; ``None`` where there is none."""
    stem, colon, suffix = word.partition(":")
    name = stem if colon and suffix.isdigit() else word
    alias = level.aliases.get(name)
    if alias is not None and name not in level.kinds:
        name = str(alias.form["kind"])
    return level.kind(name)


def kind_of(level: Level, form: Mapping[str, Any]) -> Kind | None:
    """The kind of the spec that a dict describes, by its kind or its tag; ``None`` where that names nothing.

    Raises:
        SpecError: It names a tag that does not read.
    """
    stated = form.get("kind")
    if isinstance(stated, str):
        return kind_named(level, next(iter(stated.split()), ""))
    if "tag" in form:
        spec: Spec[Kind] = read(level, {"tag": form["tag"]})
        return spec.kind
    return level.kinds.get(level.default_kind)


def find_option(kind: Kind, name: str) -> Option | None:
    """The option of this name; dashes and underscores are alike, and older spellings count."""
    plain = name.replace("_", "-")
    for option in kind.options.values():
        if plain in {word.replace("_", "-") for word in (option.name, *option.older)}:
            return option
    return None


def type_at(form: Mapping[str, Any], steps: Steps) -> tuple[Steps, OptionType]:
    """The path in the schema's spelling, and the type of what stands there; a `SpecError` where nothing can."""
    return _in_spec(CONFIG_LEVEL, form, steps, 0)


def _in_spec(level: Level, form: Mapping[str, Any], steps: Steps, depth: int) -> tuple[Steps, OptionType]:
    name, kind = steps[depth], kind_of(level, form)
    if name == "kind" and depth:
        place = print_path(steps[:depth])
        raise SpecError(
            f"{print_path(steps)}: the kind cannot change alone, since another has other options; write {place}=KIND"
        )
    option = find_option(kind, name) if kind is not None and isinstance(name, str) else None
    if option is None:
        legal = [] if kind is None else list(kind.options)
        hint = nearest(str(name), legal, f"known are {', '.join(legal)}")
        raise SpecError(f"{print_path(steps)}: cannot recognize {str(name)!r}{hint}")
    steps = (*steps[:depth], option.name, *steps[depth + 1 :])
    return _in_value(level, option.type, form.get(option.name), steps, depth + 1)


def _in_value(level: Level, type_: OptionType, value: Any, steps: Steps, depth: int) -> tuple[Steps, OptionType]:
    if depth == len(steps):
        return steps, type_
    step = steps[depth]
    if isinstance(type_, ListOf) and isinstance(step, int) and isinstance(value, list) and step < len(value):
        return _in_value(level, type_.element, value[step], steps, depth + 1)
    if isinstance(type_, MapOf) and isinstance(step, str) and isinstance(value, Mapping | None):
        inner = None if value is None else value.get(step)
        return _in_value(level, type_.value, inner, steps, depth + 1)
    if isinstance(type_, SpecOf | ElementOf) and isinstance(value, Mapping):
        return _in_spec(_level_within(level, type_, value), value, steps, depth)
    place = print_path(steps[:depth])
    count = f"{place} holds {len(value)}" if isinstance(value, list) else f"set {place} first, as {place}=…"
    raise SpecError(f"{print_path(steps)}: there is no {print_path(steps[: depth + 1])}; {count}")


def _level_within(level: Level, type_: SpecOf | ElementOf, value: Mapping[str, Any]) -> Level:
    if isinstance(type_, SpecOf):
        return level.nested(type_.level)
    return CONFIG_LEVEL if level_of(value) == CONFIG else TARGET_LEVEL


def read_text(type_: OptionType, text: str, path: str) -> Value:
    """The value of this type that a text stands for, or a `SpecError`; ``path`` is what messages call its place."""
    reader = SpecReader(CONFIG_LEVEL)
    piece = Piece.whole(text)
    where = Where(path, piece)
    value = None if reader.problems.are_quotes_open(where, piece) else type_.from_text(piece, where, reader)
    reader.problems.raise_any()
    return value
