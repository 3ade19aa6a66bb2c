"""The executor of a plan whose main engine holds the other engines' steps inside its own session.

One call runs the session; where a step of another engine belongs, the session visits it. What the main engine does
between two of its steps (layouts, fusions) is its own business, so its steps have no borders of their own here.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod

import numpy as np

from intarsia.backends.contract import BoundCall, Executable, PartitionBlocks, Port, Signature, Traits
from intarsia.backends.contract.buffers import Need, allocate
from intarsia.errors import ExecutionError
from intarsia.runtime.dtypes import numpy_dtype
from intarsia.runtime.executors.arrays import array_at
from intarsia.runtime.executors.executor import Executor, check_borders
from intarsia.runtime.plan import Plan, Step

Arrays = Mapping[str, np.ndarray]
_MOST_KNOWN = 256


class EmbeddedPartition:
    """A step of another engine, on whatever memory the session has its borders in."""

    def __init__(
        self, step: Step, executable: Executable, traits: Traits, blocks: PartitionBlocks | None = None
    ) -> None:
        check_borders(step, executable)
        self.step = step
        self._executable = executable
        needs = [
            Need(name=value.name, dtype=numpy_dtype(value.dtype), shape=value.shape or ())
            for value in (*step.inputs, *step.outputs)
        ]
        self._counts = [prod(need.shape) for need in needs]
        self._own: Arrays = {} if traits.follows_ports else allocate(needs, shared=traits.runs_elsewhere)
        self._blocks = _named(step, blocks)
        # Empty arrays stand in until the first visit.
        self._ports = {need.name: Port(np.empty(need.shape, need.dtype), self._blocks.get(need.name)) for need in needs}
        self._known: dict[tuple[str, int], np.ndarray] = {}
        self._bound: tuple[int, ...] = ()
        places = self._own or self._ports
        self._call: BoundCall = executable.bind(
            {value.name: places[value.name] for value in step.inputs},
            {value.name: places[value.name] for value in step.outputs},
        )
        self._playback: Arrays | None = None

    def check(self, counts: Sequence[int]) -> None:
        """Raise an `ExecutionError` if the session has not as many elements at its addresses as the plan says."""
        if counts != self._counts:
            fault = f"the session hands over values of {counts} elements, and the plan has {self._counts}"
            raise ExecutionError(self.step.target.kind.name, f"{fault}; compile it anew")

    def visit(self, inputs: Sequence[int], outputs: Sequence[int]) -> None:
        """Run once, from and to these addresses."""
        if self._playback is not None:
            _copy(self._playback, self._at(self.step.outputs, outputs))
        elif self._own:
            _copy(self._at(self.step.inputs, inputs), self._own)
            self._call()
            _copy(self._own, self._at(self.step.outputs, outputs))
        else:
            if (addresses := (*inputs, *outputs)) != self._bound:
                for name, array in self._at((*self.step.inputs, *self.step.outputs), addresses).items():
                    self._ports[name].array = array
                self._bound = addresses
            self._call()

    def written(self, outputs: Sequence[int]) -> dict[str, np.ndarray]:
        """Copies of what was written at these addresses."""
        return self._copies(self.step.outputs, outputs)

    def read(self, inputs: Sequence[int]) -> dict[str, np.ndarray]:
        """Copies of what is read at these addresses."""
        return self._copies(self.step.inputs, inputs)

    def play(self, recorded: Arrays | None) -> None:
        """What to answer from now on instead of computing, while only the rest is measured."""
        if recorded is None or not self._blocks:
            self._playback = recorded
            return
        names = [value.name for value in self.step.outputs]
        self._playback = {name: in_blocks(recorded[name], self._blocks.get(name)) for name in names}

    def close(self) -> None:
        """Free what the engine holds."""
        self._executable.close()

    def _copies(self, values: Sequence[Signature], addresses: Sequence[int]) -> dict[str, np.ndarray]:
        arrays = self._at(values, addresses)
        return {name: out_of_blocks(array, self._blocks.get(name)) for name, array in arrays.items()}

    def _at(self, values: Sequence[Signature], addresses: Sequence[int]) -> dict[str, np.ndarray]:
        """Arrays over foreign memory; a session mostly comes back to the same addresses."""
        found = {}
        for value, address in zip(values, addresses, strict=True):
            key = (value.name, address)
            if key not in self._known:
                if len(self._known) >= _MOST_KNOWN:
                    self._known.clear()
                self._known[key] = array_at(address, value.shape or (), numpy_dtype(value.dtype))
            found[value.name] = self._known[key]
        return found


class EmbeddedExecutor(Executor):
    """Runs one plan through one session. Made of partitions first, since the session is loaded with `visit`."""

    def __init__(
        self, plan: Plan, session: Executable, traits: Traits, partitions: Sequence[EmbeddedPartition], visits: Visits
    ) -> None:
        self._places = [plan.steps.index(partition.step) for partition in partitions]
        self.main_places = tuple(place for place in range(len(plan.steps)) if place not in self._places)
        whole = replace(plan.steps[self.main_places[0]], inputs=plan.inputs, outputs=plan.outputs)
        super().__init__(replace(plan, steps=(whole,)), (session,), (traits,))
        self.plan = plan
        self._partitions = tuple(partitions)
        self._visits = visits
        self._owners = _owners(len(plan.steps), set(self._places))
        self._turns.owns(*(partition.close for partition in partitions))

    def _call(self) -> None:
        self._visits.marks.clear()
        super()._call()

    def _timed_call(self) -> list[int]:
        """What passes between two visits is normalised to the main engine's step that stands last before the later."""
        start = time.perf_counter_ns()
        self._call()
        end = time.perf_counter_ns()
        spent = [0] * len(self.plan.steps)
        for partition, begun, done in self._visits.marks:
            spent[self._places[partition]] += done - begun
            spent[self._owners[self._places[partition]]] += begun - start
            start = done
        spent[self._owners[-1]] += end - start
        return spent

    def _trace(self) -> Iterator[tuple[Step, dict[str, np.ndarray]]]:
        """Runs once; for each step copies of what it wrote, as far as it left the session."""
        seen: dict[str, np.ndarray] = {}
        self._visits.watch = seen
        try:
            self._call()
        finally:
            self._visits.watch = None
        seen |= self._results()
        for step in self.plan.steps:
            yield step, {value.name: seen[value.name] for value in step.outputs if value.name in seen}

    def play(self, recorded: Arrays | None, live: Collection[int] = ()) -> None:
        """From now on only the steps at the places in ``live`` compute; the other partitions answer what was recorded.

        ``None`` makes all of them compute again.
        """
        for partition, place in zip(self._partitions, self._places, strict=True):
            partition.play(None if place in live else recorded)


