"""What an engine accepts of a graph, and why not the rest; a device plan has it refuse the nodes of other devices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, TypeVar

from intarsia.devices import refusals
from intarsia.wording import counted

if TYPE_CHECKING:
    from intarsia.config import NestedEngine
    from intarsia.devices import DevicePlan
    from intarsia.target import Target

E = TypeVar("E", bound="Target | NestedEngine")


@dataclass(frozen=True, slots=True, kw_only=True)
class Capability:
    """The nodes an engine refuses, each with its reason; every other node it takes."""

    refusals: Mapping[str, str]

    def takes(self, node_id: str) -> bool:
        """Whether the engine accepts this node."""
        return node_id not in self.refusals


def refusal_text(refused: Mapping[str, str], asked: int) -> str:
    """Why some nodes are refused, the reason first.

    Args:
        refused: The reason of each, at least one.
        asked: How many nodes there are. A reason that all of them have is one of the whole.
    """
    node, reason = next(iter(refused.items()))
    if len(refused) == asked > 1 and len(set(refused.values())) == 1:
        return reason
    more = len(refused) - 1
    return f"{reason} ({node})" if not more else f"{reason} ({node} and {counted(more, 'more node')})"


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
