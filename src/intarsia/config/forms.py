"""Any form of a configuration to its value: a kind, a tag of any level, a priority list, a dict, text or a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from intarsia.config.elements import CONFIG, DEPLOYMENT, ELEMENTS, level_of
from intarsia.errors import SpecError
from intarsia.spec import Level, Placed, Spec
from intarsia.spec.containers import NestedType
from intarsia.spec.data_files import read_data
from intarsia.spec.problems import Where
from intarsia.spec.reader import SpecReader, load_json
from intarsia.spec.syntax import Piece, layer, words
from intarsia.spec.types import Reader, Value
from intarsia.target import KINDS, Target, read_priority_list
from intarsia.target.priority import is_by_device
from intarsia.target.target import LEVEL as TARGET_LEVEL


def read_any(level: Level, form: object) -> Spec[Any]:
    """The spec that a configuration in any form is read as; a `SpecError` has every problem and its place."""
    if isinstance(form, Path):
        form = file_form(form)
    reader = SpecReader(level)
    if isinstance(form, str) and (piece := layer(Piece.whole(str(form)))).text.startswith("["):
        form = load_json(piece, Where(), reader.problems)
    spec = None if reader.problems else ConfigOf().from_data(form, Where(), reader)
    reader.problems.raise_any()
    assert isinstance(spec, Spec)
    return spec


def file_form(path: Path) -> Any:
    """The form that a file of a spec holds, JSON or YAML by its suffix, or text; a `SpecError` if it cannot be read."""
    return read_data(path, "target file")


@dataclass(frozen=True, slots=True)
class ConfigOf(NestedType):
    """A configuration in any form that `CompilationConfig.of` takes, files aside."""

    label: ClassVar[str] = CONFIG

    def from_text(self, piece: Piece, where: Where, reader: Reader) -> Value:
        """The configuration written here, or ``None`` after noting why there is none."""
        inner = layer(piece)
        if reader.problems.are_quotes_open(where, inner):
            return None
        parts = reader.split_list("target", inner)
        is_lone = inner.text.startswith("{") or len(parts) == 1
        level = level_of(inner.text) if is_lone else "target"
        if level == CONFIG:
            return reader.nested_text(CONFIG, piece, where, in_list=False)
        if level != "target":
            return _refuse(level, where.on(inner), reader)
        if is_lone:
            return _around(machine_of_text(inner, where.on(inner), reader), where, reader)
        return _around(ELEMENTS.from_text(piece, where.field("targets"), reader), where, reader)

    def from_data(self, data: object, where: Where, reader: Reader) -> Value:
        """The configuration given here, or ``None`` after noting why there is none."""
        if isinstance(data, str):
            return self.from_text(Piece.whole(str(data)), where, reader)
        level = level_of(data)
        if level == CONFIG:
            return reader.nested_data(CONFIG, data, where, in_list=False)
        if level != "target":
            return _refuse(level, where, reader)
        if isinstance(data, Mapping) and is_by_device(data):
            return _around(_by_device(data, where, reader), where, reader)
        if isinstance(data, list | tuple):
            return _around(ELEMENTS.from_data(data, where.field("targets"), reader), where, reader)
        return _around(_machine_of_data(data, where, reader), where, reader)


def _around(elements: Sequence[Value] | None, where: Where, reader: Reader) -> Value:
    """The configuration of these elements, which are read already."""
    if elements is None or any(element is None for element in elements):
        return None
    return reader.nested_data(CONFIG, {"targets": list(elements)}, where, in_list=False)


def machine_of_text(piece: Piece, where: Where, reader: Reader) -> list[Value]:
    """The targets of a machine that is written as one target.

    An accelerator's alias stands for its list. A device that names an accelerator as its ``compiler`` is a list of the
    two: the device takes what is left.
    """
    if piece.text.startswith("{"):
        data = load_json(piece, where, reader.problems)
        return [None] if data is None else _machine_of_data(data, where.on(None), reader)
    value = _alone(reader).nested_text("target", piece, where, in_list=True)
    head = next(iter(words(piece)), None)
    return _with_device(value, None if head is None else head.text)


def _machine_of_data(data: object, where: Where, reader: Reader) -> list[Value]:
    if isinstance(data, str):
        return machine_of_text(Piece.whole(str(data)), where, reader)
    value = _alone(reader).nested_data("target", data, where, in_list=True)
    return _with_device(value, data.get("kind") if isinstance(data, Mapping) else None)


def _alone(reader: Reader) -> SpecReader:
    inner = SpecReader(TARGET_LEVEL, problems=reader.problems)
    inner.alone = True
    return inner


def _with_device(value: Value, named: object) -> list[Value]:
    """A target; behind an accelerator its base, where that is what was named: it stated its compiler."""
    kind = KINDS.get(named) if isinstance(named, str) else None
    if kind is None or kind.level != "device" or not isinstance(value, Target) or not value.kind.partial:
        return [value]
    return [value, value.base]


def _refuse(level: str, where: Where, reader: Reader) -> None:
    if level == DEPLOYMENT:
        what = (
            "this describes several machines, a configuration only one: hand it to compile --deployment, in Python to "
            "intarsia.compile_deployment"
        )
    else:
        what = f"a {level} is not a configuration"
    reader.problems.add(where, what)


def _by_device(form: Mapping[Any, object], where: Where, reader: Reader) -> Sequence[Value] | None:
    try:
        found = read_priority_list(form)
    except SpecError as error:
        reader.problems.add(where, str(error))
        return None
    targets = [target.with_host(found.host) for target in found.targets]
    return [t if i is None else Placed(t, i) for t, i in zip(targets, found.places, strict=True)]
