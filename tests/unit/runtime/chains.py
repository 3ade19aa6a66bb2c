"""Plans of steps that add numbers, on engines that tell when they run: nothing of a real engine."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from intarsia.backends.contract import BoundCall, Executable, Port, Signature, Slot, Traits
from intarsia.config import RunSettings
from intarsia.runtime.plan import Plan, Step
from intarsia.target import Target

TRAITS = Traits(writes_in_place=True, follows_ports=True)
Watcher = Callable[[str, float], None]
"""Told the output that a step writes and the first number it reads, on the thread that runs the step."""


def unwatched(name: str, value: float) -> None:
    """Watch nothing."""


def value(name: str) -> Signature:
    return Signature(name=name, dtype="float32", shape=(2, 3))


def plan_of_reads(reads: Sequence[Sequence[str]], settings: RunSettings, outputs: Sequence[str]) -> Plan:
    """Step ``i`` writes ``v{i}`` and reads the named values; ``x`` is the input."""
    steps = tuple(
        Step(
            target=Target("reference"),
            nodes=(f"n{place}",),
            inputs=tuple(map(value, names)),
            outputs=(value(f"v{place}"),),
        )
        for place, names in enumerate(reads)
    )
    return Plan(steps=steps, settings=settings, inputs=(value("x"),), outputs=tuple(map(value, outputs)))


class Adder(Executable):
    """Adds up what it reads, and one; a NaN makes it fail."""

    def __init__(self, step: Step, watch: Watcher = unwatched) -> None:
        self.inputs, self.outputs = step.inputs, step.outputs
        self.is_closed = False
        self._watch = watch

    def bind(self, inputs: Mapping[str, np.ndarray | Slot], outputs: Mapping[str, np.ndarray | Slot]) -> BoundCall:
        sink = outputs[self.outputs[0].name]
        assert isinstance(sink, np.ndarray)

        def call() -> None:
            arrays = [array_of(place) for place in inputs.values()]
            self._watch(self.outputs[0].name, float(arrays[0].flat[0]))
            if np.isnan(arrays[0]).any():
                raise ArithmeticError("not a number")
            sink[...] = np.sum(arrays, axis=0) + 1

        return call

    def close(self) -> None:
        self.is_closed = True


def array_of(place: np.ndarray | Slot) -> np.ndarray:
    array = place.array if isinstance(place, Port) else place
    assert isinstance(array, np.ndarray)
    return array


def expected(reads: Sequence[Sequence[str]], fed: float) -> dict[str, float]:
    """What each value holds after a run, worked out one step after another."""
    found = {"x": fed}
    for place, names in enumerate(reads):
        found[f"v{place}"] = sum(found[name] for name in names) + 1
    return found


def feed(number: float) -> dict[str, np.ndarray]:
    return {"x": np.full((2, 3), number, np.float32)}


def our_threads() -> list[str]:
    """Names of the threads that executors have started and not ended."""
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("intarsia-")]
