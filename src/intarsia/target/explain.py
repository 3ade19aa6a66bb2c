"""Where each thing that a target says comes from: the user, a tag, a tag that this one extends, a table, a default."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from intarsia.errors import SpecError
from intarsia.target.origins import origins
from intarsia.target.target import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One thing that a target says.

    Attributes:
        name: Of an option, or ``device_type``, ``keys``, ``features``.
        value: As text.
        origin: ``user``: its own text; ``tag``; ``extends``: a tag that the tag extends; ``derived`` from the rest by
            table; ``default`` of the kind.
        tag: For ``tag`` and ``extends``, which one.
        source: Where that tag's figures come from.
    """

    name: str
    value: str
    origin: Literal["user", "tag", "extends", "derived", "default"]
    tag: str = ""
    source: str = ""


def explain(target: Target) -> tuple[Field, ...]:
    """Everything that a target says, each with where it comes from: what is stated, what follows, the defaults.

    Example:
        >>> for field in explain(Target("aws/cpu/c5.4xlarge -threads=4"))[1:4]:
        ...     print((field.name, field.value, field.origin, field.tag))
        ('mcpu', 'skylake-avx512', 'extends', 'aws/c5')
        ('num-cores', '8', 'tag', 'aws/cpu/c5.4xlarge')
        ('threads', '4', 'user', '')
    """
    return (*stated_fields(target), *_facts(target), *_defaults(target))


def stated_fields(target: Target) -> Iterator[Field]:
    """Of each option that is stated, or that follows from those, where it comes from."""
    brought = origins(target)
    for name, value in target.options.items():
        text = target.kind.options[name].type.text(value)
        origin = brought[name]
        if _follows(target, name):
            yield Field(name=name, value=text, origin="derived")
        elif origin.tag:
            how: Literal["tag", "extends"] = "tag" if origin.tag in target.tags else "extends"
            yield Field(name=name, value=text, origin=how, tag=origin.tag, source=origin.source)
        else:
            yield Field(name=name, value=text, origin="user")


def _follows(target: Target, name: str) -> bool:
    """Whether the other options say this one too, so that to state it changes nothing."""
    rest = {other: value for other, value in target.export().items() if other not in (name, "tag")}
    try:
        return bool(Target(rest) == target)
    except SpecError:
        return False


def _facts(target: Target) -> Iterator[Field]:
    facts = {"device_type": (target.device_type,), "keys": target.keys, "features": tuple(target.features)}
    for name, words in facts.items():
        if words and name not in target.options:
            yield Field(name=name, value=", ".join(words), origin="derived")


def _defaults(target: Target) -> Iterator[Field]:
    for name, option in target.kind.options.items():
        if option.default is not None and name not in target.options:
            yield Field(name=name, value=option.type.text(option.default), origin="default")
