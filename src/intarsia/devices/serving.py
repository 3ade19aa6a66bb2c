"""Which engines may take a node that is planned on a device, as reasons to refuse the others."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from intarsia.target import Target, VirtualDevice

if TYPE_CHECKING:
    from intarsia.config import NestedEngine
    from intarsia.devices.plan import DevicePlan


def serves(engine: Target | NestedEngine, device: VirtualDevice) -> bool:
    """Whether an engine generates for the device: its target is the device's own or refines it.

    A device that leaves its target free is served by all engines of its device type; a nested configuration serves
    what any of its engines does.
    """
    if not isinstance(engine, Target):
        return any(serves(inner, device) for inner in engine.engines)
    own = device.target
    if own is None:
        return engine.device_type == device.device
    # How many threads it may use tells no device apart, and a base that follows from the configuration no engine.
    bare, wanted = (target.with_options({"threads": None}) for target in (engine, own))
    return bare.refines(wanted) or wanted == (bare if wanted.base else bare.with_options({"base": None}))


def refusals(plan: DevicePlan, engine: Target | NestedEngine) -> Mapping[str, str]:
    """The nodes that are planned on devices which the engine does not serve, each with the reason."""
    reasons = {
        device: f"the device plan puts it on {str(device)!r}, which this target does not serve"
        for device in plan.devices
        if not serves(engine, device)
    }
    return MappingProxyType({id_: reasons[device] for id_, device in plan.nodes.items() if device in reasons})
