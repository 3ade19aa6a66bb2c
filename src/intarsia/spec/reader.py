"""Reads a spec from any of its forms: text, JSON text, a dict or an existing value. Resolves tags.

What characters mean is left to `intarsia.spec.syntax`, what option values mean to `intarsia.spec.types`.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from intarsia.spec.containers import MOST_SPECS
from intarsia.spec.documents import TextError
from intarsia.spec.json_text import parse_json
from intarsia.spec.problems import Problems, Where, nearest, shown, shown_name
from intarsia.spec.schema import Kind, Option
from intarsia.spec.similar_names import did_you_mean, tag_near, tags_with
from intarsia.spec.spec import TAGS_TYPE, Level, Placed, Spec
from intarsia.spec.statements import Statement, read_statements
from intarsia.spec.syntax import Piece, layer, split_specs, words
from intarsia.spec.tags import Alias, Tag
from intarsia.spec.types import Bool, Value

_DEEPEST = 8
"""Specs within specs. Each text layer may double the escapes, so this bounds the size of canonical text too."""


def read(level: Level, form: object, *, path: str = "", alone: bool = True) -> Spec[Any]:
    """Read one spec of this level from any form.

    Args:
        path: Where it stands in what the user handed over.
        alone: Whether it is all that was handed over, so that an alias may mean a whole (`Level.whole`).

    Raises:
        SpecError: With every problem, its place, and the nearest legal spelling.
    """
    reader = SpecReader(level)
    reader.alone = alone and not path
    spec = reader.nested_data(level.name, form, Where(path), in_list=False)
    reader.problems.raise_any()
    assert isinstance(spec, level.type)
    return spec


def read_list(level: Level, form: object) -> tuple[Spec[Any] | Placed, ...]:
    """The specs of a priority list: comma-separated text, JSON text, a list, or a single one in any form.

    Raises:
        SpecError: With every problem of every element.
    """
    reader = SpecReader(level)
    specs = reader.read_list(form)
    reader.problems.raise_any()
    return tuple(spec for spec in specs if spec is not None)


@dataclass(frozen=True, slots=True)
class _Head:
    """What the first word, or the fields ``kind`` and ``tag``, name."""

    kind: Kind
    base: Mapping[str, Value]
    tags: tuple[str, ...]
    index: int | None = None
    whole: bool = False


class SpecReader:
    """Reads specs of one level and those nested in them; an error goes to ``problems``, and its spec is ``None``."""

    def __init__(self, level: Level, resolving: tuple[str, ...] = (), problems: Problems | None = None) -> None:
        self.level = level
        self.problems = Problems() if problems is None else problems
        self.alone = False  # whether what is read is all that was handed over
        self._resolving = resolving

    # what option types need of us

    def nested_text(self, level: str, piece: Piece, where: Where, *, in_list: bool) -> Value:
        """Read a spec of this level from text; ``None`` if it has a problem."""
        inner = self._inner(level)
        if inner is not self:
            return inner.nested_text(level, piece, where, in_list=in_list)
        if self._too_deep(where):
            return None
        piece = layer(piece)
        if self.problems.are_quotes_open(where, piece):
            return None
        if piece.text.startswith("{"):
            data = load_json(piece, where, self.problems)
            return None if data is None else self._from_dict(data, where.on(None), in_list=in_list)
        parts = split_specs(piece, self.level.tags.with_comma(piece.text))
        if len(parts) > 1:
            where = where.on(parts[1] if parts[1].text else piece)
            self.problems.add(where, f"this is a list of {len(parts)}; write one {self.level.name}")
            return None
        return self._from_words(words(piece), where.on(piece), in_list=in_list)

    def nested_data(self, level: str, data: object, where: Where, *, in_list: bool) -> Value:
        """Read a spec of this level from data; ``None`` if it has a problem."""
        inner = self._inner(level)
        if inner is not self:
            return inner.nested_data(level, data, where, in_list=in_list)
        if isinstance(data, self.level.type):
            return data
        if isinstance(data, Placed) and in_list and isinstance(data.spec, self.level.type):
            return data
        if self._too_deep(where):
            return None
        if isinstance(data, str):
            return self.nested_text(level, Piece.whole(str(data)), where, in_list=in_list)
        if isinstance(data, Mapping):
            return self._from_dict(data, where, in_list=in_list)
        self.problems.add(
            where, f"a {level} must be a string, a dict or a {self.level.type.__name__}, found {shown(data)}"
        )
        return None

    def split_list(self, level: str, piece: Piece) -> list[Piece]:
        """The specs of a priority list."""
        return split_specs(piece, self._inner(level).level.tags.with_comma(piece.text))

    def read_list(self, form: object) -> list[Value]:
        """The specs of a priority list in any form; ``None`` stands for each that has a problem."""
        name = self.level.name
        if isinstance(form, str):
            piece = layer(Piece.whole(str(form)))
            if self.problems.are_quotes_open(Where(), piece):
                return []
            if piece.text.startswith("["):
                form = load_json(piece, Where(), self.problems)
            elif not piece.text.startswith("{"):
                parts = split_specs(piece, self.level.tags.with_comma(piece.text))
                self.alone = len(parts) == 1
                if self._are_too_many(len(parts)):
                    return []
                return [self.nested_text(name, part, Where().on(part), in_list=True) for part in parts]
        self.alone = not isinstance(form, list | tuple) or len(form) == 1
        if isinstance(form, list | tuple):
            if self._are_too_many(len(form)):
                return []
            items = enumerate(form)
            return [self.nested_data(name, item, Where(f"{name}s").item(i), in_list=True) for i, item in items]
        return [] if form is None and self.problems else [self.nested_data(name, form, Where(), in_list=True)]

    def _are_too_many(self, count: int) -> bool:
        if count > MOST_SPECS:
            self.problems.add(Where(), f"the list has {count} {self.level.name}s; one machine has at most {MOST_SPECS}")
        return count > MOST_SPECS

    # text

    def _from_words(self, pieces: list[Piece], where: Where, *, in_list: bool) -> Value:
        if not pieces:
            example = next(iter(self.level.kinds), "kind -option=value")
            self.problems.add(where, f"cannot parse an empty {self.level.name}; name one, such as {example!r}")
            return None
        head = self._name(pieces[0].text, where.on(pieces[0]), in_list=in_list)
        if head is None:
            return None
        statements = read_statements(pieces[1:], head.kind.options, where, self.problems)
        stated: dict[str, Value] = {}
        places: dict[str, Where] = {}
        tags: tuple[str, ...] = head.tags
        for statement in statements:
            place = where.field(statement.name).on(statement.key)
            option = self._option(head.kind, statement.name, where.on(statement.key))
            name = statement.name if option is None else option.name
            if name in places or name == "kind":
                self.problems.add(place, f"option {name!r} appears more than once")
            elif name == "tag":
                tags += self._stated_tags(statement, place)
            elif option is not None:
                stated[name] = self._stated_value(option, statement, place)
            places[name] = place
        return self._finish(head, stated, places, tags, where)

    def _stated_value(self, option: Option, statement: Statement, place: Where) -> Value:
        if statement.value is not None:
            return option.type.from_text(statement.value, place.on(statement.value), self)
        if isinstance(option.type, Bool):
            return True
        self.problems.add(place, f"needs a value ({option.type.label}); if it starts with '-', write it after '='")
        return None

    def _stated_tags(self, statement: Statement, place: Where) -> tuple[str, ...]:
        if statement.value is None:
            self.problems.add(place, "needs a value")
            return ()
        return tuple(TAGS_TYPE.from_text(statement.value, place.on(statement.value), self) or ())

    # dict

    def _from_dict(self, data: Mapping[Any, Any], where: Where, *, in_list: bool) -> Value:
        head = self._dict_head(data, where, in_list=in_list)
        if head is None:
            return None
        stated: dict[str, Value] = {}
        places: dict[str, Where] = {}
        for name, value in data.items():
            if name in ("kind", "tag"):
                continue
            if not isinstance(name, str):
                self.problems.add(where, f"the name of an option must be a string, found {shown(name)}")
            elif (option := self._option(head.kind, name, where)) is not None:
                if option.name in stated:
                    self.problems.add(where.field(name), f"option {option.name!r} appears more than once")
                places[option.name] = where.field(name)
                stated[option.name] = option.type.from_data(value, places[option.name], self)
        return self._finish(head, stated, places, head.tags, where)

    def _dict_head(self, data: Mapping[Any, Any], where: Where, *, in_list: bool) -> _Head | None:
        tag = data.get("tag", ())
        tags = TAGS_TYPE.from_data([tag] if isinstance(tag, str) else tag, where.field("tag"), self)
        if "kind" not in data:
            if tags:
                return self._common_base(tags, where.field("tag"), in_list=in_list)
            if tags is not None and self.level.default_kind:
                return _Head(self.level.kinds[self.level.default_kind], {}, ())
            if tags is not None:
                hint = self.problems.nearest("kind", (name for name in data if isinstance(name, str)))
                hint = hint.replace("did you mean", "is it misspelt as")
                self.problems.add(where, f"field 'kind' is not found{hint}")
            return None
        if not isinstance(data["kind"], str):
            self.problems.add(where.field("kind"), f"must be a str, found {shown(data['kind'])}")
            return None
        head = self._name(str(data["kind"]), where.field("kind"), in_list=in_list, tags_allowed=False)
        return None if head is None or tags is None else replace(head, tags=tuple(tags))

    def _common_base(self, tags: tuple[str, ...], where: Where, *, in_list: bool) -> _Head | None:
        heads = [self._name(tag, where, in_list=in_list, kinds_allowed=False) for tag in tags]
        merged = heads[0]
        for tag, head in zip(tags[1:], heads[1:], strict=True):
            if merged is None or head is None:
                return None
            conflict = [name for name in head.base if merged.base.get(name, head.base[name]) != head.base[name]]
            if conflict or head.kind is not merged.kind or head.index != merged.index:
                what = f"they differ in {', '.join(conflict) or 'kind'}"
                self.problems.add(where, f"tags {tags[0]!r} and {tag!r} contradict each other: {what}")
                return None
            merged = _Head(merged.kind, {**merged.base, **head.base}, merged.tags + head.tags, merged.index)
        return merged

    # names

    def _name(
        self, name: str, where: Where, *, in_list: bool, tags_allowed: bool = True, kinds_allowed: bool = True
    ) -> _Head | None:
        """Resolve a first word: a tag or a kind, in a list perhaps with an index, or a tag with a variant."""
        is_kind = kinds_allowed and name in self.level.kinds  # no tag has the name of a kind, so none is looked for
        tag = self.level.tags.find(name) if tags_allowed and not is_kind else None
        if tag is not None:
            return self._tag(tag, "", where)
        kind = self.level.kind(name) if kinds_allowed else None
        if kind is not None:
            return _Head(kind, {}, ())
        if kinds_allowed and name in self.level.aliases:
            return self._alias(self.level.aliases[name], where)
        stem, colon, suffix = name.rpartition(":")
        if colon and suffix.isascii() and suffix.isdigit() and len(suffix) < 10:
            return self._placed(stem, int(suffix), where, in_list, tags_allowed, kinds_allowed)
        tag = self.level.tags.find(stem) if colon and tags_allowed else None
        if tag is not None:
            return self._tag(tag, suffix, where)
        self._unknown(name, where, tags_allowed=tags_allowed, kinds_allowed=kinds_allowed)
        return None

    def _placed(
        self, stem: str, index: int, where: Where, in_list: bool, tags_allowed: bool, kinds_allowed: bool
    ) -> _Head | None:
        head = self._name(stem, where, in_list=False, tags_allowed=tags_allowed, kinds_allowed=kinds_allowed)
        if head is None:
            return None
        if not in_list:
            hint = f"write {stem!r}, or put it in a list, where ':{index}' names the device"
            self.problems.add(where, f"a {self.level.name} has no device index; {hint}")
            return None
        return replace(head, index=index, whole=False)

    def _unknown(self, name: str, where: Where, *, tags_allowed: bool, kinds_allowed: bool) -> None:
        level = self.level
        if self.problems.is_full:
            self.problems.add(where, "")
            return
        if not tags_allowed and name in level.tags:
            self.problems.add(where, f"{name!r} is a tag, not a kind; write it in the field 'tag'")
            return
        stem, colon, _ = name.rpartition(":")
        if colon and stem in level.kinds:
            self.problems.add(
                where,
                f"kind {stem!r} has no variants; only a device index or the variant of a tag stands after a colon",
            )
            return
        is_tag = tags_allowed and "/" in name  # no kind has one
        kinds, aliases = (list(level.kinds), list(level.aliases)) if kinds_allowed and not is_tag else ([], [])
        word = "tag" if is_tag or not kinds_allowed else f"{level.name} kind"
        listing = f"known are {', '.join(kinds)}" if kinds else ""
        hint = "" if self.problems.is_past_hints else self._meant(stem or name, [*kinds, *aliases], tags_allowed)
        hint = hint or (f"; {listing}" if listing else "")
        self.problems.add(where, f"{word} {shown_name(name)} is not defined{hint}")

    def _meant(self, name: str, names: Sequence[str], tags_allowed: bool) -> str:
        """Return a hint for an unknown name: a similar word, or tags that contain the name."""
        tags = self.level.tags if tags_allowed else ()
        has_vendor = tags_allowed and "/" in name
        similar = self.level.tags.similar(name) if tags_allowed else ()
        return (
            ("" if has_vendor else nearest(name, [*names, *similar]))
            or did_you_mean(tags_with(name, tags), name)
            or nearest(name, [*names, *similar])
            or did_you_mean(tag_near(name, tags), name)
        )

    def _alias(self, alias: Alias, where: Where) -> _Head | None:
        inner = SpecReader(self.level, self._resolving, self.problems)
        spec = inner.nested_data(self.level.name, alias.form, Where(where.path, depth=where.depth), in_list=False)
        return None if spec is None else _Head(spec.kind, spec.options, (), whole=alias.whole)

    def _tag(self, tag: Tag, variant: str, where: Where) -> _Head | None:
        label = f"{tag.name}:{variant}" if variant else tag.name
        chosen = tag.chosen(variant)
        if chosen is None:
            known = f"it has {', '.join(tag.variants)}" if tag.variants else "it has none"
            what = f"tag {tag.name!r} has no variant {variant!r}{self.problems.nearest(variant, tag.variants, known)}"
            self.problems.add(where, what)
            return None
        if chosen.level != self.level.name:
            self.problems.add(where, f"tag {label!r} names a {chosen.level}; write a {self.level.name} here")
            return None
        if label in self._resolving:
            self.problems.add(where, f"tags extend each other in a circle: {' → '.join((*self._resolving, label))}")
            return None
        inner = SpecReader(self.level, (*self._resolving, label), self.problems)
        inner.alone = self.alone
        spec = inner.nested_data(
            self.level.name, chosen.form, Where(f"tag {label!r}", depth=where.depth), in_list=False
        )
        return None if spec is None else _Head(spec.kind, spec.options, (label,))

    # the rest

    def _option(self, kind: Kind, name: str, where: Where) -> Option | None:
        option = kind.options.get(name)
        if option is not None or name in ("kind", "tag"):
            return option
        for option in kind.options.values():
            if name in option.older:
                warnings.warn(f"{name!r} is an older spelling of {option.name!r}", DeprecationWarning, stacklevel=2)
                return option
        if name == "features":
            self.problems.add(where, "'features' cannot be stated: they follow from the other options")
        elif name in self.level.elsewhere:
            what = f"cannot recognize {name!r}: a {self.level.name} of kind {kind.name!r} has no option {name!r}"
            self.problems.add(where, f"{what}; {self.level.elsewhere[name]}")
        else:
            hint = self.problems.nearest(name, kind.options, f"it has {', '.join(kind.options) or 'no options'}")
            self.problems.add(where, f"cannot recognize {shown_name(name)} as an option of {kind.name!r}{hint}")
        return None

    def _finish(
        self, head: _Head, stated: Mapping[str, Value], places: Mapping[str, Where], tags: tuple[str, ...], where: Where
    ) -> Value:
        if any(value is None for value in stated.values()):
            return None
        options = head.kind.complete({**head.base, **stated})
        faults = list(head.kind.faults(options))
        for name, what in faults:
            self.problems.add(places.get(name, where), what)
        if faults:
            return None
        spec = self.level.type.of_parts(head.kind, options, tags)
        if head.whole and self.alone and not where.depth:
            spec = self.level.whole(spec)
        return spec if head.index is None else Placed(spec, head.index)

    def _inner(self, level: str) -> SpecReader:
        wanted = self.level.nested(level)
        return self if wanted is self.level else SpecReader(wanted, self._resolving, self.problems)

    def _too_deep(self, where: Where) -> bool:
        if where.depth > _DEEPEST:
            self.problems.add(where, f"nested deeper than {_DEEPEST} levels")
            return True
        return False


def load_json(piece: Piece, where: Where, problems: Problems) -> Any:
    """Return the data of JSON text, or record a problem and return ``None``. Duplicate keys are problems."""
    try:
        return parse_json(piece.text)
    except TextError as fault:
        spot = None if fault.start is None else piece.cut(fault.start, fault.stop or fault.start)
        problems.add(where.on(spot), f"cannot load config dict: {fault.problem}")
    return None
