"""Registries that plug-ins and users may extend, and tags: names for whole specs of every level.

A tag is where a value came from, not part of it. `TagTable` is their one namespace; files of them are read by
`intarsia.spec.tag_sources`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeVar

from intarsia.errors import SpecError
from intarsia.spec.syntax import BLANKS, QUOTES

T = TypeVar("T")

Form = object
"""Any form that a spec may be written in: text, a dict, or a value."""
_FORBIDDEN = frozenset(f"{BLANKS}{QUOTES}\\=")


class Registry(Mapping[str, T]):
    """A read-only table with one explicit way to add a row.

    Adding swaps the whole table for a new one, so a reader in another thread sees the old or the new, never a mixture.
    """

    __slots__ = ("_rows", "_word")

    def __init__(self, word: str, rows: Mapping[str, T] | None = None) -> None:
        self._word = word
        self._rows: Mapping[str, T] = MappingProxyType(dict(rows or {}))

    def __getitem__(self, name: str) -> T:
        return self._rows[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def register(self, name: str, row: T, *, override: bool = False) -> None:
        """Add a row; a `SpecError` if the name is taken and ``override`` was not asked for."""
        if name in self and not override:
            raise SpecError(f"{self._word} {name!r} has been previously defined; pass override=True to replace it")
        self._rows = MappingProxyType({**self._rows, name: row})

    @contextmanager
    def scope(self) -> Iterator[None]:
        """A context at whose end all that was registered inside it is removed."""
        before = self._rows
        try:
            yield
        finally:
            self._rows = before


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """What a suffix selects (``name:variant``) if it is of another level than its tag."""

    level: str
    form: Form


@dataclass(frozen=True, slots=True, kw_only=True)
class Tag:
    """A named spec. It is read when the tag is used, so it may name kinds and tags that are registered later.

    Attributes:
        name: Such as ``vendor/product``. It may contain a comma, but no blank, quote, backslash or leading dash.
        level: What it names: ``target``, ``config``, ….
        form: The spec. ``{"tag": parent, …}`` or ``"parent -option=value"`` extends another tag.
        variants: More specs, chosen by a suffix: ``name:variant``. A `Variant` may be of another level.
        source: Where its figures come from.
    """

    name: str
    level: str
    form: Form
    variants: Mapping[str, Form] = field(default_factory=lambda: MappingProxyType({}))
    source: str = ""

    def __post_init__(self) -> None:
        for word in (self.name, *self.variants):
            if not word or word[0] in "-{[" or not _FORBIDDEN.isdisjoint(word):
                raise SpecError(
                    f"{word!r} cannot be the name of a tag: a name has no blanks, quotes, '=' or leading dash"
                )
        for variant in self.variants:
            if ":" in variant or variant.isdigit():
                raise SpecError(f"{variant!r} cannot name a variant of tag {self.name!r}: digits are a device index")

    def chosen(self, variant: str = "") -> Variant | None:
        """Return what this variant names (the tag itself if empty), or ``None`` if there is no such variant."""
        if not variant:
            return Variant(level=self.level, form=self.form)
        form = self.variants.get(variant)
        return form if form is None or isinstance(form, Variant) else Variant(level=self.level, form=form)


class TagSource(ABC):
    """A source of tags that need no registration. It reads only what a look-up needs."""

    @abstractmethod
    def tags(self) -> Mapping[str, Tag]:
        """Return all tags by name."""

    def find(self, name: str) -> Tag | None:
        """The tag of this name."""
        return self.tags().get(name)

    def with_comma(self, text: str) -> tuple[str, ...]:
        """Return names that contain a comma, at least those that occur in this text."""
        return tuple(name for name in self.tags() if "," in name)

    def similar(self, name: str) -> Iterator[str]:
        """Return candidates for a misspelled name. Reads at most a file or two."""
        return iter(self.tags())


class TagTable(Registry[Tag]):
    """The tags of every level: first the registered ones, then those of the sources in order."""

    __slots__ = ("_sources",)

    def __init__(self, *sources: TagSource) -> None:
        super().__init__("tag")
        self._sources = sources

    def find(self, name: str) -> Tag | None:
        """The tag of this name."""
        tag = self._rows.get(name)
        if tag is not None:
            return tag
        return next((tag for source in self._sources if (tag := source.find(name)) is not None), None)

    def level_of(self, word: str) -> str:
        """Return the level of what ``tag`` or ``tag:variant`` names, or an empty string if it names nothing."""
        tag = self.tag_of(word)
        chosen = None if tag is None else tag.chosen(word[len(tag.name) + 1 :])
        return "" if chosen is None else chosen.level

    def tag_of(self, word: str) -> Tag | None:
        """Return the tag of ``tag`` or ``tag:variant``, whether or not it has such a variant."""
        return self.find(word) or self.find(word.rpartition(":")[0])

    def with_comma(self, text: str) -> tuple[str, ...]:
        """Return names that contain a comma, at least those that occur in this text."""
        if "," not in text:
            return ()
        registered = (name for name in self._rows if "," in name)
        return (*registered, *(name for source in self._sources for name in source.with_comma(text)))

    def similar(self, name: str) -> tuple[str, ...]:
        """Names that this one may be a misspelling of."""
        return (*self._rows, *(other for source in self._sources for other in source.similar(name)))

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.find(name) is not None

    def __getitem__(self, name: str) -> Tag:
        tag = self.find(name)
        if tag is None:
            raise KeyError(name)
        return tag

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*self._rows, *(name for source in self._sources for name in source.tags()))))

    def __len__(self) -> int:
        return sum(1 for _ in self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Alias:
    """Another spelling of a dict that names a kind.

    ``whole``: standing alone, it means a whole that the spec is the chief part of (`Level.whole`).
    """

    form: Mapping[str, object]
    whole: bool = False
