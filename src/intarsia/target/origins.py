"""Where the figures of a tagged target come from: for each option the tag that states it, and that tag's source."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from intarsia.spec.tags import Form
from intarsia.spec.types import Value
from intarsia.target.tags import TAGS
from intarsia.target.target import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """What states an option: a tag, and where that tag's figures come from; both empty for the target's own text."""

    tag: str = ""
    source: str = ""


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
