"""Defines `Spec`, the value that targets, configurations and deployments are made of, and `Level`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Generic, NoReturn, Self, TypeVar

from intarsia.spec.containers import ListOf
from intarsia.spec.problems import nearest
from intarsia.spec.schema import Kind, Options
from intarsia.spec.tags import Alias, TagTable
from intarsia.spec.types import Str, Value

K = TypeVar("K", bound=Kind)
TAGS_TYPE = ListOf(Str())


class Spec(Generic[K]):
    """A kind with stated options. Frozen; equal when it means the same.

    What is not stated is not in ``options``: to state a default fixes what would otherwise be free to choose, so it
    is another value. Tags say where the value came from: printed and kept, but not compared.
    """

    __slots__ = ("key", "kind", "options", "tags")

    kind: K
    options: Mapping[str, Value]
    """What is stated, by name, sorted. Read-only."""
    tags: tuple[str, ...]
    key: str
    """Canonical text without tags: equal for equal values, and stable, so it serves as a key on disk."""

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is frozen; with_options() gives a changed copy")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is frozen")

    @classmethod
    def of_parts(cls, kind: K, options: Options, tags: tuple[str, ...]) -> Self:
        """Make a value of parts that a reader has validated."""
        spec = object.__new__(cls)
        spec._fix(kind, options, tags)
        return spec

    def _fix(self, kind: K, options: Options, tags: tuple[str, ...]) -> None:
        place = object.__setattr__
        place(self, "kind", kind)
        place(self, "options", MappingProxyType(dict(sorted(options.items()))))
        place(self, "tags", tuple(dict.fromkeys(tags)))
        place(self, "key", self.text(tags=False))

    def _be(self, other: Spec[K]) -> None:
        """Copy the parts of another value of this level into this one."""
        for name in Spec.__slots__:
            object.__setattr__(self, name, getattr(other, name))

    @property
    def kind_name(self) -> str:
        """The name of the kind."""
        return self.kind.name

    @property
    def tag(self) -> str:
        """The first tag, empty without one."""
        return self.tags[0] if self.tags else ""

    def __getitem__(self, name: str) -> Value:
        """Return the stated value of an option, or its default. Raises `KeyError` if the kind has no such option."""
        try:
            option = self.kind.options[name]
        except KeyError:
            raise KeyError(f"{self.kind.name} has no option {name!r}{nearest(name, self.kind.options)}") from None
        return self.options.get(name, option.default)

    def text(self, *, tags: bool = True, index: int | None = None) -> str:
        """Return the canonical text, with ``index`` that of a placed spec."""
        words = [self.kind.name if index is None else f"{self.kind.name}:{index}"]
        words += (
            f"-{name}={self.kind.options[name].type.text(value, tags=tags)}" for name, value in self.options.items()
        )
        if tags and self.tags:
            words.append(f"-tag={TAGS_TYPE.text(self.tags)}")
        return " ".join(words)

    def export(self) -> dict[str, Any]:
        """A dict of pure JSON, with the kind first."""
        record: dict[str, Any] = {"kind": self.kind.name}
        if self.tags:
            record["tag"] = self.tags[0] if len(self.tags) == 1 else list(self.tags)
        return record | {name: self.kind.options[name].type.data(value) for name, value in self.options.items()}

    def json(self) -> str:
        """Canonical JSON text."""
        return json.dumps(self.export())

    def executed(self) -> Iterator[tuple[str, str]]:
        """Return option and absolute path of each file that is loaded or run as code, also in nested specs."""
        for name, value in self.options.items():
            yield from self.kind.options[name].type.executed(name, value)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.text()!r})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Spec):
            return NotImplemented
        return self.__class__ is other.__class__ and self.kind is other.kind and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __reduce__(self) -> tuple[type[Self], tuple[str]]:
        return type(self), (self.json(),)


@dataclass(frozen=True, slots=True)
class Placed:
    """A spec with a device index, as only lists hold it: ``opencl:1``."""

    spec: Spec[Any]
    index: int

    def text(self, *, tags: bool = True) -> str:
        """Canonical text."""
        return self.spec.text(tags=tags, index=self.index)

    def executed(self) -> Iterator[tuple[str, str]]:
        """As the spec's."""
        return self.spec.executed()

    def __str__(self) -> str:
        return self.text()

    def export(self) -> dict[str, Any]:
        """A dict of pure JSON, the index beside the kind's name."""
        return self.spec.export() | {"kind": f"{self.spec.kind.name}:{self.index}"}


def find_no_kind(name: str) -> None:
    """The default `Level.plugin`: no plug-in adds kinds."""


def be_whole(spec: Spec[Any]) -> Spec[Any]:
    """The default `Level.whole`: the value is complete as it is."""
    return spec


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """One level of the language: the kinds it has, and the Python type of its values.

    Attributes:
        name: ``target``, ``config``, …; what messages call its values.
        default_kind: The kind of a dict that names neither kind nor tag; empty where one is needed.
        elsewhere: Options that belong to another level, each with where it goes.
        aliases: Other spellings, by name; a kind or tag of the same name goes first.
        whole: What a value means that is the chief part of a whole and was named alone, by an alias that says so.
        plugin: Finds a kind that an installed package offers under this name.
        inner: Other levels whose specs are option values here, by name.
    """

    name: str
    type: type[Spec[Any]]
    kinds: Mapping[str, Kind]
    tags: TagTable
    default_kind: str = ""
    elsewhere: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    aliases: Mapping[str, Alias] = field(default_factory=lambda: MappingProxyType({}))
    whole: Callable[[Spec[Any]], Spec[Any]] = be_whole
    plugin: Callable[[str], Kind | None] = find_no_kind
    inner: Mapping[str, Level] = field(default_factory=lambda: MappingProxyType({}))

    def nested(self, name: str) -> Level:
        """Return the level of that name, which may be this one."""
        return self if name == self.name else self.inner[name]

    def kind(self, name: str) -> Kind | None:
        """Return the kind of that name, or ``None``."""
        return self.kinds.get(name) or self.plugin(name)
