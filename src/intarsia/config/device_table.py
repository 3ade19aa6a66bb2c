"""Where the targets of a configuration run: their devices, by index and by label, and the one that is the default."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from intarsia.config.elements import Element, Member, member
from intarsia.errors import SpecError
from intarsia.spec import Placed
from intarsia.spec.problems import nearest
from intarsia.target import DEVICE_TYPES, Target, VirtualDevice, least_specialised


@dataclass(frozen=True, slots=True)
class DeviceTable:
    """The elements of a priority list, each with the device indices that the list gives it.

    Attributes:
        rows: Targets and nested configurations, most preferred first, each once; indices ascending, and none where the
            list leaves the device open.
    """

    rows: tuple[tuple[Member, tuple[int, ...]], ...]

    @classmethod
    def of(cls, elements: Iterable[Element]) -> DeviceTable:
        """Those of these elements; a target that stands with several indices is one row."""
        found: dict[Member, set[int]] = {}
        for element in elements:
            spec, index = member(element)
            found.setdefault(spec, set()).update(() if index is None else (index,))
        return cls(tuple((spec, tuple(sorted(indices))) for spec, indices in found.items()))

    @property
    def elements(self) -> tuple[Element, ...]:
        """The canonical priority list."""
        placed = ((spec, [Placed(spec, index) for index in indices]) for spec, indices in self.rows)
        return tuple(element for spec, several in placed for element in several or (spec,))

    @property
    def targets(self) -> tuple[Member, ...]:
        """Targets and nested configurations, most preferred first."""
        return tuple(spec for spec, _ in self.rows)

    @property
    def devices(self) -> Mapping[str, VirtualDevice]:
        """The devices that the list names, labelled as it names them: ``opencl:1``."""
        placed = [(spec, index) for spec, indices in self.rows for index in indices if isinstance(spec, Target)]
        return MappingProxyType(
            {f"{target.kind.name}:{index}": VirtualDevice(target=target, index=index) for target, index in placed}
        )

    @property
    def types(self) -> tuple[str, ...]:
        """The device types that the elements run on."""
        return tuple(dict.fromkeys(spec.device_type for spec in self.targets))

    def target_for(self, device_type: str) -> Target | None:
        """The least specialised target of this device type, ``None`` of engines only; a `SpecError` if it has none."""
        if device_type not in self.types:
            what = f"no target is specified for device type {device_type}"
            raise SpecError(f"{what}; the targets run on {', '.join(self.types)}")
        target = least_specialised((spec for spec in self.targets if isinstance(spec, Target)), device_type)
        return None if target is None or target.kind.is_external else target

    def resolved(self, device: VirtualDevice) -> VirtualDevice:
        """The device with target and index filled in; one that names neither target nor type stays as it is.

        Raises:
            SpecError: It is none of these targets', or of a device type on which none of them runs.
        """
        if device.device is None:
            return device
        target = self.target_for(device.device) if device.target is None else self._match(device.target)
        first = next((index for spec, found in self.rows if spec == target for index in found), 0)
        index = first if device.index is None else device.index
        return VirtualDevice(device=device.device, index=index, target=target, memory_scope=device.memory_scope)

    def reduced(self, device: VirtualDevice) -> VirtualDevice:
        """The shortest device that `resolved` turns into this resolved one: without a target that follows."""
        if device.device is None or self.target_for(device.device) != device.target:
            return device
        return VirtualDevice(device=device.device, index=device.index, memory_scope=device.memory_scope)

    def named(self, form: object, labels: Mapping[str, VirtualDevice]) -> VirtualDevice:
        """The device of a label or any other form, index and target filled in; a `SpecError` where there is none."""
        if not isinstance(form, str):
            return self.resolved(VirtualDevice.of(form))
        if form in labels:
            return self.resolved(labels[form])
        try:
            device = VirtualDevice.of(form)
        except SpecError as error:
            hint = nearest(form, labels, f"the labels are {', '.join(labels) or 'none'}; write a device as cuda:0")
            raise SpecError(f"no device is labelled {form!r}{hint}" if form.isidentifier() else str(error)) from error
        return self.resolved(device)

    def default(self) -> VirtualDevice:
        """The default device where none is stated: of the one device type, or of the CPU; else a `SpecError`."""
        types = self.types
        if len(types) > 1 and "cpu" not in types:
            what = f"the targets run on {', '.join(types)} and none on a cpu, so there is no default device"
            raise SpecError(f"{what}; add a CPU target such as llvm, or state default_device")
        return self.resolved(VirtualDevice(device=types[0] if len(types) == 1 else "cpu"))

    def add(self, device: VirtualDevice) -> DeviceTable:
        """With the index of this device in the list."""
        assert device.index is not None
        rows = ((spec, {*found, device.index} if spec == device.target else found) for spec, found in self.rows)
        return DeviceTable(tuple((spec, tuple(sorted(found))) for spec, found in rows))

    def _match(self, form: Target) -> Target:
        """The target that this one is, or the only one of its kind that agrees with all it states."""
        wanted = form.with_host(None) if form.host else form
        targets = [spec for spec in self.targets if isinstance(spec, Target)]
        agreeing = [target for target in targets if _agrees(wanted, target)]
        exact = [target for target in agreeing if target == wanted]
        if len(exact or agreeing) == 1:
            return (exact or agreeing)[0]
        what = "several targets of the list match" if agreeing else "no target of the list matches"
        raise SpecError(f"{what} {str(wanted)!r}; there are {', '.join(str(target) for target in agreeing or targets)}")


def with_labels(
    places: DeviceTable, stated: Mapping[str, VirtualDevice], faults: list[tuple[str, str]]
) -> tuple[DeviceTable, Mapping[str, VirtualDevice]]:
    """The stated devices, as short as they can be. Those whose label the list itself would give go into the list."""
    labels: dict[str, VirtualDevice] = {}
    for label, form in stated.items():
        try:
            device = places.resolved(form)
        except SpecError as error:
            faults.append(("devices", f"{label!r}: {error}"))
            continue
        if what := _fault_of_label(label, device, places):
            faults.append(("devices", what))
        elif device.target is not None and device == _own(label, device):
            places = places.add(device)
        else:
            labels[label] = places.reduced(device)
    return places, MappingProxyType(labels)


def stated_default(
    form: VirtualDevice | str | None, places: DeviceTable, labels: Mapping[str, VirtualDevice]
) -> VirtualDevice | None:
    """The stated default device, a label or a device in any form; ``None`` where it is the one that follows anyway.

    Raises:
        SpecError: There is none of that name, or none follows and none is stated.
    """
    if form is None:
        places.default()
        return None
    device = places.named(form, {**places.devices, **labels})
    if device.device is None:
        raise SpecError(f"{str(device)!r} has no device type, but the default device needs one")
    try:
        return None if device == places.default() else places.reduced(device)
    except SpecError:
        return places.reduced(device)


def _fault_of_label(label: str, device: VirtualDevice, places: DeviceTable) -> str:
    if not label:
        return "a label is empty; name the device"
    derived = places.devices.get(label)
    if derived not in (None, device):
        return f"{label!r} is stated as {str(device)!r}, but the list of targets makes it {str(derived)!r}"
    stem, _, index = label.partition(":")
    if stem in DEVICE_TYPES and (device.device != stem or (index and index != str(device.index))):
        return f"{label!r} is the name of a device, but labels another one, {str(device)!r}; choose another label"
    return ""


def _own(label: str, device: VirtualDevice) -> VirtualDevice | None:
    """The device that the list means by this label, if it has this one's target and index."""
    target, index = device.target, device.index
    if target is None or label != f"{target.kind.name}:{index}":
        return None
    return VirtualDevice(target=target, index=index)


def _agrees(wanted: Target, target: Target) -> bool:
    stated = wanted.options.items()
    return wanted.kind is target.kind and all(target.options.get(name) == value for name, value in stated)
