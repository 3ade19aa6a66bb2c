"""`DevicePlan`: where each node runs and where each copy goes, as frozen data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from intarsia.devices.constraint import Constraint
from intarsia.target import Target, VirtualDevice
from intarsia.target.device_index import DEVICE_INDEX, index_of

if TYPE_CHECKING:
    from intarsia.config import NestedEngine

SHARED = frozenset({"cpu"})
"""Device types all of whose devices read the same memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """One value brought from where it is computed to a device that reads it, once for all who read it there."""

    value: str
    source: VirtualDevice
    destination: VirtualDevice

    @property
    def shares_memory(self) -> bool:
        """Whether nothing has to move, since both ends read the same memory."""
        ends = {self.source.device, self.destination.device}
        return ends <= SHARED and self.source.memory_scope == self.destination.memory_scope

    def export(self) -> dict[str, Any]:
        """A dict of pure JSON."""
        return {
            "value": self.value,
            "source": str(self.source),
            "destination": str(self.destination),
            "shares_memory": self.shares_memory,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class DevicePlan:
    """Where everything is; no part of any device is free, but for the memory scope.

    Attributes:
        copies: In the order in which the values are computed.
        reasons: Why each node is where it is: the constraint that reached it, or that none did.
    """

    nodes: Mapping[str, VirtualDevice]
    inputs: Mapping[str, VirtualDevice]
    outputs: Mapping[str, VirtualDevice]
    copies: tuple[Copy, ...]
    reasons: Mapping[str, str] = field(compare=False, repr=False)

    @property
    def devices(self) -> tuple[VirtualDevice, ...]:
        """The devices on which nodes run, in the order of the graph."""
        return tuple(dict.fromkeys(self.nodes.values()))

    @property
    def places(self) -> Mapping[str, str]:
        """A name for the device of each node, by id: what a partition may hold only one of."""
        names = {device: str(device) for device in self.devices}
        return {id_: names[device] for id_, device in self.nodes.items()}

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """The whole plan as constraints; planning by them gives it again."""
        source = "a device plan"
        return (
            *(Constraint.node(id_, device, source=source) for id_, device in self.nodes.items()),
            *(Constraint.inputs(device, name, source=source) for name, device in self.inputs.items()),
            *(Constraint.outputs(device, name, source=source) for name, device in self.outputs.items()),
        )

    def export(self) -> dict[str, Any]:
        """A dict of pure JSON."""
        return {
            "nodes": {id_: {"device": name, "reason": self.reasons[id_]} for id_, name in self.places.items()},
            "inputs": {name: str(device) for name, device in self.inputs.items()},
            "outputs": {name: str(device) for name, device in self.outputs.items()},
            "copies": [copy.export() for copy in self.copies],
        }


def serves(engine: Target | NestedEngine, device: VirtualDevice) -> bool:
    """Whether an engine generates for the device: its target is the device's own or refines it.

    A device that leaves its target free is served by all engines of its device type; a nested configuration serves
    what any of its engines does.
    """
    if not isinstance(engine, Target):
        return any(serves(inner, device) for inner in engine.engines)
    own = device.target
    if not _is_of_index(engine, device):
        return False
    if own is None:
        return engine.device_type == device.device
    # How many threads it may use tells no device apart, and a base that follows from the configuration no engine.
    bare, wanted = (_less(target, "threads", DEVICE_INDEX) for target in (engine, own))
    return bare.refines(wanted) or wanted == (bare if wanted.base else bare.with_options({"base": None}))


def _less(target: Target, *names: str) -> Target:
    return target.with_options({name: None for name in names if name in target.options})


def _is_of_index(engine: Target, device: VirtualDevice) -> bool:
    """Whether an engine runs on the device of that index, as far as it can be told one.

    A part of the cores is bound by the executor instead; that an engine cannot be told is said before it compiles.
    """
    if device.index is None or engine.device_type == "cpu" or DEVICE_INDEX not in engine.kind.options:
        return True
    return index_of(engine) == device.index


def refusals(plan: DevicePlan, engine: Target | NestedEngine) -> Mapping[str, str]:
    """The nodes that are planned on devices which the engine does not serve, each with the reason."""
    reasons = {
        device: f"the device plan puts it on {str(device)!r}, which this target does not serve"
        for device in plan.devices
        if not serves(engine, device)
    }
    return MappingProxyType({id_: reasons[device] for id_, device in plan.nodes.items() if device in reasons})
