"""The device targets among several: the least specialised one, and the one that an engine generates code for."""

from __future__ import annotations

from collections.abc import Iterable

from intarsia.errors import SpecError
from intarsia.spec import SpecOf
from intarsia.target.kinds.catalogue import KINDS
from intarsia.target.target import Target


def least_specialised(targets: Iterable[Target], device_type: str) -> Target | None:
    """The target of this device type that refines no other one; the first of several, devices before engines."""
    of_type = [target for target in targets if target.device_type == device_type]
    least = [target for target in of_type if not any(target.refines(other) for other in of_type)]
    return min(least, key=lambda target: target.kind.is_external, default=None)


def resolve_base(target: Target, others: Iterable[Target]) -> Target:
    """The device target that an engine's target generates code for: its base, else the one compatible target.

    Args:
        target: Of an engine.
        others: The targets of its configuration, and the host; those that are no devices are passed over.

    Raises:
        SpecError: It states no base, and none or several of the others are compatible; they are listed.
    """
    if target.base is not None:
        return target.base
    devices = list(dict.fromkeys(other for other in others if other.kind.level == "device"))
    found = [device.with_host(None) if device.host else device for device in devices if target.refines(device)]
    if len(found) == 1:
        return found[0]
    text = f"{target.kind.name} -base={SpecOf('target').text(found[0]) if found else usual_base(target)}"
    listing = ", ".join(repr(str(device)) for device in found or devices)
    if found:
        raise SpecError(f"{str(target)!r} may generate code for any of {listing}; say for which, as in: {text}")
    what = f"none of {listing} is one" if listing else "there is none"
    raise SpecError(f"{str(target)!r} needs a device to generate code for, and {what}; add it, or write: {text}")


def usual_base(engine: Target) -> str:
    """The kind of device that such an engine is most often used for."""
    taken = (kind.name for kind in KINDS.values() if engine.kind.takes(kind))
    return next(iter((*engine.kind.serves, *taken)))
