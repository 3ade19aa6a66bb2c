"""Transfers to a device with memory of its own: what is planned, and what an executor really moves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from intarsia.backends.contract import BoundCall, DeviceMemory, DeviceValue, Executable, Port, Slot, Traits
from intarsia.config import RunSettings
from intarsia.errors import LoadError
from intarsia.runtime.executors.branches import BranchExecutor
from intarsia.runtime.executors.executor import Executor
from intarsia.runtime.executors.transfers import plan_transfers
from intarsia.runtime.plan import Plan, Step
from intarsia.target import Target
from tests.unit.runtime.chains import array_of, expected, feed, value

ON_HOST = Target("onnxruntime")
ON_DEVICE = Target("ncnn -base=vulkan")
OTHER_ENGINE = Target("iree -base=vulkan")
PLAIN = Traits(writes_in_place=True, follows_ports=True)
KEEPS = Traits(writes_in_place=True, follows_ports=True, device_values=True)
Reads = Sequence[tuple[Target, Sequence[str]]]


class Card(DeviceMemory):
    """A device whose memory is copies: it counts what crosses."""

    def __init__(self) -> None:
        self.crossed: Counter[str] = Counter()

    def upload(self, source: np.ndarray | Slot, place: DeviceValue) -> BoundCall:
        def call() -> None:
            self.crossed["up"] += 1
            place.handle = array_of(source).copy()

        return call

    def download(self, place: DeviceValue, destination: np.ndarray | Slot) -> BoundCall:
        def call() -> None:
            self.crossed["down"] += 1
            np.copyto(array_of(destination), place.handle)

        return call


class Adder(Executable):
    """Adds up what it reads, and one: on its device, or, where it has none, in the host's memory."""

    def __init__(self, step: Step, memory: DeviceMemory | None) -> None:
        self.inputs, self.outputs, self.memory = step.inputs, step.outputs, memory

    def bind(self, inputs: Mapping[str, np.ndarray | Slot], outputs: Mapping[str, np.ndarray | Slot]) -> BoundCall:
        sink = outputs[self.outputs[0].name]
        kind: type = DeviceValue if self.memory else (np.ndarray, Port)  # type: ignore[assignment] # isinstance takes both
        assert all(isinstance(place, kind) for place in (sink, *inputs.values()))

        def call() -> None:
            found = [place.handle if isinstance(place, DeviceValue) else array_of(place) for place in inputs.values()]
            total = np.sum(found, axis=0) + 1
            if isinstance(sink, DeviceValue):
                sink.handle = total
            else:
                np.copyto(array_of(sink), total)

        return call


def plan_of(reads: Reads, outputs: Sequence[str], *, parallel: bool = False) -> Plan:
    """Step ``i`` writes ``v{i}`` on its target and reads the named values; ``x`` is the input."""
    steps = tuple(
        Step(target=target, nodes=(f"n{i}",), inputs=tuple(map(value, names)), outputs=(value(f"v{i}"),))
        for i, (target, names) in enumerate(reads)
    )
    settings = RunSettings(threads=2, parallel=parallel)
    return Plan(steps=steps, settings=settings, inputs=(value("x"),), outputs=tuple(map(value, outputs)))


def traits_of(plan: Plan, *, keeps: bool = True) -> list[Traits]:
    return [KEEPS if keeps and step.target.device_type != "cpu" else PLAIN for step in plan.steps]


def planned(plan: Plan, *, keeps: bool = True) -> list[tuple[str, str, int, tuple[int, ...]]]:
    found = plan_transfers(plan, traits_of(plan, keeps=keeps))
    assert all(transfer.is_inside is not keeps for transfer in found)
    return [(t.value.name, t.destination, t.step, t.readers) for t in found]


def executor_of(plan: Plan, card: Card, kind: type[Executor] = Executor) -> Executor:
    memories = [card if step.target.device_type != "cpu" else None for step in plan.steps]
    adders = [Adder(step, memory) for step, memory in zip(plan.steps, memories, strict=True)]
    return kind(plan, adders, traits_of(plan))


SHARED: Reads = [(ON_DEVICE, ["x"]), (ON_HOST, ["v0"]), (ON_DEVICE, ["x", "v0", "v1"]), (ON_HOST, ["x", "v2"])]
"""``x`` is read on the device twice and on the host, ``v0`` on both, and ``v2`` on the host."""


