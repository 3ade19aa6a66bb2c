"""The embedding executor on a session of our own making: memory, times, playback, and what is seen of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from intarsia.backends.contract import (
    BoundCall,
    Executable,
    PartitionBlocks,
    Port,
    Signature,
    Slot,
    Traits,
    Visit,
)
from intarsia.config import RunSettings
from intarsia.errors import ExecutionError, LoadError
from intarsia.runtime.executors.embedded import EmbeddedExecutor, EmbeddedPartition, Visits, in_blocks, out_of_blocks
from intarsia.runtime.plan import Plan, Step
from intarsia.target import Target

X, A, B, Y = (Signature(name=name, dtype="float32", shape=(4,)) for name in "xaby")
COPIES, FOLLOWS = Traits(writes_in_place=True), Traits(writes_in_place=True, follows_ports=True)
MAIN, OTHER = Target("onnxruntime"), Target("ncnn")
STEPS = tuple(
    Step(target=target, nodes=(sink.name,), inputs=(source,), outputs=(sink,))
    for target, source, sink in ((MAIN, X, A), (OTHER, A, B), (MAIN, B, Y))
)
PLAN = Plan(steps=STEPS, settings=RunSettings(threads=1, embed=True), inputs=(X,), outputs=(Y,))


def array_of(place: np.ndarray | Slot) -> np.ndarray:
    if isinstance(place, Port):
        return place.array
    assert isinstance(place, np.ndarray)
    return place


class Doubler(Executable):
    """The piece: b = 2 a."""

    closed = 0

    def __init__(self) -> None:
        self.inputs, self.outputs = (A,), (B,)

    def bind(self, inputs: Mapping[str, np.ndarray | Slot], outputs: Mapping[str, np.ndarray | Slot]) -> BoundCall:
        source, sink = inputs["a"], outputs["b"]

        def call() -> None:
            np.multiply(array_of(source), 2, out=array_of(sink))

        return call

    def close(self) -> None:
        self.closed += 1


class Session(Executable):
    """The session: a = x + 1, the piece, y = b - 3; it moves its borders to other memory at every second run."""

    inputs, outputs = (X,), (Y,)
    grows = 1
    """How many times as long as they are it says that outputs of pieces are."""

    def __init__(self, visit: Visit) -> None:
        self._visit = visit
        self._memory = [(np.zeros(4, np.float32), np.zeros(4, np.float32)) for _ in range(2)]
        self._runs = 0

    def bind(self, inputs: Mapping[str, np.ndarray | Slot], outputs: Mapping[str, np.ndarray | Slot]) -> BoundCall:
        source, sink = inputs["x"], outputs["y"]

        def call() -> None:
            a, b = self._memory[self._runs % 2]
            self._runs += 1
            np.add(array_of(source), 1, out=a)
            self._visit(0, [a.ctypes.data], [b.ctypes.data], [a.size, b.size * self.grows])
            np.subtract(b, 3, out=array_of(sink))

        return call


def executor(traits: Traits) -> tuple[EmbeddedExecutor, Doubler]:
    doubler = Doubler()
    partitions = [EmbeddedPartition(STEPS[1], doubler, traits)]
    visits = Visits(partitions)
    return EmbeddedExecutor(PLAN, Session(visits), COPIES, partitions, visits), doubler


@pytest.mark.parametrize("traits", [COPIES, FOLLOWS])
def test_partitions_compute_wherever_the_session_has_their_borders(traits: Traits) -> None:
    runner, _ = executor(traits)
    for value in (1.0, 5.0, 7.0):
        assert (runner.run({"x": np.full(4, value, np.float32)})["y"] == 2 * (value + 1) - 3).all()


def test_every_step_gets_its_share_of_the_time() -> None:
    runner, _ = executor(FOLLOWS)
    spent = runner.timed_call()
    assert len(spent) == len(PLAN.steps)
    assert all(nanoseconds > 0 for nanoseconds in spent)
    assert runner.main_places == (0, 2)


def test_the_trace_shows_all_that_leaves_the_session() -> None:
    runner, _ = executor(FOLLOWS)
    runner.feed({"x": np.ones(4, np.float32)})
    seen = {step.nodes[0]: {name: float(array[0]) for name, array in values.items()} for step, values in runner.trace()}
    assert seen == {"a": {"a": 2.0}, "b": {"b": 4.0}, "y": {"y": 1.0}}


def test_what_is_played_back_is_not_computed_unless_it_is_live() -> None:
    runner, _ = executor(FOLLOWS)
    feeds = {"x": np.ones(4, np.float32)}
    recorded = {"b": np.full(4, 50, np.float32)}
    runner.play(recorded)
    assert (runner.run(feeds)["y"] == 47).all()
    runner.play(recorded, live=(1,))
    assert (runner.run(feeds)["y"] == 1).all()
    runner.play(recorded)
    runner.play(None)
    assert (runner.run(feeds)["y"] == 1).all()


def test_closing_frees_the_partitions() -> None:
    runner, doubler = executor(COPIES)
    runner.close()
    assert doubler.closed == 1


def test_a_plan_that_is_embedded_is_another_plan() -> None:
    apart = replace(PLAN, settings=RunSettings(threads=1))
    assert apart.fingerprint != PLAN.fingerprint


def test_blocks_have_the_channels_of_one_pixel_side_by_side() -> None:
    plain = np.arange(16, dtype=np.float32).reshape(1, 4, 2, 2)
    blocked = in_blocks(plain, 2)
    assert blocked.ravel().tolist() == [0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15]
    assert (out_of_blocks(blocked, 2) == plain).all()
    assert in_blocks(plain, None) is plain


def test_what_is_seen_and_played_back_is_plain_though_blocks_are_handed_over() -> None:
    a, b = (Signature(name=name, dtype="float32", shape=(1, 4, 1, 2)) for name in "ab")
    step = Step(target=OTHER, nodes=("b",), inputs=(a,), outputs=(b,))
    blocks = PartitionBlocks(size=2, inputs=(0,), outputs=(0,))
    doubler = Doubler()
    doubler.inputs, doubler.outputs = (a,), (b,)
    partition = EmbeddedPartition(step, doubler, FOLLOWS, blocks)
    source, sink = (np.arange(8, dtype=np.float32).reshape(1, 4, 1, 2) for _ in range(2))
    partition.visit([source.ctypes.data], [sink.ctypes.data])
    assert (sink == 2 * source).all()
    assert (partition.read([source.ctypes.data])["a"] == out_of_blocks(source, 2)).all()
    assert (partition.written([sink.ctypes.data])["b"] == out_of_blocks(sink, 2)).all()
    recorded = np.full((1, 4, 1, 2), 3, np.float32) * np.arange(8, dtype=np.float32).reshape(1, 4, 1, 2)
    partition.play({"b": recorded})
    partition.visit([source.ctypes.data], [sink.ctypes.data])
    assert (out_of_blocks(sink, 2) == recorded).all()


def test_a_session_that_hands_over_other_sizes_is_an_error_before_any_memory_is_touched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Session, "grows", 2)
    runner, _ = executor(FOLLOWS)
    with pytest.raises(ExecutionError, match=r"hands over values of \[4, 8\] elements, and the plan has \[4, 4\]"):
        runner.run({"x": np.ones(4, np.float32)})


def test_a_partition_that_takes_something_else_is_not_bound() -> None:
    doubler = Doubler()
    doubler.outputs = (replace(B, shape=(64,)),)
    with pytest.raises(LoadError, match=r"it writes 'b' as float32 \(64,\), and the plan has no such value"):
        EmbeddedPartition(STEPS[1], doubler, FOLLOWS)
