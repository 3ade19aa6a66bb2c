"""Devices as constraints name them, looked up on a machine; which devices it has is said by its configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from intarsia.errors import ConfigError, SpecError
from intarsia.spec.problems import nearest
from intarsia.target import VirtualDevice

if TYPE_CHECKING:
    from intarsia.config import CompilationConfig


def resolve(config: CompilationConfig, device: str | VirtualDevice) -> VirtualDevice:
    """The device of a label, a text or a value. Parts that it leaves free stay free, so that it can be joined.

    Raises:
        ConfigError: The text is neither a label of the machine nor a device.
    """
    if not isinstance(device, str):
        return device
    labels = config.devices
    if device in labels:
        return labels[device]
    try:
        return VirtualDevice.of(device)
    except SpecError as error:
        hint = nearest(device, labels, f"labels are {', '.join(labels)}" if labels else "the machine has no labels")
        raise ConfigError(f"{device!r} is neither a label of this machine nor a device{hint}\n{error}") from error


def complete(config: CompilationConfig, device: VirtualDevice) -> VirtualDevice:
    """The device with its free parts filled: from the default device, the labels and the targets. Idempotent.

    Raises:
        ConfigError: The machine has no such target, or none for a device of this type.
    """
    if device.device is None:
        device = device.default(config.default_device)
    if device.target is None or device.index is None:
        # A labelled memory is taken only by those who ask for that memory.
        known = (known for known in config.devices.values() if known.memory_scope in ("", device.memory_scope))
        device = next(filter(None, map(device.join, known)), device)
    try:
        return config.canonical_device(device)
    except SpecError as error:
        raise ConfigError(f"this machine has no {str(device)!r}: {error}") from error
