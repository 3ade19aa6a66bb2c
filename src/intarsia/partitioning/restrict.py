"""A device plan as partitioning obeys it: targets refuse what is planned elsewhere; partitions end at other devices."""

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
    """What each engine takes of the nodes that are planned on devices it serves; the rest it refuses, with the reason.

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
