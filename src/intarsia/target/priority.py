"""Priority lists: several targets in the order they are tried, from any form, composites spliced in place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from intarsia.errors import SpecError
from intarsia.spec import Placed, Spec, SpecOf, read_list
from intarsia.target.kinds.catalogue import CONTROL_FLOW, KINDS, NESTED
from intarsia.target.kinds.kind import DEVICE_TYPES
from intarsia.target.target import LEVEL, Target


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorityList:
    """Targets in the order they are tried, without hosts and composites.

    Attributes:
        targets: Most preferred first.
        places: For each target the device index that the list gave it, or ``None``.
        host: The one host that they state, or ``None``.
    """

    targets: tuple[Target, ...]
    places: tuple[int | None, ...]
    host: Target | None


def read_priority_list(form: object) -> PriorityList:
    """The targets named by comma-separated text, JSON, a list, a dict device type → target, or a single target.

    Raises:
        SpecError: A problem in any target, an empty list, or two hosts that differ.
    """
    specs = _by_device(form) if isinstance(form, Mapping) and is_by_device(form) else read_list(LEVEL, form)
    if not specs:
        raise SpecError("at least one target is required; the list is empty")
    leaves = list(_leaves(specs))
    return PriorityList(
        targets=tuple(target.with_host(None) if target.host else target for target, _, _ in leaves),
        places=tuple(index for _, index, _ in leaves),
        host=one_host([host for _, _, hosts in leaves for host in hosts]),
    )


def parse_targets(form: object) -> tuple[Target, ...]:
    """The targets of a priority list, most preferred first. The host that any of them states is stated by all.

    Device indices (``opencl:1``) are dropped; `read_priority_list` has them, and raises the same errors.
    """
    found = read_priority_list(form)
    return found.targets if found.host is None else tuple(target.with_host(found.host) for target in found.targets)


def one_host(hosts: Sequence[Target]) -> Target | None:
    """The host that all of these are, or ``None`` of none; a `SpecError` where two differ."""
    for host in hosts[1:]:
        if host != hosts[0]:
            raise SpecError(f"two hosts are stated and differ: {str(hosts[0])!r} and {str(host)!r}; state one")
    return hosts[0] if hosts else None


def _leaves(
    specs: Iterable[Spec[Any] | Placed], outer: tuple[Target, ...] = ()
) -> Iterable[tuple[Target, int | None, tuple[Target, ...]]]:
    """Each leaf with its index and the hosts that it and the composites around it state."""
    for spec in specs:
        target, index = (spec.spec, spec.index) if isinstance(spec, Placed) else (spec, None)
        assert isinstance(target, Target)
        hosts = outer if target.host is None else (*outer, target.host)
        if target.kind.level != "syntax" or target.kind.name in (NESTED, CONTROL_FLOW):
            yield target, index, hosts
            continue
        if index is not None:
            raise SpecError(f"{spec}: a composite stands for several devices, so it has no index")
        devices = target.options.get("devices", ())
        if not devices:
            raise SpecError(f"{str(target)!r} names no devices; write -devices=… or name a target alone")
        yield from _leaves(devices, hosts)


def is_by_device(form: Mapping[Any, object]) -> bool:
    """Whether this is the legacy form: device type, by name or DLPack number, to target."""
    return bool(form) and all(_device_type(key) is not None for key in form)


def _device_type(key: object) -> str | None:
    """The device type that a key of the legacy form names: by name, or by DLPack number."""
    number = int(key) if isinstance(key, str) and key.isascii() and key.isdigit() and len(key) < 4 else key
    for name, code in DEVICE_TYPES.items():
        if key == name or (number == code and not isinstance(number, bool)):
            return name
    return None


def _by_device(form: Mapping[Any, object]) -> tuple[Spec[Any] | Placed, ...]:
    specs = read_list(LEVEL, list(form.values()))
    for key, spec in zip(form, specs, strict=True):
        target = spec.spec if isinstance(spec, Placed) else spec
        assert isinstance(target, Target)
        if target.device_type != _device_type(key):
            what = f"{str(spec)!r} runs on {target.device_type}, but its key names the device {key!r}"
            raise SpecError(f"{what}; write a list instead: only the order counts")
    return specs


def least_specialised(targets: Iterable[Target], device_type: str) -> Target | None:
    """The target of this device type that refines no other one; the first of several, devices before engines."""
    of_type = [target for target in targets if target.device_type == device_type]
    least = [target for target in of_type if not any(target.refines(other) for other in of_type)]
    return min(least, key=lambda target: target.kind.is_external, default=None)


def resolve_base(target: Target, others: Iterable[Target]) -> Target:
    """The device target that an engine's target generates code for: its base, else the one compatible target.

    Args:
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
