"""Where each thing that a target says comes from: the user, a tag, a tag that this one extends, a table, a default."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from intarsia.errors import SpecError
from intarsia.spec.tags import Form
from intarsia.spec.types import Value
from intarsia.target.tags import TAGS
from intarsia.target.target import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """What states an option: a tag, and where that tag's figures come from; both empty for the target's own text."""

    tag: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One thing that a target says.

    Attributes:
        name: Of an option, or ``device_type``, ``keys``, ``features``.
        origin: ``user``: its own text; ``tag``; ``extends``: a tag that the tag extends; ``derived`` from the rest by
            table; ``default`` of the kind.
        tag: For ``tag`` and ``extends``, which one.
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


def origins(target: Target) -> Mapping[str, Origin]:
    """For each stated option what states it; where a tag only extends or repeats another, that other one.

    Example:
        >>> origin = origins(Target("aws/cpu/c5.4xlarge -threads=4"))
        >>> origin["num-cores"].tag, origin["mcpu"].tag, origin["threads"].tag
        ('aws/cpu/c5.4xlarge', 'aws/c5', '')
    """
    found = {name: _origin(name, value, target.tags) or Origin() for name, value in target.options.items()}
    return MappingProxyType(found)


def _origin(option: str, value: Value, tags: Iterable[str]) -> Origin | None:
    for name in tags:
        tag = TAGS.tag_of(name)
        chosen = None if tag is None else tag.chosen(name[len(tag.name) + 1 :])
        if tag is None or chosen is None or chosen.level != "target":
            continue
        if Target(name).options.get(option) == value:
            return _origin(option, value, _parents(chosen.form)) or Origin(tag=name, source=tag.source)
    return None


def _parents(form: Form) -> tuple[str, ...]:
    """The tags that a form extends."""
    if isinstance(form, str) and form.strip().startswith("{"):
        form = json.loads(form)
    if isinstance(form, str):
        word = form.split()[0]
        return (word,) if TAGS.tag_of(word) is not None else ()
    if isinstance(form, Mapping) and "kind" not in form:
        tags = form.get("tag", ())
        return (tags,) if isinstance(tags, str) else tuple(tags)
    return form.tags if isinstance(form, Target) else ()