def test_a_value_crosses_once_for_all_who_read_it_there() -> None:
    assert planned(plan_of(SHARED, ["v3"])) == [
        ("x", "vulkan", 0, (0, 2)),
        ("v0", "cpu", 0, (1,)),
        ("v1", "vulkan", 2, (2,)),
        ("v2", "cpu", 2, (3,)),
    ]


def test_what_crosses_is_what_was_planned() -> None:
    card = Card()
    plan = plan_of(SHARED, ["v3"])
    executor = executor_of(plan, card)
    for turn, number in enumerate((1.0, 5.0, 1.0), start=1):
        found = executor.run(feed(number))["v3"]
        assert (found == expected([names for _, names in SHARED], number)["v3"]).all()
        assert card.crossed == {"up": 2 * turn, "down": 2 * turn}
    assert executor.transfer_count == 4
    assert len(executor.timed_transfers()) == 4


def test_what_only_the_device_reads_stays_there() -> None:
    card = Card()
    reads: Reads = [(ON_DEVICE, ["x"]), (ON_HOST, ["x"]), (ON_DEVICE, ["v0", "v1"])]
    plan = plan_of(reads, ["v2"])
    executor = executor_of(plan, card)
    executor.run(feed(2.0))
    assert card.crossed == {"up": 2, "down": 1}
    # Who looks at every step's results sees this one all the same.
    seen = {name: array for _, outputs in executor.trace() for name, array in outputs.items()}
    assert (seen["v0"] == 3).all()


def test_an_engine_that_keeps_nothing_brings_every_value_itself() -> None:
    assert planned(plan_of(SHARED, ["v3"]), keeps=False) == [
        ("x", "vulkan", 0, (0,)),
        ("v0", "cpu", 0, (1, 2)),
        ("x", "vulkan", 2, (2,)),
        ("v0", "vulkan", 2, (2,)),
        ("v1", "vulkan", 2, (2,)),
        ("v2", "cpu", 2, (3,)),
    ]


def test_two_engines_on_one_device_share_no_memory() -> None:
    assert planned(plan_of([(ON_DEVICE, ["x"]), (OTHER_ENGINE, ["x", "v0"])], ["v1"])) == [
        ("x", "vulkan", 0, (0,)),
        ("v0", "cpu", 0, (1,)),
        ("x", "vulkan", 1, (1,)),
        ("v0", "vulkan", 1, (1,)),
        ("v1", "cpu", 1, ()),
    ]


def test_branches_that_run_at_one_time_wait_for_no_transfer_of_each_other() -> None:
    reads: Reads = [
        (ON_HOST, ["x"]),
        (ON_DEVICE, ["v0"]),
        (ON_DEVICE, ["v0"]),
        (ON_HOST, ["v1", "v2"]),
        (ON_DEVICE, ["v0", "v3"]),
    ]
    plan = plan_of(reads, ["v4"], parallel=True)
    assert [transfer[3] for transfer in planned(plan) if transfer[:2] == ("v0", "vulkan")] == [(1, 4), (2,)]
    card = Card()
    executor = executor_of(plan, card, BranchExecutor)
    for number in (1.0, 3.0):
        assert (executor.run(feed(number))["v4"] == expected([names for _, names in reads], number)["v4"]).all()
    executor.close()


def test_a_plan_on_the_host_moves_nothing() -> None:
    plan = plan_of([(ON_HOST, ["x"]), (ON_HOST, ["v0"])], ["v1"])
    assert planned(plan) == []
    assert executor_of(plan, Card()).timed_transfers() == []


def test_what_moves_is_counted_in_bytes() -> None:
    first, *_ = plan_transfers(plan_of(SHARED, ["v3"]), [KEEPS, PLAIN, KEEPS, PLAIN])
    assert first.export() == {
        "value": "x",
        "source": "cpu",
        "destination": "vulkan",
        "bytes": 24,
        "partition": 1,
        "readers": [1, 3],
        "is_inside": False,
    }


def test_an_engine_that_promises_memory_and_has_none_is_refused() -> None:
    plan = plan_of([(ON_DEVICE, ["x"])], ["v0"])
    with pytest.raises(LoadError, match="offers no memory"):
        Executor(plan, [Adder(plan.steps[0], None)], [KEEPS])
