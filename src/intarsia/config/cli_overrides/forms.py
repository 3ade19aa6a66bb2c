"""Texts and tags inside a configuration's form, opened up to dicts, so that paths lead into it. Nothing is derived."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from intarsia.config.cli_overrides.paths import find_option
from intarsia.config.compilation import LEVEL as CONFIG_LEVEL
from intarsia.config.compilation import CompilationConfig
from intarsia.config.elements import CONFIG, ELEMENTS, level_of
from intarsia.config.forms import machine_of_text
from intarsia.spec import Placed, Spec, read
from intarsia.spec.problems import Where
from intarsia.spec.reader import SpecReader, load_json
from intarsia.spec.syntax import Piece, layer

Form = dict[str, Any]

_KIND = CONFIG_LEVEL.kinds[CONFIG]
_HEAD = frozenset({"kind", "tag"})


@dataclass(frozen=True, slots=True)
class Opened:
    """Fields of a configuration as dicts.

    Attributes:
        fields: What is stated.
        brought: What a tag of the whole brings, over which the rest is laid.
        tag: That tag; empty without one.
    """

    fields: Form
    brought: Form = field(default_factory=dict)
    tag: str = ""


def divided(form: Mapping[str, Any]) -> tuple[Opened, Form]:
    """What a file says of the configuration, opened up, and its settings besides; a `SpecError` if it does not read."""
    settings = settings_of(form)
    fields = {name: value for name, value in form.items() if name not in settings}
    if not _HEAD.isdisjoint(form) and level_of(form) != CONFIG:
        return opened(form), settings
    return (_of_fields(fields) if fields else Opened({})), settings


def settings_of(form: Mapping[str, Any]) -> Form:
    """The settings that a file holds besides the fields of a configuration."""
    if not _HEAD.isdisjoint(form) and level_of(form) != CONFIG:
        return {}
    return {name: value for name, value in form.items() if name not in _HEAD and find_option(_KIND, name) is None}


def opened(form: object) -> Opened:
    """The fields of a configuration in any form, texts and tags opened up; a `SpecError` where it does not read."""
    if isinstance(form, str):
        return _of_text(form)
    if isinstance(form, Mapping) and level_of(form) == CONFIG:
        return _of_fields(form)
    if isinstance(form, list | tuple):
        return Opened({"targets": _elements(form)})
    if isinstance(form, Mapping) and not _HEAD.isdisjoint(form) and level_of(form) == "target":
        return Opened({"targets": _elements([form])})
    return _whole(form)


def _of_text(text: str) -> Opened:
    piece = layer(Piece.whole(text))
    if piece.text.startswith(("{", "[")):
        reader = SpecReader(CONFIG_LEVEL)
        data = load_json(piece, Where(), reader.problems)
        reader.problems.raise_any()
        return opened(data)
    return Opened({"targets": _elements(text)}) if level_of(piece.text) == "target" else _whole(text)


def _whole(form: object) -> Opened:
    """What must be read whole to know what it says: the tag of a configuration, a map from device type to target."""
    config = CompilationConfig.of(form)
    if config.tags:
        return Opened({}, config.export(), config.tag)
    return Opened({name: value for name, value in config.export().items() if name != "kind"})


def _of_fields(form: Mapping[str, Any]) -> Opened:
    whole = _whole({"tag": form["tag"]}) if "tag" in form and "kind" not in form else Opened({})
    stated: Form = {}
    for name, value in form.items():
        option = find_option(_KIND, name)
        if option is not None:
            stated[option.name] = _opened_field(option.name, value)
        elif name not in _HEAD or form.keys() >= _HEAD:  # beside a kind, a tag is a label
            stated[name] = value
    return Opened(stated, whole.brought, whole.tag)


def _opened_field(name: str, value: object) -> object:
    if name == "targets":
        return _elements(value)
    if name in ("host", "executor", "runtime") and isinstance(value, str):
        return read(CONFIG_LEVEL.nested("target" if name == "host" else name), value).export()
    return value


def _elements(form: object) -> object:
    """The elements of a priority list as dicts; what names no targets is left for the reader to refuse."""
    if isinstance(form, str):
        return _of_list(form)
    if isinstance(form, Mapping):
        return _elements([form])
    if not isinstance(form, list | tuple):
        return form
    reader = SpecReader(CONFIG_LEVEL)
    items: list[Any] = [
        ELEMENTS.element.from_data(item, Where("targets").item(index), reader) if _is_short(item) else item
        for index, item in enumerate(form)
    ]
    reader.problems.raise_any()
    return [_element(item) if isinstance(item, Mapping) else _exported(item) for item in items]


def _is_short(item: object) -> bool:
    """Whether it stands for more than is written: a text, or a target by its tag."""
    return isinstance(item, str) or (
        isinstance(item, Mapping) and "kind" not in item and "tag" in item and level_of(item) == "target"
    )


def _of_list(text: str) -> list[Form]:
    reader = SpecReader(CONFIG_LEVEL)
    piece = layer(Piece.whole(text))
    if level_of(piece.text) == "target" and len(reader.split_list("target", piece)) == 1:
        found: Sequence[Any] = machine_of_text(piece, Where(piece=piece), reader)
    else:
        found = ELEMENTS.from_text(piece, Where("targets", piece), reader)
    reader.problems.raise_any()
    return [element.export() for element in found]


def _exported(item: object) -> object:
    return item.export() if isinstance(item, Spec | Placed) else item


def _element(form: Mapping[str, Any]) -> Form:
    """A target or nested configuration, opened up in turn."""
    if level_of(form) == CONFIG:
        inner = _of_fields(form)
        return {"kind": CONFIG} | inner.brought | inner.fields
    found = dict(form)
    if "devices" in found:
        found["devices"] = _elements(found["devices"])
    if "host" in found:
        found["host"] = _opened_field("host", found["host"])
    return found
