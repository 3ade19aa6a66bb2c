"""Constraints looked up in a graph and on a machine: which places they pin, and how they treat values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from functools import cache
from typing import TYPE_CHECKING

from intarsia.devices.constraint import Constraint, Subject
from intarsia.devices.device_unification import Pin
from intarsia.errors import ConfigError, SpecError
from intarsia.spec.problems import nearest
from intarsia.target import VirtualDevice

if TYPE_CHECKING:
    from intarsia.config import CompilationConfig
    from intarsia.graph import Graph, Value


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


class Places:
    """Numbers the places: nodes by index, then inputs, then outputs."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        first_input = len(graph.nodes)
        first_output = first_input + len(graph.inputs)
        self.nodes = {node.id: node.index for node in graph.nodes}
        self.inputs = {name: first_input + number for number, name in enumerate(graph.inputs)}
        self.outputs = {name: first_output + number for number, name in enumerate(graph.outputs)}
        self.count = first_output + len(graph.outputs)

    def values(self) -> Iterator[Value]:
        """Every value but weights, which go along with whoever reads them: inputs, then by who computes them."""
        names = (name for node in self.graph.nodes for name in node.outputs if name)
        return (self.graph.values[name] for name in (*self.inputs, *names))

    def producer(self, value: Value) -> int:
        """Where a value comes from."""
        return self.inputs[value.name] if value.producer is None else value.producer

    def readers(self, value: Value) -> tuple[int, ...]:
        """Where a value is read: by nodes, in order, then by the caller."""
        return (*value.consumers, self.outputs[value.name]) if value.name in self.outputs else value.consumers

    def name(self, place: int) -> str:
        """How messages call a place."""
        nodes, inputs = self.graph.nodes, self.graph.inputs
        if place < len(nodes):
            return f"node {nodes[place].id!r}"
        place -= len(nodes)
        if place < len(inputs):
            return f"input {inputs[place]!r}"
        return f"output {self.graph.outputs[place - len(inputs)]!r}"
