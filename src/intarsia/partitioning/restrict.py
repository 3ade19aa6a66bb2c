"""Makes partitioning follow a device plan: targets refuse nodes of other devices, no partition spans two devices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import TYPE_CHECKING, TypeVar

from intarsia.devices import refusals
from intarsia.partitioning.capability import Capability

if TYPE_CHECKING:
    from intarsia.config import NestedEngine
    from intarsia.devices import DevicePlan
    from intarsia.target import Target

E = TypeVar("E", bound="Target | NestedEngine")


def restrict(capabilities: Mapping[E, Capability], plan: DevicePlan) -> dict[E, Capability]:
    """The capabilities, with each engine refusing the nodes that are planned on devices it does not serve.

    One engine may serve two devices. That no partition spans them is what ``plan.places`` is for, which `greedy`,
    `Intervals.of`, `merge_adjacent` and `Partitioning.of` take.
    """
    return {
        engine: Capability(refusals={**capability.refusals, **refusals(plan, engine)})
        for engine, capability in capabilities.items()
    }


def split_at_places(partitions: Iterable[tuple[str, ...]], plan: DevicePlan) -> tuple[tuple[str, ...], ...]:
    """Runs of a linear order, such as `segments`, each cut wherever the next node is on another device."""
    places = plan.places
    return tuple(tuple(run) for partition in partitions for _, run in groupby(partition, key=places.__getitem__))
