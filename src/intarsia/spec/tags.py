"""Tags: names for whole specs. One namespace for every level; a tag is where a value came from, not part of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from intarsia.errors import SpecError
from intarsia.spec.syntax import BLANKS, QUOTES

Form = object
"""Any form that a spec may be written in: text, a dict, or a value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tag:
    """A named spec. Its form is read when the tag is used, so it may name kinds and tags that are added later.

    Attributes:
        name: Such as ``vendor/product``. It may contain a comma, but no blank, quote, backslash or leading dash.
        level: What it names: ``target``, ``config``, ….
        form: The spec. ``{"tag": parent, …}`` or ``"parent -option=value"`` extends another tag.
        variants: More specs, chosen by a suffix: ``name:variant``.
        source: Where its figures come from.
    """

    name: str
    level: str
    form: Form
    variants: Mapping[str, Form] = field(default_factory=lambda: MappingProxyType({}))
    source: str = ""

    def __post_init__(self) -> None:
        for word in (self.name, *self.variants):
            if not word or word[0] in "-{[" or any(char in f"{BLANKS}{QUOTES}\\=" for char in word):
                raise SpecError(f"{word!r} cannot name a tag: no blanks, quotes, '=' or leading dash")
        for variant in self.variants:
            if ":" in variant or variant.isdigit():
                raise SpecError(f"{variant!r} cannot name a variant of tag {self.name!r}: digits are a device index")
