"""`VirtualDevice`: where something runs or lives, as one frozen value of which parts may be free.

It says nothing about whether such a device is there; which nodes go to which device is planned in `devices/`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from intarsia.errors import SpecError
from intarsia.spec import Int, Option, Placed, SpecOf, Str, schema
from intarsia.spec.containers import NestedType
from intarsia.spec.problems import Problems, Where, nearest, shown, shown_name
from intarsia.spec.reader import SpecReader, load_json
from intarsia.spec.statements import read_statements
from intarsia.spec.syntax import Piece, layer, words
from intarsia.spec.types import Reader, Value
from intarsia.target.kinds.catalogue import KINDS
from intarsia.target.kinds.kind import DEVICE_TYPES
from intarsia.target.target import LEVEL, Target

FREE = "any"
"""How text names a device whose type is free."""

_PARTS = schema(
    (
        Option(name="index", type=Int(minimum=0), meaning="which of the devices of that type"),
        Option(name="target", type=SpecOf("target"), meaning="what code is generated for it"),
        Option(name="memory-scope", type=Str(), meaning="which of its memories; empty for any"),
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class VirtualDevice:
    """A device as a plan speaks of it. A part that is ``None`` (or an empty scope) is free.

    Two are the same place only if all parts agree. A target implies the device type.

    Attributes:
        device: Name of the device type, as in `DEVICE_TYPES`.
        index: Which of the machine's devices of that type.
        target: What code is generated for it.
        memory_scope: Which of its memories, in the words of its target: ``global``, ``global.texture``, ….

    Example:
        >>> gpu = VirtualDevice.of("cuda:3").join(VirtualDevice.of("cuda -arch=sm_80"))
        >>> str(gpu)
        "cuda:3 -target='cuda -arch=sm_80'"

    Raises:
        SpecError: The device type is unknown, or not that of the target; or the index is negative.
    """

    device: str | None = None
    index: int | None = None
    target: Target | None = None
    memory_scope: str = ""

    def __post_init__(self) -> None:
        if self.device is not None and self.device not in DEVICE_TYPES:
            listing = f"known are {', '.join(DEVICE_TYPES)}"
            raise SpecError(f"device type {self.device!r} is not defined{nearest(self.device, DEVICE_TYPES, listing)}")
        if self.index is not None and self.index < 0:
            raise SpecError(f"a device index is 0 or more, found {self.index}")
        if self.target is None:
            return
        if self.device is None:
            object.__setattr__(self, "device", self.target.device_type)
        elif self.device != self.target.device_type:
            what = f"target {str(self.target)!r} has device type {self.target.device_type}"
            raise SpecError(f"{what} but virtual device has device type {self.device}")

    @classmethod
    def of(cls, form: object) -> VirtualDevice:
        """The device of any form.

        Text is ``TYPE[:INDEX] [-target=…] [-memory-scope=…]``, with ``any`` where the type is free (``cuda:3``); or a
        target, with an index where one is meant (``opencl:1 -max_num_threads=64``). A bare word that names a device
        type leaves the target free. A dict has the keys ``device``, ``index``, ``target`` and ``memory-scope``, or is
        that of a target.

        Raises:
            SpecError: With every problem, its place, and the nearest legal spelling.
        """
        reader = SpecReader(LEVEL)
        device = _TYPE.from_data(form, Where(), reader)
        reader.problems.raise_any()
        assert isinstance(device, cls)
        return device

    @property
    def is_free(self) -> bool:
        """Whether no part is stated."""
        return self == VirtualDevice()

    def join(self, other: VirtualDevice) -> VirtualDevice | None:
        """The device that is both: each part from the one that states it; ``None`` where two parts differ."""
        parts: dict[str, Any] = {}
        for name, free in (("device", None), ("index", None), ("target", None), ("memory_scope", "")):
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine != theirs and free not in (mine, theirs):
                return None
            parts[name] = theirs if mine == free else mine
        return VirtualDevice(**parts)

    def default(self, other: VirtualDevice) -> VirtualDevice:
        """This device, with what it leaves free taken from the other.

        The other's target is taken only if it is for the device type that results.
        """
        device = self.device or other.device
        target = self.target
        if target is None and other.target is not None and other.target.device_type == device:
            target = other.target
        return VirtualDevice(
            device=device,
            index=other.index if self.index is None else self.index,
            target=target,
            memory_scope=self.memory_scope or other.memory_scope,
        )

    def text(self, *, tags: bool = True) -> str:
        """Canonical text, which `of` reads as this value."""
        head = self.device or FREE
        stated = [head if self.index is None else f"{head}:{self.index}"]
        stated += (f"-{name}={_PARTS[name].type.text(value, tags=tags)}" for name, value in self._stated().items())
        return " ".join(stated)

    def export(self) -> dict[str, Any]:
        """A dict of pure JSON, without what is free."""
        record: dict[str, Any] = {} if self.device is None else {"device": self.device}
        record |= {} if self.index is None else {"index": self.index}
        return record | {name: _PARTS[name].type.data(value) for name, value in self._stated().items()}

    def json(self) -> str:
        """Canonical JSON text."""
        return json.dumps(self.export())

    def executed(self) -> Iterator[tuple[str, str]]:
        """As its target's."""
        return iter(()) if self.target is None else self.target.executed()

    def __str__(self) -> str:
        return self.text()

    def _stated(self) -> dict[str, Value]:
        stated = {"memory-scope": self.memory_scope or None, "target": self.target}
        return {name: value for name, value in stated.items() if value is not None}


