"""Types of option values that only configurations have: a default device, and libraries."""

from __future__ import annotations

from dataclasses import dataclass

from intarsia.spec.problems import Where, nearest, shown, shown_name
from intarsia.spec.syntax import Piece, leaf, print_container, print_leaf
from intarsia.spec.types import OptionType, Reader, Value
from intarsia.target import KINDS, VirtualDevice, VirtualDeviceOf
from intarsia.target.target import LEVEL as TARGET_LEVEL


@dataclass(frozen=True, slots=True)
class DefaultDeviceOf(OptionType):
    """A label, or a device in any form. Text stays text until the labels of the configuration are known."""

    @property
    def label(self) -> str:
        """The type in words."""
        return "label or device"

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
class LibraryOf(OptionType):
    """The name of an engine kind, in any spelling."""

    @property
    def label(self) -> str:
        """The type in words."""
        return "engine"

    def from_text(self, piece: Piece, where: Where, reader: Reader) -> Value:
        """The kind named here, or ``None`` after noting why there is none."""
        return _engine(leaf(piece), where.on(piece), reader)

    def from_data(self, data: object, where: Where, reader: Reader) -> Value:
        """The kind named here, or ``None`` after noting why there is none."""
        if isinstance(data, str):
            return _engine(str(data), where, reader)
        reader.problems.add(where, f"must be a str, found {shown(data)}")
        return None

    def text(self, value: Value, *, tags: bool = True, inside: bool = False) -> str:
        """The kind's name."""
        return print_container(value, inside=inside)


def _engine(name: str, where: Where, reader: Reader) -> str | None:
    alias = TARGET_LEVEL.aliases.get(name)
    form = alias.form if alias is not None and isinstance(alias.form, dict) else {"kind": name}
    kind = TARGET_LEVEL.kind(form["kind"])
    if kind is None or KINDS[kind.name].level != "engine":
        engines = [other.name for other in KINDS.values() if other.level == "engine"]
        hint = nearest(name, engines, f"known are {', '.join(engines)}")
        reader.problems.add(where, f"no library or engine is called {shown_name(name)}{hint}")
        return None
    return kind.name
