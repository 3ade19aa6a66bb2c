"""Reads a file of tags. Its fields are checked here; the spec of a tag is read when the tag is used.

A file is JSON or, by its suffix, YAML::

    sources: {short: "title, address"}
    tags:
      vendor/product: {form: "cuda -arch=sm_75", source: short, level: target, variants: {…}, override: false}

Only ``form`` is needed. ``source`` is one text or a list, each a name from ``sources`` or said in full. A variant is a
form as text, or a mapping with ``form`` and, where it differs from the tag's, ``level``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TypeGuard

from intarsia.errors import SpecError
from intarsia.spec.data_files import read_data
from intarsia.spec.problems import Problems, Where, nearest, shown
from intarsia.spec.tags import Form, Tag, Variant


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One tag of a file; ``override`` asks to replace one of that name."""

    tag: Tag
    override: bool = False


def read_tag_file(path: Path) -> Mapping[str, Row]:
    """Return the tags of one file by name. Raises `SpecError` that names every invalid field."""
    reader = _FileReader()
    rows = reader.rows(read_data(path, "tag file"))
    try:
        reader.problems.raise_any()
    except SpecError as error:
        raise SpecError(f"the tag file {path}: {error}") from None
    return MappingProxyType(rows)


class _FileReader:
    """Reads the fields of one file. Errors are added to ``problems``, and their fields get defaults."""

    def __init__(self) -> None:
        self.problems = Problems()

    def rows(self, data: object) -> dict[str, Row]:
        if not self._is_mapping(data, Where()):
            return {}
        self._refuse_others(data, ("sources", "tags"), Where())
        sources = self._mapping(data, "sources", Where())
        found = {
            name: self._row(name, fields, Where(f"tags[{name!r}]"), sources)
            for name, fields in self._mapping(data, "tags", Where()).items()
        }
        return {name: row for name, row in found.items() if row is not None}

    def _row(self, name: str, fields: object, where: Where, sources: Mapping[str, object]) -> Row | None:
        if self._is_mapping(fields, where):
            self._refuse_others(fields, ("form", "level", "variants", "source", "override"), where)
            level = self._str(fields, "level", "target", where)
            override = fields.get("override", False)
            if not isinstance(override, bool):
                self.problems.add(where.field("override"), f"must be a bool, found {shown(override)}")
            try:
                tag = Tag(
                    name=name,
                    level=level,
                    form=self._form(fields, where),
                    variants=self._variants(fields, level, where),
                    source=self._source(fields.get("source", ""), where, sources),
                )
            except SpecError as error:
                self.problems.add(where, str(error))
            else:
                return Row(tag=tag, override=override is True)
        return None

    def _variants(self, fields: Mapping[str, object], level: str, where: Where) -> Mapping[str, Form]:
        found: dict[str, Form] = {}
        for name, variant in self._mapping(fields, "variants", where).items():
            place = where.field("variants").field(str(name))
            if isinstance(variant, str):
                found[name] = variant
            elif self._is_mapping(variant, place):
                self._refuse_others(variant, ("form", "level"), place)
                form, own = self._form(variant, place), self._str(variant, "level", level, place)
                found[name] = form if own == level else Variant(level=own, form=form)
        return MappingProxyType(found)

    def _form(self, fields: Mapping[str, object], where: Where) -> Form:
        form = fields.get("form")
        if form is None:
            self.problems.add(where, "field 'form' is missing; it holds the spec that the tag names")
        return form

    def _source(self, data: object, where: Where, sources: Mapping[str, object]) -> str:
        words = [data] if isinstance(data, str) else data
        if isinstance(words, list) and all(isinstance(word, str) for word in words):
            return "; ".join(str(sources.get(word, word)) for word in words)
        self.problems.add(where.field("source"), f"must be a str or a list of them, found {shown(data)}")
        return ""

    def _is_mapping(self, data: object, where: Where) -> TypeGuard[Mapping[str, object]]:
        if not isinstance(data, Mapping):
            self.problems.add(where, f"must be a mapping, found {shown(data)}")
        return isinstance(data, Mapping)

    def _refuse_others(self, fields: Mapping[str, object], known: tuple[str, ...], where: Where) -> None:
        for name in fields.keys() - known:
            listing = f"known are {', '.join(known)}"
            self.problems.add(where, f"unknown field {shown(name)}{nearest(str(name), known, listing)}")

    def _mapping(self, fields: Mapping[str, object], name: str, where: Where) -> Mapping[str, object]:
        value = fields.get(name)
        return value if value is not None and self._is_mapping(value, where.field(name)) else {}

    def _str(self, fields: Mapping[str, object], name: str, default: str, where: Where) -> str:
        value = fields.get(name, default)
        if isinstance(value, str):
            return value
        self.problems.add(where.field(name), f"must be a str, found {shown(value)}")
        return default
