"""Types of option values that only configurations have: a default device, and libraries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from intarsia.spec.problems import Where, nearest, shown_name
from intarsia.spec.syntax import Piece, leaf, print_leaf
from intarsia.spec.types import OptionType, Reader, Value, Word
from intarsia.target import KINDS, VirtualDevice, VirtualDeviceOf
from intarsia.target.target import LEVEL as TARGET_LEVEL


@dataclass(frozen=True, slots=True)
class DefaultDeviceOf(OptionType):
    """A label, or a device in any form. Text stays text until the labels of the configuration are known."""

    label: ClassVar[str] = "label or device"

    def from_text(self, piece: Piece, where: Where, reader: Reader) -> Value:
        """The text written here."""
        return leaf(piece)

    def from_data(self, data: object, where: Where, reader: Reader) -> Value:
        """The text or device given here, or ``None`` after noting why there is none."""
        return str(data) if isinstance(data, str) else VirtualDeviceOf().from_data(data, where, reader)

    def text(self, value: Value, *, tags: bool = True, inside: bool = False) -> str:
        """What `from_text` reads as this text or device; ``inside`` a list or map, commas need quotes."""
        return print_leaf(value.text(tags=tags) if isinstance(value, VirtualDevice) else value)

    def data(self, value: Value) -> Value:
        """Pure JSON that `from_data` reads as this text or device."""
        return value.export() if isinstance(value, VirtualDevice) else value


@dataclass(frozen=True, slots=True)
class LibraryOf(Word):
    """The name of an engine kind, in any spelling."""

    label: ClassVar[str] = "engine"

    def checked(self, word: str, where: Where, reader: Reader) -> str | None:
        """The name of the kind, or ``None`` after noting why there is none."""
        alias = TARGET_LEVEL.aliases.get(word)
        form = alias.form if alias is not None and isinstance(alias.form, dict) else {"kind": word}
        kind = TARGET_LEVEL.kind(form["kind"])
        if kind is not None and KINDS[kind.name].level == "engine":
            return kind.name
        engines = [other.name for other in KINDS.values() if other.level == "engine"]
        hint = nearest(word, engines, f"known are {', '.join(engines)}")
        reader.problems.add(where, f"no library or engine is called {shown_name(word)}{hint}")
        return None