@dataclass(frozen=True, slots=True)
class VirtualDeviceOf(NestedType):
    """The type of an option whose values are virtual devices, each in any form that `VirtualDevice.of` takes."""

    label: ClassVar[str] = "device"

    def from_text(self, piece: Piece, where: Where, reader: Reader) -> Value:
        """The device written here, or ``None`` after noting why there is none."""
        piece = layer(piece)
        if reader.problems.are_quotes_open(where, piece):
            return None
        if piece.text.startswith("{"):
            data = load_json(piece, where, reader.problems)
            return None if data is None else self.from_data(data, where.on(None), reader)
        parts = words(piece)
        if not parts or not _names_device(parts):
            return _placed(reader.nested_text("target", piece, where, in_list=True))
        stated = _head(parts[0], where.on(parts[0]), reader.problems)
        for statement in read_statements(parts[1:], _PARTS, where, reader.problems):
            name = statement.name.replace("_", "-")
            place = where.field(name).on(statement.key)
            if name not in _PARTS:
                hint = nearest(name, _PARTS, f"it has {', '.join(_PARTS)}")
                reader.problems.add(place, f"cannot recognize {shown_name(name)} as a part of a device{hint}")
            elif name in stated:
                reader.problems.add(place, f"{name!r} appears more than once")
            elif statement.value is None:
                reader.problems.add(place, f"needs a value ({_PARTS[name].type.label})")
            else:
                stated[name] = _PARTS[name].type.from_text(statement.value, place.on(statement.value), reader)
        return _made(stated, where.on(piece), reader.problems)

    def from_data(self, data: object, where: Where, reader: Reader) -> Value:
        """The device given here, or ``None`` after noting why there is none."""
        if isinstance(data, VirtualDevice):
            return data
        if isinstance(data, str):
            return self.from_text(Piece.whole(str(data)), where, reader)
        if isinstance(data, Target | Placed) or (isinstance(data, Mapping) and ("kind" in data or "tag" in data)):
            return _placed(reader.nested_data("target", data, where, in_list=True))
        if not isinstance(data, Mapping):
            what = f"a device is a string, a dict, a Target or a VirtualDevice, found {shown(data)}"
            reader.problems.add(where, what)
            return None
        stated: dict[str, Value] = {}
        for key, value in data.items():
            name = str(key).replace("_", "-")
            place = where.field(shown_name(str(key)).strip("'\""))
            if value is None:
                continue
            if name == "device":
                stated[name] = Str().from_data(value, place, reader)
            elif name not in _PARTS:
                hint = nearest(name, ("device", *_PARTS), f"it has device, {', '.join(_PARTS)}")
                reader.problems.add(place, f"cannot recognize {shown_name(str(key))} as a part of a device{hint}")
            elif name in stated:
                reader.problems.add(place, f"{name!r} appears more than once")
            else:
                stated[name] = _PARTS[name].type.from_data(value, place, reader)
        return _made(stated, where, reader.problems)


_TYPE = VirtualDeviceOf()


def _names_device(parts: list[Piece]) -> bool:
    """Whether the first word is a device type, and what follows does not make it a target of that name."""
    stem = parts[0].text.partition(":")[0]
    if stem not in KINDS:
        return stem == FREE or stem in DEVICE_TYPES
    if stem not in DEVICE_TYPES:
        return False
    stated = (part.text for part in parts[1:] if part.text.startswith("-") or "=" in part.text)
    return all(word.lstrip("-").partition("=")[0].replace("_", "-") in _PARTS for word in stated)


def _head(word: Piece, where: Where, problems: Problems) -> dict[str, Value]:
    """What ``TYPE[:INDEX]`` states."""
    stem, colon, index = word.text.partition(":")
    stated: dict[str, Value] = {} if stem == FREE else {"device": stem}
    if colon and not (index.isascii() and index.isdigit() and len(index) < 10):
        problems.add(where, f"invalid device string {shown_name(word.text)}; write {stem} or {stem}:INDEX")
    elif colon:
        stated["index"] = int(index)
    return stated


def _made(stated: Mapping[str, Value], where: Where, problems: Problems) -> VirtualDevice | None:
    if any(value is None for value in stated.values()):
        return None
    try:
        return VirtualDevice(**{name.replace("-", "_"): value for name, value in stated.items()})
    except SpecError as error:
        problems.add(where, str(error))
        return None


def _placed(spec: Value) -> VirtualDevice | None:
    """The device that a target stands for, with the index that it was given."""
    target, index = (spec.spec, spec.index) if isinstance(spec, Placed) else (spec, None)
    return VirtualDevice(target=target, index=index) if isinstance(target, Target) else None
