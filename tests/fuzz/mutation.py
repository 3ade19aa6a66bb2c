"""Changes to a protobuf message that know its structure: any field of any part, by reflection over the descriptors."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

_INTEGERS = (0, 1, 2, -1, 7, 16, 999, 1 << 31, (1 << 31) - 1, 10**12, 1 << 62, (1 << 63) - 1, -(1 << 63))
_FLOATS = (0.0, -1.0, 1e38, float("inf"), float("-inf"), float("nan"), 1e-45)
_TEXTS = (
    "",
    "x" * 5000,
    "../../outside",
    "/etc/passwd",
    "\x1b[2J",
    "\n",
    "ai.onnx",
    "com.microsoft",
    "a\x00b",
    "\u202e",
)


class Place(NamedTuple):
    """A field of a message, and how to reach the message: for the name of a case."""

    message: Message
    field: FieldDescriptor
    path: str


def places(message: Message, path: str = "") -> Iterator[Place]:
    """Every field that is set, of the message and of all within it."""
    for field, value in message.ListFields():
        here = f"{path}.{field.name}" if path else field.name
        yield Place(message, field, here)
        if field.message_type is None:
            continue
        if is_repeated(value):
            for number, item in enumerate(value):
                yield from places(item, f"{here}[{number}]")
        else:
            yield from places(value, here)


def is_repeated(value: object) -> bool:
    """Whether a field's value is a list of values."""
    return not isinstance(value, (Message, int, float, str, bytes))


def mutate(message: Message, rng: random.Random) -> str:
    """Change the message in one place; what was done, in words."""
    found = list(places(message))
    if not found:
        return "nothing is left"
    # By kind of field first: most fields of a model are names, and would be nearly all that is changed.
    kinds = sorted({(place.message.DESCRIPTOR.name, place.field.name) for place in found})
    kind = rng.choice(kinds)
    place = rng.choice([each for each in found if (each.message.DESCRIPTOR.name, each.field.name) == kind])
    value = getattr(place.message, place.field.name)
    acts = _on_list if is_repeated(value) else _on_one
    return f"{place.path} {acts(message, place, value, rng)}"


def damage(content: bytes, rng: random.Random) -> tuple[bytes, str]:
    """The bytes of a file with some of them changed, cut off, taken out, or there twice."""
    changed = bytearray(content)
    begin = rng.randrange(len(changed))
    end = min(len(changed), begin + rng.choice((1, 4, 16, 64)))
    match rng.choice(("flip", "flip", "flip", "cut", "take", "double", "fill")):
        case "flip":
            count = rng.choice((1, 1, 2, 8))
            for _ in range(count):
                changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
            return bytes(changed), f"{count} bits flipped"
        case "cut":
            return bytes(changed[:begin]), f"cut at {begin}"
        case "take":
            return bytes(changed[:begin] + changed[end:]), f"bytes {begin} to {end} taken out"
        case "double":
            return bytes(changed[:end] + changed[begin:]), f"bytes {begin} to {end} there twice"
        case _:
            changed[begin:end] = bytes([rng.choice((0, 255))]) * (end - begin)
            return bytes(changed), f"bytes {begin} to {end} filled"


def _on_list(root: Message, place: Place, value: Any, rng: random.Random) -> str:
    message, field = place.message, place.field
    number = rng.randrange(len(value))
    match rng.choice(("delete", "double", "swap", "clear", "item", "item", "other", "many")):
        case "delete":
            del value[number]
            return f"[{number}] deleted"
        case "double":
            value.append(value[number])
            return f"[{number}] doubled"
        case "swap":
            other = rng.randrange(len(value))
            items = [_copied(item) for item in value]
            items[number], items[other] = items[other], items[number]
            message.ClearField(field.name)
            getattr(message, field.name).extend(items)
            return f"[{number}] and [{other}] swapped"
        case "clear":
            message.ClearField(field.name)
            return "cleared"
        case "many":
            value.extend([_copied(value[number]) for _ in range(70)])
            return f"[{number}] there 70 times"
        case "other" if field.message_type is not None:
            found = _same_type(root, value[number], rng)
            value[number].CopyFrom(found)
            return f"[{number}] replaced by another of the model's"
        case _:
            if field.message_type is not None:
                value[number].Clear()
                return f"[{number}] emptied"
            value[number], told = _scalar(root, field, value[number], rng)
            return f"[{number}] {told}"


