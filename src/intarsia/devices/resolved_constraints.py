"""Constraints looked up in a graph and on a machine: which places they pin, and how they treat values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from functools import cache
from typing import TYPE_CHECKING

from intarsia.devices.constraint import Constraint, Subject
from intarsia.devices.device_unification import Pin
from intarsia.devices.labels import complete, resolve
from intarsia.errors import ConfigError
from intarsia.spec.problems import nearest
from intarsia.target import VirtualDevice

if TYPE_CHECKING:
    from intarsia.config import CompilationConfig
    from intarsia.devices.places import Places
    from intarsia.graph import Value


class Coupling(Enum):
    """What holds between where a value comes from and where it is read."""

    ONE = auto()
    """One device, or the constraints are in conflict."""
    FLOW = auto()
    """One device where that is possible, else a copy."""
    TRY = auto()
    """As `FLOW`, but after everything that flows."""
    CUT = auto()
    """Nothing: a copy where the devices turn out to differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedConstraints:
    """What constraints say about the places and values of one graph.

    Attributes:
        pins: Places that are on a device.
        ends: Places where constraints that come against the flow end.
        fixed: Values without a copy between who computes and who reads them.
        cut: Values that may be copied though nothing pins where they come from.
        free: Values that may be copied, though not without need.
    """

    pins: tuple[Pin, ...]
    ends: frozenset[int]
    fixed: frozenset[str]
    cut: frozenset[str]
    free: frozenset[str]

    def coupling(self, value: Value, producer: int) -> Coupling:
        """What holds for a value that may be copied."""
        if value.name in self.fixed:
            return Coupling.ONE
        if value.name in self.free:
            return Coupling.TRY
        return Coupling.CUT if producer in self.ends or value.name in self.cut else Coupling.FLOW


def resolve_constraints(
    places: Places, config: CompilationConfig, constraints: Iterable[Constraint], problems: list[str]
) -> ResolvedConstraints:
    """Look the constraints up; one that names what is not there becomes a problem and is left out."""
    pins: list[Pin] = []
    ends: set[int] = set()
    fixed: set[str] = set()
    cut: set[str] = set()
    free: set[str] = set()

    @cache
    def looked_up(name: str | VirtualDevice) -> VirtualDevice:
        device = resolve(config, name)
        if device.device is not None:
            complete(config, device)  # raises here, where the message can name the constraint
        return device

    for each in constraints:
        try:
            device = looked_up(each.device)
            subjects = list(_subjects(places, each))
        except ConfigError as error:
            problems.append(f"{each}: {error}")
            continue
        for body, values in subjects:
            names = [value.name for value in values]
            if each.constrain_body:
                pins.append(Pin(body, device, each))
                ends.add(body)
                fixed.update(names if each.constrain_result else ())
            elif each.constrain_result:
                pins += (Pin(reader, device, each) for value in values for reader in places.readers(value))
                cut.update(names)
            else:
                free.update(names)
    return ResolvedConstraints(
        pins=tuple(pins), ends=frozenset(ends), fixed=frozenset(fixed), cut=frozenset(cut), free=frozenset(free)
    )


def _subjects(places: Places, constraint: Constraint) -> Iterator[tuple[int, tuple[Value, ...]]]:
    """The places that a constraint speaks of, each with the values that come from it."""
    graph, name = places.graph, constraint.name
    match constraint.subject:
        case Subject.NODE:
            if name not in places.nodes:
                raise ConfigError(f"the graph has no node {name!r}{nearest(name, places.nodes)}")
            node = graph.nodes[places.nodes[name]]
            yield node.index, tuple(graph.values[output] for output in node.outputs if output)
        case Subject.VALUE:
            value = graph.values.get(name)
            if value is None:
                raise ConfigError(f"the graph has no value {name!r}{nearest(name, graph.values)}")
            if value.is_weight:
                raise ConfigError(
                    f"value {name!r} is a weight, which is on every device that reads it; leave this constraint out"
                )
            yield places.producer(value), (value,)
        case Subject.INPUTS | Subject.OUTPUTS:
            known = places.inputs if constraint.subject is Subject.INPUTS else places.outputs
            if name and name not in known:
                raise ConfigError(f"{name!r} is not one of the graph's {constraint.subject}{nearest(name, known)}")
            for each in [name] if name else known:
                own = (graph.values[each],) if constraint.subject is Subject.INPUTS else ()
                yield known[each], own
