"""What the schema says about a place in a form that is not yet a spec: its kind, and the type of its values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from intarsia.config.cli_overrides.paths import Steps, print_path
from intarsia.config.compilation import LEVEL as CONFIG_LEVEL
from intarsia.config.elements import CONFIG, ElementOf, level_of
from intarsia.errors import SpecError
from intarsia.spec import Kind, Level, ListOf, MapOf, Option, Spec, SpecOf, read
from intarsia.spec.problems import Where, nearest
from intarsia.spec.reader import SpecReader
from intarsia.spec.syntax import Piece
from intarsia.spec.types import OptionType, Value
from intarsia.target.target import LEVEL as TARGET_LEVEL


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
    """The path in the spelling of the schema, and the type of what stands there.

    Raises:
        SpecError: There is no such place in a configuration like this one.
    """
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
    """The value that a text stands for, as one of this type; ``path`` is what messages call its place.

    Raises:
        SpecError: It is none.
    """
    reader = SpecReader(CONFIG_LEVEL)
    piece = Piece.whole(text)
    where = Where(path, piece)
    value = None if reader.problems.are_quotes_open(where, piece) else type_.from_text(piece, where, reader)
    reader.problems.raise_any()
    return value
