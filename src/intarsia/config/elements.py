"""The elements of a configuration's ``targets``: targets, some with a device index, and nested configurations.

`level_of` says of any form what it describes, before it is read.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, cast

from intarsia.spec import Kind, ListOf, Placed, Spec
from intarsia.spec.containers import NestedType
from intarsia.spec.problems import Where
from intarsia.spec.syntax import Piece, layer
from intarsia.spec.types import Reader, Value
from intarsia.target import TAGS, Target

CONFIG = "config"
DEPLOYMENT = "deployment"
LINK = "link"
_LEVELS = (CONFIG, DEPLOYMENT, LINK)
_FIELDS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("machines", "links"), DEPLOYMENT),
        **dict.fromkeys(("targets", "devices", "default_device", "executor", "runtime", "libraries"), CONFIG),
    }
)
"""Fields that tell the level of a dict which names no kind; the first one that is there counts."""


class NestedConfig(Spec[Kind]):
    """What a list of targets asks of a configuration that stands in it. `CompilationConfig` is the one that does."""

    __slots__ = ()

    @property
    @abstractmethod
    def targets(self) -> tuple[Member, ...]:
        """Its own targets and nested configurations."""

    @property
    @abstractmethod
    def device_type(self) -> str:
        """The device type of its default device."""


Member = Target | NestedConfig
"""An element of a priority list without its device index."""
Element = Spec[Any] | Placed
"""An element of a priority list: a `Member`, or a `Target` with a device index."""


def member(element: Element) -> tuple[Member, int | None]:
    """The element without its device index, and the index."""
    if isinstance(element, Placed):
        return cast("Member", element.spec), element.index
    return cast("Member", element), None


def level_of(form: object) -> str:
    """``config``, ``deployment`` or ``target``: what a form describes. A list of targets is of the level ``target``."""
    if isinstance(form, Spec):
        return form.kind.name if form.kind.name in _LEVELS else "target"
    if isinstance(form, str):
        text = form.strip()
        return _level_of_json(text) if text.startswith("{") else _level_of_word(next(iter(text.split()), ""))
    if not isinstance(form, Mapping):
        return "target"
    kind, tag = form.get("kind"), form.get("tag")
    if kind is not None:
        return kind if kind in _LEVELS else "target"
    found = [level for field, level in _FIELDS.items() if field in form]
    tags = [tag] if isinstance(tag, str) else tag if isinstance(tag, list | tuple) else []
    found += [level for word in tags if isinstance(word, str) and (level := _level_of_word(word)) != "target"]
    return found[0] if found else "target"


def _level_of_json(text: str) -> str:
    try:
        return level_of(json.loads(text))
    except (ValueError, RecursionError):
        return "target"  # what is wrong with it, the reader of targets says


def _level_of_word(word: str) -> str:
    return word if word in _LEVELS else TAGS.level_of(word) or "target"


def _nested(form: object) -> str:
    """The level that an element is read as; what may not stand in a list is left to the reader of targets to refuse."""
    return CONFIG if level_of(form) == CONFIG else "target"


@dataclass(frozen=True, slots=True)
class ElementOf(NestedType):
    """A target, which may have a device index (``opencl:1``), or a nested configuration."""

    label: ClassVar[str] = "target or config"

    def from_text(self, piece: Piece, where: Where, reader: Reader) -> Value:
        """The element written here, or ``None`` after noting why there is none."""
        level = _nested(layer(piece).text)
        return reader.nested_text(level, piece, where.deeper(), in_list=level == "target")

    def from_data(self, data: object, where: Where, reader: Reader) -> Value:
        """The element given here, or ``None`` after noting why there is none."""
        level = _nested(data)
        return reader.nested_data(level, data, where.deeper(), in_list=level == "target")

    def split(self, piece: Piece, reader: Reader) -> list[Piece]:
        """The elements of a priority list."""
        return reader.split_list("target", piece) if piece.text else []


ELEMENTS = ListOf(ElementOf())
"""A priority list, most preferred first."""
