"""What a plan brings from one memory to another, worked out from its steps: nothing is loaded, nothing is moved.

Values pass from device to device by way of the host's memory, in which the caller's are, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod
from typing import Any, TypeAlias

from intarsia.backends.contract import Signature, Traits
from intarsia.light_dataclass import dataclass
from intarsia.runtime.dtypes import numpy_dtype
from intarsia.runtime.executors.parallel_levels import sections
from intarsia.runtime.plan import Plan, Step
from intarsia.target.device_index import device_text

HOST = "cpu"
"""The device type whose devices read the host's memory."""
_Memory: TypeAlias = tuple[str, str]
"""The memory that an engine's steps on one device type share: the engine, and the device type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """One value brought from one device type to another: into the memory of a device, or back from there."""

    value: Signature
    source: str
    destination: str
    step: int
    """Place of the step right before which it is brought to a device, or right behind which it is brought back."""
    readers: tuple[int, ...]
    """Places of the steps that read it there: it is brought once for all of them."""
    is_inside: bool = False
    """Whether the engine does it inside its call, so that it shares nothing and is not timed by itself."""

    @property
    def is_upload(self) -> bool:
        """Whether it leads to a device."""
        return self.destination != HOST

    @property
    def nbytes(self) -> int | None:
        """Bytes that move; ``None`` where only running tells."""
        if self.value.shape is None:
            return None
        return prod(self.value.shape) * numpy_dtype(self.value.dtype).itemsize

    def export(self) -> dict[str, Any]:
        """A dict of pure JSON; steps are numbered from 1, as partitions are."""
        return {
            "value": self.value.name,
            "source": self.source,
            "destination": self.destination,
            "bytes": self.nbytes,
            "partition": self.step + 1,
            "readers": [reader + 1 for reader in self.readers],
            "is_inside": self.is_inside,
        }


def keeps_values(plan: Plan, step: Step, traits: Traits) -> bool:
    """Whether a step's values may stay on its device: its engine can, and it is called by us."""
    return step.target.device_type != HOST and traits.device_values and not plan.settings.embed


def plan_transfers(plan: Plan, traits: Sequence[Traits]) -> tuple[Transfer, ...]:
    """The transfers in running order: before each step those to its device, behind it those back.

    A value is brought to a device once for all steps of one engine that read it there, as far as one of them runs
    before the others in any case; what such a step computed is there already. What nobody else reads stays there.
    """
    return tuple(_Router(plan, traits).transfers())


class _Router:
    """Goes through the steps, and keeps where each value already is."""

    def __init__(self, plan: Plan, traits: Sequence[Traits]) -> None:
        self._plan = plan
        self._memories: list[_Memory | None] = [_memory(step) for step in plan.steps]
        self._keeps = [keeps_values(plan, step, trait) for step, trait in zip(plan.steps, traits, strict=True)]
        self._branch = {
            place: (moment, number)
            for moment, section in enumerate(sections(plan))
            for number, branch in enumerate(section)
            for place in branch
        }
        self._made_by = {value.name: place for place, step in enumerate(plan.steps) for value in step.outputs}
        self._wanted = {value.name for value in plan.outputs}

    def transfers(self) -> Iterator[Transfer]:
        brought: list[Transfer] = []
        for place, memory in enumerate(self._memories):
            for value in self._plan.steps[place].inputs if memory else ():
                if self._is_made_there(value, place):
                    continue
                shared = next((at for at, known in enumerate(brought) if self._serves(known, value, place)), None)
                if shared is None:
                    brought.append(self._upload(value, place))
                else:
                    readers = (*brought[shared].readers, place)
                    brought[shared] = replace(brought[shared], readers=readers)
        for place, memory in enumerate(self._memories):
            yield from (transfer for transfer in brought if transfer.step == place)
            if memory:
                yield from self._downloads(place)

    def _upload(self, value: Signature, place: int) -> Transfer:
        device = device_text(self._plan.steps[place].target)
        inside = not self._keeps[place]
        return Transfer(value=value, source=HOST, destination=device, step=place, readers=(place,), is_inside=inside)

    def _downloads(self, place: int) -> Iterator[Transfer]:
        step, keeps = self._plan.steps[place], self._keeps[place]
        for value in step.outputs:
            readers = tuple(
                reader
                for reader, other in enumerate(self._plan.steps)
                if value in other.inputs and not self._is_made_there(value, reader)
            )
            if readers or value.name in self._wanted or not keeps:
                device = device_text(step.target)
                yield Transfer(
                    value=value, source=device, destination=HOST, step=place, readers=readers, is_inside=not keeps
                )

    def _is_made_there(self, value: Signature, place: int) -> bool:
        """Whether a step reads a value that a step of the same memory made, and kept there."""
        maker = self._made_by.get(value.name)
        if maker is None or not (self._keeps[maker] and self._keeps[place]):
            return False
        return self._memories[maker] == self._memories[place]

    def _serves(self, known: Transfer, value: Signature, place: int) -> bool:
        """Whether what was brought for another step is there for this one: that step runs before it in any case."""
        if known.is_inside or known.value != value or not self._keeps[place]:
            return False
        if self._memories[known.step] != self._memories[place]:
            return False
        first, second = self._branch[known.step], self._branch[place]
        return first[0] < second[0] or first == second


def _memory(step: Step) -> _Memory | None:
    device = device_text(step.target)
    return None if device == HOST else (step.target.kind.name, device)
