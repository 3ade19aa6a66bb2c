"""The one form of a configuration that equal meanings share: composites spliced, hosts merged, devices resolved.

What follows from the rest is left out: a host, a default device or a label that would be derived anyway.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from intarsia.config.combinations import faults_of_bases, faults_of_combination
from intarsia.config.device_table import DeviceTable, stated_default, with_labels
from intarsia.config.elements import Element, Member, member
from intarsia.errors import SpecError
from intarsia.spec import Placed
from intarsia.spec.schema import Options
from intarsia.spec.types import Value
from intarsia.target import TAGS, Target, VirtualDevice
from intarsia.target.kinds.catalogue import CONTROL_FLOW, NESTED

Fault = tuple[str, str]
"""The name of an option, and what is wrong with it."""


class _Sound(dict[str, Value]):
    """Canonical options, in which no fault was found."""


def complete(options: Options) -> Options:
    """The canonical options; as they are where they have faults."""
    canonical, faults = _canonical(options)
    return options if faults else _Sound(canonical)


def check(options: Options) -> Iterable[Fault]:
    """What is wrong between the options, each of which is well formed by itself."""
    return () if isinstance(options, _Sound) else _canonical(options)[1]


def default_host(targets: Iterable[Member]) -> Target:
    """The host of a configuration that states none: the first CPU target that can host, else ``llvm``."""
    for target in targets:
        if isinstance(target, Target) and target.kind.level == "device" and target.device_type == "cpu":
            return target.with_options({"threads": None}) if "threads" in target.options else target
    return _llvm()


@cache
def _llvm() -> Target:
    return Target("llvm")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Host:
    """A host that a target states.

    Attributes:
        is_brought: A tag brought it, so an explicit one takes its place.
        is_fallback: A composite states it, so it also runs what no device of the composite takes.
    """

    target: Target
    is_brought: bool
    is_fallback: bool


@dataclass(slots=True)
class _Spliced:
    """The elements after composites were spliced, and the hosts found on the way."""

    elements: list[Element] = field(default_factory=list)
    hosts: list[_Host] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)

    def add(self, elements: Iterable[Element]) -> None:
        for element in elements:
            spec, index = member(element)
            if not isinstance(spec, Target):
                self.elements.append(spec)
                continue
            if spec.kind.name == NESTED:
                self.faults.append(("targets", f"{str(spec)!r} is how a plan names a configuration; write that itself"))
                continue
            if spec.kind.name == CONTROL_FLOW:
                self.faults.append(("targets", f"{str(spec)!r} is no engine; state the executor vm, which uses it"))
                continue
            is_composite = spec.kind.level == "syntax"
            if spec.host is not None:
                host = spec.host.with_host(None) if spec.host.host else spec.host
                self.hosts.append(_Host(target=host, is_brought=_is_brought(spec), is_fallback=is_composite))
                spec = spec.with_host(None)
            if not is_composite:
                self.elements.append(spec if index is None else Placed(spec, index))
            elif index is not None:
                self.faults.append(("targets", f"{element}: a composite is several devices, so it has no index"))
            elif not spec.options.get("devices"):
                self.faults.append(("targets", f"{str(spec)!r} names no devices; write -devices=…, or a target alone"))
            else:
                self.add(spec.options["devices"])


def _canonical(options: Options) -> tuple[Options, Sequence[Fault]]:
    found = _Spliced()
    found.add(options.get("targets", ()))
    if not found.elements and not found.faults:
        return options, [("targets", "at least one target is required; name one, such as llvm")]
    host = _merged_host(options.get("host"), found)
    _note_twins(found)
    if found.faults:
        return options, found.faults
    elements = found.elements
    members = [member(element)[0] for element in elements]
    if host is not None and any(stated.is_fallback for stated in found.hosts) and host not in members:
        elements = [*elements, host]
    places = DeviceTable.of(elements)
    places, labels = with_labels(places, options.get("devices", {}), found.faults)
    derived = default_host(places.targets)
    found.faults += faults_of_bases(places.targets, host or derived)
    found.faults += faults_of_combination(options, places.targets, host or derived)
    canonical = {
        **options,
        "targets": places.elements,
        "devices": labels or None,
        "host": None if host == derived else host,
        "default_device": _default(options.get("default_device"), places, labels, found.faults),
    }
    return {name: value for name, value in canonical.items() if value is not None}, found.faults


def _merged_host(explicit: Target | None, found: _Spliced) -> Target | None:
    """The one host that is stated; an explicit one wins over those that tags bring."""
    hosts = [stated.target for stated in found.hosts if explicit is None or not stated.is_brought]
    hosts = hosts if explicit is None else [explicit.with_host(None) if explicit.host else explicit, *hosts]
    for host in hosts[1:]:
        if host != hosts[0]:
            what = f"two hosts are stated and differ: {str(hosts[0])!r} and {str(host)!r}; state one"
            found.faults.append(("host", what))
            return None
    if hosts and hosts[0].kind.level == "syntax":
        found.faults.append(("host", f"{str(hosts[0])!r} stands for several devices, but a host is one"))
    return hosts[0] if hosts else None


def _is_brought(target: Target) -> bool:
    """Whether the host of a target is the one that its tag says."""
    known = (tag for tag in target.tags if TAGS.level_of(tag) == "target")
    return any(Target(tag).host == target.host for tag in known)


def _note_twins(found: _Spliced) -> None:
    seen: dict[tuple[Member, int | None], int] = {}
    labels: dict[str, int] = {}
    for number, element in enumerate(found.elements):
        spec, index = member(element)
        first = seen.setdefault((spec, index), number)
        label = first if index is None else labels.setdefault(f"{spec.kind.name}:{index}", number)
        if first != number:
            what = f"[{first}] and [{number}] are equal: {element.text()!r}; leave one out"
            found.faults.append(("targets", what))
        elif label != number:
            what = f"[{label}] and [{number}] are two targets for one device, {spec.kind.name}:{index}"
            found.faults.append(("targets", f"{what}; leave out the index and label the devices in 'devices'"))


def _default(
    stated: VirtualDevice | str | None, places: DeviceTable, labels: Mapping[str, VirtualDevice], faults: list[Fault]
) -> VirtualDevice | None:
    try:
        return stated_default(stated, places, labels)
    except SpecError as error:
        faults.append(("default_device", str(error)))
        return None
