"""Rows about virtual devices: made, read, joined, defaulted and compared."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from intarsia.target import DEVICE_TYPES, KINDS, Target, VirtualDevice
from tests.conformance.rows.diagnostics import expect_error
from tests.conformance.rows.row import Row, form

OTHERS = {"id": "index"}
"""Parts that rows call by another name."""


def target_for(text: str, device: str | None) -> Target:
    """The target that a row writes as text, or by a letter: ``A`` of the device it stands beside, ``A(cuda)``."""
    letter = re.fullmatch(r"[A-Z](?:\((\w+)\))?", text)
    if letter is None:
        return Target(text)
    wanted = letter[1] or device
    kind = next(kind for kind in KINDS.values() if kind.level == "device" and kind.device_type == wanted)
    return Target({"kind": kind.name, "model": text[0]})


def device_of(parts: Mapping[str, Any]) -> VirtualDevice:
    """The device that a row writes as a map of its parts."""
    fields = {OTHERS.get(name, name): value for name, value in parts.items()}
    if isinstance(fields.get("target"), str):
        fields["target"] = target_for(fields["target"], fields.get("device"))
    return VirtualDevice(**fields)


def check_device(found: VirtualDevice, facts: Mapping[str, Any], device: str | None) -> None:
    """All these facts hold; targets are written as in `target_for`, with the row's device."""
    for name, wanted in facts.items():
        match name:
            case "device_type":
                assert (-1 if found.device is None else DEVICE_TYPES[found.device]) == wanted
            case "target":
                assert found.target == (None if wanted is None else target_for(wanted, device))
            case _:
                assert getattr(found, OTHERS.get(name, name)) == wanted


def run_join(row: Row) -> None:
    """The device that two are, if there is one."""
    left, right = map(device_of, row.input["join"])
    found = left.join(right)
    assert found == right.join(left)
    if "join" in row.expect:
        assert row.expect["join"] is None
        assert found is None
        return
    assert found is not None
    check_device(found, row.expect, left.device or right.device)


def run_default(row: Row) -> None:
    """A device whose free parts come from another."""
    left, right = map(device_of, row.input["default"])
    check_device(left.default(right), row.expect, left.device or right.device)


def run_make(row: Row) -> None:
    """A device from its parts."""
    if row.error:
        expect_error(row, lambda: device_of(row.input["make"]))
    else:
        check_device(device_of(row.input["make"]), row.expect, row.input["make"].get("device"))


def run_make_twice(row: Row) -> None:
    """Two devices of the same parts: one value, by equality."""
    first, second = (device_of(row.input["make_twice"]) for _ in range(2))
    assert (first == second and hash(first) == hash(second)) == row.expect["same_object"]


def run_pairs(row: Row) -> None:
    """Pairs of devices that differ in one part: two values, by equality."""
    base = row.input["base"]
    found = [device_of({**base, **left}) == device_of({**base, **right}) for left, right in row.input["pairs"]]
    assert found == row.expect["same_object"]


def run_device_text(row: Row) -> None:
    """A device as text."""
    text = row.input["device_string"]
    if row.error:
        expect_error(row, lambda: VirtualDevice.of(text))
    else:
        first = VirtualDevice(index=0)  # what a text without an index means to rows
        check_device(VirtualDevice.of(text).default(first), row.expect, None)


FORMS = (
    form(run_join, "join", areas="virtual_device"),
    form(run_default, "default", areas="virtual_device"),
    form(run_make, "make"),
    form(run_make_twice, "make_twice"),
    form(run_pairs, "pairs base"),
    form(run_device_text, "device_string"),
)
