"""The values of one loaded plan that are in the memory of devices, and the calls that bring them there and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from intarsia.backends.contract import BoundCall, DeviceMemory, DeviceValue, Executable, Slot, Traits
from intarsia.errors import LoadError
from intarsia.runtime.executors.transfers import keeps_values, plan_transfers
from intarsia.runtime.plan import Plan

Storage = np.ndarray | Slot


class DeviceValues:
    """A device value for each value that a step makes on its device, and for each that is brought there."""

    def __init__(self, plan: Plan, executables: Sequence[Executable], traits: Sequence[Traits]) -> None:
        self.calls: list[BoundCall] = []
        """The bound transfers, in running order."""
        self._plan = plan
        self._memories = [
            _memory(executable, step.target.kind.name) if keeps_values(plan, step, trait) else None
            for step, executable, trait in zip(plan.steps, executables, traits, strict=True)
        ]
        self._transfers = [transfer for transfer in plan_transfers(plan, traits) if not transfer.is_inside]
        self._made = {
            (place, value.name): DeviceValue()
            for place, memory in enumerate(self._memories)
            for value in (plan.steps[place].outputs if memory else ())
        }
        self._maker = {name: place for place, name in self._made}
        self._brought: dict[tuple[int, str], DeviceValue] = {}
        for transfer in self._transfers:
            if transfer.is_upload:
                device_value = DeviceValue()
                self._brought |= {(reader, transfer.value.name): device_value for reader in transfer.readers}

    def transfers(self, place: int, host: Mapping[str, Storage]) -> tuple[list[BoundCall], list[BoundCall]]:
        """What is called before a step and behind it; ``host`` has the plan's own places of values."""
        before: list[BoundCall] = []
        behind: list[BoundCall] = []
        memory = self._memories[place]
        for transfer in self._transfers if memory else ():
            name = transfer.value.name
            if transfer.step != place or memory is None:
                continue
            if transfer.is_upload:
                before.append(memory.upload(host[name], self._brought[place, name]))
            else:
                behind.append(memory.download(self._made[place, name], host[name]))
        self.calls += (*before, *behind)
        return before, behind

    def read(self, place: int) -> dict[str, DeviceValue]:
        """What a step reads on its device."""
        if self._memories[place] is None:
            return {}
        names = [value.name for value in self._plan.steps[place].inputs]
        return {name: self._brought.get((place, name)) or self._made[self._maker[name], name] for name in names}

    def written(self, place: int) -> dict[str, DeviceValue]:
        """What a step writes on its device."""
        return {name: device_value for (maker, name), device_value in self._made.items() if maker == place}

    def left_there(self, place: int, host: Mapping[str, Storage]) -> list[BoundCall]:
        """Calls that bring back what a step made and nobody on the host reads, for one who looks at everything."""
        here = [transfer for transfer in self._transfers if transfer.step == place]
        back = {transfer.value.name for transfer in here if not transfer.is_upload}
        memory, made = self._memories[place], self.written(place)
        return [memory.download(made[name], host[name]) for name in made.keys() - back] if memory else []


def _memory(executable: Executable, engine: str) -> DeviceMemory:
    if executable.memory is None:
        raise LoadError(engine, "it says that values stay on its device, and offers no memory there")
    return executable.memory