def _on_one(root: Message, place: Place, value: Any, rng: random.Random) -> str:
    message, field = place.message, place.field
    if field.message_type is not None:
        match rng.choice(("clear", "other", "empty")):
            case "clear":
                message.ClearField(field.name)
                return "cleared"
            case "other":
                value.CopyFrom(_same_type(root, value, rng))
                return "replaced by another of the model's"
            case _:
                value.Clear()
                return "emptied"
    if rng.random() < 0.15:
        message.ClearField(field.name)
        return "cleared"
    if rng.random() < 0.15:
        return _as_another_field(message, field, rng)
    changed, told = _scalar(root, field, value, rng)
    setattr(message, field.name, changed)
    return told


def _as_another_field(message: Message, field: FieldDescriptor, rng: random.Random) -> str:
    """Set some other field of the message besides: content in two fields, or of another type than is stated."""
    others = [each for each in message.DESCRIPTOR.fields if each.message_type is None and each.name != field.name]
    other = rng.choice(others or [field])
    content = getattr(message, other.name)
    if is_repeated(content):
        content.append(_plain(other))
    else:
        setattr(message, other.name, _plain(other))
    return f"and {other.name} set"


def _plain(field: FieldDescriptor) -> Any:
    by_type: dict[int, Any] = {FieldDescriptor.CPPTYPE_STRING: "x", FieldDescriptor.CPPTYPE_ENUM: 1}
    if field.type == FieldDescriptor.TYPE_BYTES:
        return b"x"
    return by_type.get(field.cpp_type, 1)


def _scalar(root: Message, field: FieldDescriptor, value: Any, rng: random.Random) -> tuple[Any, str]:
    makers: dict[int, Callable[[], Any]] = {
        FieldDescriptor.CPPTYPE_FLOAT: lambda: rng.choice(_FLOATS),
        FieldDescriptor.CPPTYPE_DOUBLE: lambda: rng.choice(_FLOATS),
        FieldDescriptor.CPPTYPE_STRING: lambda: _text(root, field, value, rng),
        FieldDescriptor.CPPTYPE_ENUM: lambda: rng.choice([each.number for each in field.enum_type.values]),
    }
    maker = makers.get(field.cpp_type)
    changed = maker() if maker is not None else _integer(field, value, rng)
    shown = repr(changed)
    return changed, f"{shown if len(shown) < 60 else shown[:60]}"


def _integer(field: FieldDescriptor, value: int, rng: random.Random) -> int:
    bits = 31 if field.cpp_type in (FieldDescriptor.CPPTYPE_INT32, FieldDescriptor.CPPTYPE_UINT32) else 63
    low = 0 if field.cpp_type in (FieldDescriptor.CPPTYPE_UINT32, FieldDescriptor.CPPTYPE_UINT64) else -(1 << bits)
    changed = rng.choice((*_INTEGERS, value * 2, value + 1, -value, value // 2))
    return max(low, min((1 << bits) - 1, changed))


def _text(root: Message, field: FieldDescriptor, value: Any, rng: random.Random) -> Any:
    if field.type == FieldDescriptor.TYPE_BYTES:
        return rng.choice((b"", value[: len(value) // 2], value + value, value[:-1], b"\xff\xfe", bytes(len(value))))
    return rng.choice((*_TEXTS, *_names(root)))


def _names(root: Message) -> Sequence[str]:
    """Every name in a message: the values of its text fields."""
    found: list[str] = []
    for place in places(root):
        if place.field.type == FieldDescriptor.TYPE_STRING:
            value = getattr(place.message, place.field.name)
            found.extend(value if is_repeated(value) else [value])
    return sorted(set(found))


def _same_type(root: Message, like: Message, rng: random.Random) -> Message:
    """A copy of some message of the same type."""
    found: list[Message] = []
    for place in places(root):
        if place.field.message_type is like.DESCRIPTOR or place.field.message_type == like.DESCRIPTOR:
            value = getattr(place.message, place.field.name)
            found.extend(value if is_repeated(value) else [value])
    return _copied(rng.choice(found or [like]))


def _copied(value: Any) -> Any:
    if not isinstance(value, Message):
        return value
    copy = type(value)()
    copy.CopyFrom(value)
    return copy