class Visits:
    """What the session calls: runs partitions, and keeps when each began and was done."""

    def __init__(self, partitions: Sequence[EmbeddedPartition]) -> None:
        self._partitions = tuple(partitions)
        self.marks: list[tuple[int, int, int]] = []
        """Partition, begin and end in nanoseconds, since they were last cleared."""
        self.watch: dict[str, np.ndarray] | None = None
        """Where to put copies of what partitions read and write, while somebody looks."""

    def __call__(self, number: int, inputs: Sequence[int], outputs: Sequence[int], counts: Sequence[int]) -> None:
        """Run one partition."""
        partition = self._partitions[number]
        partition.check(counts)
        begun = time.perf_counter_ns()
        if self.watch is not None:
            self.watch.update(partition.read(inputs))
        partition.visit(inputs, outputs)
        if self.watch is not None:
            self.watch.update(partition.written(outputs))
        self.marks.append((number, begun, time.perf_counter_ns()))


def _owners(count: int, partitions: Collection[int]) -> list[int]:
    """For each step the main engine's step that stands last before it, or is it, or is the first of all."""
    main = [place for place in range(count) if place not in partitions]
    return [max((place for place in main if place <= step), default=main[0]) for step in range(count)]


def _named(step: Step, blocks: PartitionBlocks | None) -> dict[str, int]:
    """Channels in a block, for each border that is handed over in blocks."""
    if blocks is None:
        return {}
    values = (*(step.inputs[at] for at in blocks.inputs), *(step.outputs[at] for at in blocks.outputs))
    return {value.name: blocks.size for value in values}


def in_blocks(array: np.ndarray, block: int | None) -> np.ndarray:
    """An array of (1, c, h, w) with its memory in blocks of channels (`Port.block`), still called by that shape."""
    if block is None:
        return array
    _, channels, height, width = array.shape
    parts = array.reshape(channels // block, block, height, width)
    return parts.transpose(0, 2, 3, 1).reshape(array.shape)


def out_of_blocks(array: np.ndarray, block: int | None) -> np.ndarray:
    """A copy of such an array in the plain order."""
    if block is None:
        return array.copy()
    _, channels, height, width = array.shape
    parts = array.reshape(channels // block, height, width, block)
    return parts.transpose(0, 3, 1, 2).reshape(array.shape)


def _copy(source: Arrays, target: Arrays) -> None:
    for name in source.keys() & target.keys():
        np.copyto(target[name], source[name])
