"""`plan_devices`: from constraints to a device for every node, and the copies that follow.

After TVM's PlanDevices (RFC 0045, ``src/relay/transforms/device_planner.cc``), on a graph instead of expressions, and
with shared copies. Everything is a loop over the graph, so its depth does not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cache
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING

from intarsia.devices.constraint import Constraint
from intarsia.devices.device_unification import Conflict, DeviceUnification, conflict_text
from intarsia.devices.plan import Copy, DevicePlan
from intarsia.devices.resolved_constraints import Coupling, Places, ResolvedConstraints, complete, resolve_constraints
from intarsia.errors import ConfigError

if TYPE_CHECKING:
    from intarsia.config import CompilationConfig
    from intarsia.graph import Graph, Value
    from intarsia.target import VirtualDevice

SHOWN = 5
"""How many conflicts a message explains before it only counts."""


def is_copyable(value: Value) -> bool:
    """Whether a value is a tensor of known shape, so that a buffer for its copy can be planned."""
    return value.dtype is not None and value.shape is not None


def plan_devices(
    graph: Graph,
    config: CompilationConfig,
    constraints: Iterable[Constraint] = (),
    *,
    together: Iterable[Collection[str]] = (),
    copy_ok: Callable[[Value], bool] = is_copyable,
) -> DevicePlan:
    """Give each node a device.

    A constraint reaches what it speaks of and, against the flow of data, what that reads, until it meets another. With
    the flow it ends: a copy may stand behind what was constrained. Unconstrained nodes that exchange values share a
    device; where two constraints reach what they both read, the first reader has it and the others get a copy. What no
    constraint reaches is on the default device. The results are where they are computed, unless constrained.

    Args:
        config: The machine: its labels, its targets, and its default device.
        constraints: From all sources. Their order only decides who is named in messages.
        together: Sets of node ids that are on one device, such as quantised groups.
        copy_ok: Whether a value may be copied from node to node; else all who read it are where it is computed.

    Raises:
        ConfigError: Constraints that cannot all hold, with the path between them; a node, value or label that is not
            there; a device type that the machine has no target for. All problems at once.
    """
    problems: list[str] = []
    places = Places(graph)
    resolved = resolve_constraints(places, config, constraints, problems)
    couplings = [
        (value, resolved.coupling(value, producer) if value.producer is None or copy_ok(value) else Coupling.ONE)
        for value, producer in ((value, places.producer(value)) for value in places.values())
    ]
    unification = DeviceUnification(places.count)
    conflicts = list(_settle(unification, places, resolved, couplings, together))
    problems += (conflict_text(unification.explain(conflict), places.name) for conflict in conflicts[:SHOWN])
    if problems:
        more = [f"and {len(conflicts) - SHOWN} more conflicts"] if len(conflicts) > SHOWN else []
        raise ConfigError("\n".join([*problems, *more]))
    _flow(unification, places, resolved, couplings)
    return _plan(unification, places, config)


def _settle(
    unification: DeviceUnification,
    places: Places,
    resolved: ResolvedConstraints,
    couplings: Iterable[tuple[Value, Coupling]],
    together: Iterable[Collection[str]],
) -> Iterator[Conflict]:
    """What must hold; yields each conflict."""
    for pin in resolved.pins:
        if not unification.pin(pin):
            yield Conflict(first=pin.place, second=pin.place, pin=pin)
    kept = ((*pair, "stays with") for ids in together for pair in pairwise(sorted(places.nodes[id_] for id_ in ids)))
    ones = (
        (places.producer(value), reader, f"→ {value.name} →")
        for value, coupling in couplings
        if coupling is Coupling.ONE
        # The caller gets any value wherever it wants it, unless a constraint says that it is there all along.
        for reader in (places.readers(value) if value.name in resolved.fixed else value.consumers)
    )
    for first, second, why in (*kept, *ones):
        if not unification.unite(first, second, why):
            yield Conflict(first=first, second=second, why=why)


def _flow(
    unification: DeviceUnification,
    places: Places,
    resolved: ResolvedConstraints,
    couplings: list[tuple[Value, Coupling]],
) -> None:
    """What should hold where it can. From the last value to the first, so that each constraint reaches far back."""
    results = set(places.outputs.values())
    for value, coupling in reversed(couplings):
        for reader in places.readers(value):
            # A result that nobody constrains is wherever it is computed; one that is constrained gets a copy.
            flows = reader not in resolved.ends if reader in results else coupling is Coupling.FLOW
            if flows and coupling is not Coupling.TRY:
                unification.unite(places.producer(value), reader, value.name)
    for value, coupling in couplings:
        if coupling is Coupling.TRY:
            for reader in places.readers(value):
                unification.unite(places.producer(value), reader, value.name)


def _plan(unification: DeviceUnification, places: Places, config: CompilationConfig) -> DevicePlan:
    @cache
    def completed(device: VirtualDevice) -> VirtualDevice:
        return complete(config, device)

    device = [completed(unification.device(place)) for place in range(places.count)]
    return DevicePlan(
        nodes=MappingProxyType({node.id: device[node.index] for node in places.graph.nodes}),
        inputs=MappingProxyType({name: device[place] for name, place in places.inputs.items()}),
        outputs=MappingProxyType({name: device[place] for name, place in places.outputs.items()}),
        copies=tuple(_copies(places, device)),
        reasons=MappingProxyType({node.id: _reason(unification, node.index) for node in places.graph.nodes}),
    )


def _copies(places: Places, device: list[VirtualDevice]) -> Iterator[Copy]:
    for value in places.values():
        source = device[places.producer(value)]
        wanted = dict.fromkeys(device[reader] for reader in places.readers(value))
        yield from (Copy(value=value.name, source=source, destination=end) for end in wanted if end != source)


def _reason(unification: DeviceUnification, place: int) -> str:
    pins = unification.pins(place)
    return str(pins[0].constraint) if pins else "no constraint reaches it, so it is on the default device"
