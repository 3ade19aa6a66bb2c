"""Kinds that exist while one row is carried out: those that the file declares, and those that a row brings itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any

from intarsia.spec import Bool, Int, ListOf, MapOf, Option, Str
from intarsia.spec.schema import Options
from intarsia.spec.types import OptionType
from intarsia.target import DEVICE_TYPES, KINDS, register_kind
from intarsia.target.kinds.declare import engine_kind
from tests.conformance.rows.row import Row

OPTION_TYPES: Mapping[str, OptionType] = MappingProxyType(
    {
        "bool": Bool(),
        "int": Int(),
        "string": Str(),
        "list": ListOf(Str()),
        "list<string>": ListOf(Str()),
        "list<list<string>>": ListOf(ListOf(Str())),
        "list<list<list<string>>>": ListOf(ListOf(ListOf(Str()))),
        "map<string,int>": MapOf(Int()),
    }
)
"""How case files write the types of options."""

LABELS: Mapping[str, tuple[type[OptionType], ...]] = MappingProxyType(
    {"bool": (Bool,), "int": (Int,), "list": (ListOf,), "map": (MapOf,)}
)
"""How queries for the options of a kind write types; ``string`` is any type that reads one word."""


def is_labelled(option: Option, label: str) -> bool:
    """Whether the option is of the type that a query calls by this label."""
    if label in LABELS:
        return isinstance(option.type, LABELS[label])
    return label in {"string", "str"} and not isinstance(option.type, Bool | Int | ListOf | MapOf)


def declared(name: str, type_: Any) -> Option:
    """The option that a file declares by a type, or by a list of type and default."""
    label, default = (type_[0], type_[1]) if isinstance(type_, list) else (type_, None)
    return Option(name=name, type=OPTION_TYPES[label], default=default, meaning="of a case file")


@dataclass(frozen=True, slots=True, kw_only=True)
class Preprocessing:
    """What the ``parser`` or ``preprocessor`` of a fixture does, in our terms.

    Attributes:
        options: Options that it sets, each from its stated value.
        keys: Strategy families that it gives every target of the kind.
        features: Features that every target of the kind has.
    """

    options: Mapping[str, Callable[[str | None], str | None]]
    keys: tuple[str, ...]
    features: Mapping[str, bool]

    def fill(self, options: Options) -> Options:
        """As `TargetKind.fill`."""
        found = {name: change(options.get(name)) for name, change in self.options.items()}
        return {**options, **{name: value for name, value in found.items() if value is not None}}


def preprocessing(text: str) -> Preprocessing:
    """Read ``name := value; …``, where a value is a string, a prefix and a name, a list, or a map of features."""
    options: dict[str, Callable[[str | None], str | None]] = {}
    keys: tuple[str, ...] = ()
    features: dict[str, bool] = {}
    for statement in filter(None, map(str.strip, text.split(";"))):
        name, _, value = statement.partition(" := ")
        if name == "keys":
            keys = tuple(re.findall(r"'([^']*)'", value))
        elif name == "features":
            features = {feature: state == "true" for feature, state in re.findall(r"(\w+): (true|false)", value)}
        elif " + " in value:
            options[name] = partial(_prefixed, value.partition(" + ")[0].strip("'"))
        else:
            options[name] = partial(_replaced, value.strip("'"))
    return Preprocessing(options=options, keys=keys, features=features)


def _prefixed(prefix: str, stated: str | None) -> str | None:
    return stated if stated is None or stated.startswith(prefix) else f"{prefix}{stated}"


def _replaced(value: str, stated: str | None) -> str:
    return value


@contextmanager
def kinds_of(row: Row) -> Iterator[None]:
    """The kinds that a row needs exist inside: its fixture's, and those that its input declares under ``kinds``."""
    with KINDS.scope():
        for name, fixture in row.fixtures.items():
            _register_fixture(name, fixture)
        declared_kinds = row.input.get("kinds", {})
        for name in declared_kinds if isinstance(declared_kinds, Mapping) else ():
            register_kind(name, device_type=declared_kinds[name]["device_type"])
        yield


def _register_fixture(name: str, fixture: Mapping[str, Any]) -> None:
    done = preprocessing(fixture.get("parser", fixture.get("preprocessor", "")))
    register_kind(
        name,
        [declared(option, type_) for option, type_ in fixture["options"].items()],
        level="device",
        device_type=next(device for device, code in DEVICE_TYPES.items() if code == fixture["device_type"]),
        keys=done.keys or tuple(fixture.get("default_keys", ())),
        fill=done.fill,
        facts=lambda options: done.features,
        attrs=fixture.get("attr", {}),
    )


@contextmanager
def made_up(options: Mapping[str, Mapping[str, OptionType]]) -> Iterator[None]:
    """Kinds of these names have at least these options inside; a name that is no kind becomes an engine's.

    For rows about how a text is read, whose kinds and options are often invented.
    """
    with KINDS.scope():
        for name, types in options.items():
            known = KINDS.get(name)
            kind = known or engine_kind(name, "of a case file")
            more = {
                option: Option(name=option, type=type_, meaning="of a case file")
                for option, type_ in types.items()
                if option not in kind.options
            }
            if known is None or more:
                KINDS.register(name, replace(kind, options=MappingProxyType({**kind.options, **more})), override=True)
        yield
