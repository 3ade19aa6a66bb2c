"""The graph executor on engines that add: where it copies, where it does not, and what it gives back."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest

from intarsia.backends.contract import BoundCall, Executable, Port, Signature, Slot, Traits
from intarsia.config import RunSettings
from intarsia.errors import ClosedError, FeedError
from intarsia.runtime.executors.executor import Executor
from intarsia.runtime.plan import Plan, Step
from intarsia.target import Target

X, H, Y = (Signature(name=name, dtype="float32", shape=(2, 3)) for name in ("x", "h", "y"))
FIXED = Traits(writes_in_place=True)
FOLLOWS = Traits(writes_in_place=True, follows_ports=True)
SPOILS = Traits(writes_in_place=True, follows_ports=True, mutates_inputs=True)


class Adder(Executable):
    """Adds one, remembers the address it read from, and spoils its input if told to."""

    def __init__(self, source: Signature, sink: Signature, *, spoils: bool = False) -> None:
        self.inputs, self.outputs = (source,), (sink,)
        self.spoils = spoils
        self.read_from: list[int] = []
        self.closed = 0

    def bind(self, inputs: Mapping[str, np.ndarray | Slot], outputs: Mapping[str, np.ndarray | Slot]) -> BoundCall:
        source, sink = inputs[self.inputs[0].name], outputs[self.outputs[0].name]

        def call() -> None:
            array, out = (place.array if isinstance(place, Port) else place for place in (source, sink))
            assert isinstance(array, np.ndarray)
            assert isinstance(out, np.ndarray)
            self.read_from.append(array.ctypes.data)
            np.add(array, 1, out=out)
            if self.spoils:
                array[...] = np.nan

        return call

    def close(self) -> None:
        self.closed += 1


def executor(
    first: Traits, second: Traits, ends: Sequence[tuple[Signature, Signature]] = ((X, H), (H, Y))
) -> tuple[Executor, Adder, Adder]:
    steps = tuple(Step(target=Target("reference"), nodes=(b.name,), inputs=(a,), outputs=(b,)) for a, b in ends)
    plan = Plan(steps=steps, settings=RunSettings(threads=1), inputs=ends[0][:1], outputs=ends[1][1:])
    one, two = (Adder(a, b, spoils=t.mutates_inputs) for (a, b), t in zip(ends, (first, second), strict=True))
    return Executor(plan, (one, two), (first, second)), one, two


def feeds(value: float) -> dict[str, np.ndarray]:
    return {"x": np.full((2, 3), value, np.float32)}


@pytest.mark.parametrize("traits", [FIXED, FOLLOWS, SPOILS])
def test_each_run_sees_its_own_feeds_and_leaves_them_whole(traits: Traits) -> None:
    runner, _, _ = executor(traits, traits)
    for value in (1.0, 5.0, 1.0):
        given = feeds(value)
        assert (runner.run(given)["y"] == value + 2).all()
        assert (given["x"] == value).all()


def test_an_engine_that_follows_reads_the_callers_memory() -> None:
    runner, one, two = executor(FOLLOWS, FIXED)
    given = feeds(3.0)
    runner.run(given)
    assert one.read_from == [given["x"].ctypes.data]
    assert two.read_from != one.read_from


@pytest.mark.parametrize("traits", [FIXED, FOLLOWS, SPOILS])
def test_an_array_that_is_given_again_is_read_again(traits: Traits) -> None:
    runner, _, _ = executor(traits, traits)
    given = feeds(1.0)
    for value in (1.0, 5.0, 2.0):
        given["x"][...] = value
        assert (runner.run(given)["y"] == value + 2).all()


def test_an_array_that_was_reshaped_meanwhile_is_refused() -> None:
    runner, one, _ = executor(FOLLOWS, FOLLOWS)
    given = feeds(1.0)
    runner.run(given)
    given["x"].shape = (3, 2)
    with pytest.raises(FeedError, match="shape"):
        runner.run(given)
    assert len(one.read_from) == 1


def _resized(array: np.ndarray) -> None:
    array.resize((4096, 256), refcheck=False)
    array[...] = 7
    array.resize((2, 3), refcheck=False)
    array[...] = 7


def _turned(array: np.ndarray) -> None:
    with warnings.catch_warnings(action="ignore"):  # numpy 2.4 deprecates what a script may do still
        array.strides = (4, 8)  # of an array of (2, 3): each row is a column now


def _of_integers(array: np.ndarray) -> None:
    array.dtype = np.int32  # type: ignore[misc, assignment]


def _of_the_other_order(array: np.ndarray) -> None:
    array.dtype = np.dtype(np.float32).newbyteorder()  # type: ignore[misc]


def _flat(array: np.ndarray) -> None:
    array.shape = (6,)


IN_PLACE = [_resized, _turned, _of_integers, _of_the_other_order, _flat]


@pytest.mark.parametrize("change", IN_PLACE)
@pytest.mark.parametrize("traits", [FIXED, FOLLOWS, SPOILS])
def test_an_array_that_was_changed_in_place_meanwhile_is_read_as_it_is_or_refused(
    traits: Traits, change: Callable[[np.ndarray], None]
) -> None:
    runner, _, _ = executor(traits, traits)
    array = np.arange(6, dtype=np.float32).reshape(2, 3).copy()
    runner.run({"x": array})
    change(array)
    if array.dtype == np.float32 and array.shape == (2, 3):
        for _ in range(2):
            assert runner.run({"x": array})["y"].tolist() == (array + 2).tolist()
    else:
        with pytest.raises(FeedError):
            runner.run({"x": array})
    assert (runner.run(feeds(1.0))["y"] == 3).all()


def test_an_engine_that_binds_by_identity_is_handed_an_array_whose_memory_moved_as_another() -> None:
    runner, one, _ = executor(FOLLOWS, FOLLOWS)
    array, other = np.zeros((2, 3), np.float32), np.ones((2, 3), np.float32)
    seen: list[np.ndarray] = []
    for given in (array, other, array):
        if given is array and seen:
            _resized(array)
        runner.run({"x": given})
        seen.append(runner.value("x"))
        assert seen[-1].ctypes.data == given.ctypes.data == one.read_from[-1]
    runner.run({"x": array})
    before, seen = array.ctypes.data, [runner.value("x")]
    _resized(array)
    runner.run({"x": array})
    assert (runner.value("x") is seen[-1]) is (array.ctypes.data == before)


def test_an_array_with_gaps_is_copied() -> None:
    runner, one, _ = executor(FOLLOWS, FIXED)
    given = {"x": np.full((2, 6), 3, np.float32)[:, ::2]}
    assert (runner.run(given)["y"] == 5).all()
    assert one.read_from != [given["x"].ctypes.data]


def test_feeding_by_copy_after_a_run_uses_the_copy() -> None:
    runner, _, _ = executor(FOLLOWS, FIXED)
    runner.run(feeds(1.0))
    given = feeds(7.0)
    runner.feed(given)
    given["x"][...] = 0
    runner.call()
    assert (runner.results()["y"] == 9).all()


def test_results_belong_to_the_caller() -> None:
    runner, _, _ = executor(FOLLOWS, FOLLOWS)
    before = runner.run(feeds(1.0))["y"]
    runner.run(feeds(2.0))
    assert (before == 3).all()


WIDE = [Signature(name=name, dtype="float32", shape=(128, 256)) for name in ("x", "h", "y")]


@pytest.mark.parametrize(("traits", "is_shared"), [(FOLLOWS, True), (FIXED, False)])
def test_a_large_result_stays_where_an_engine_that_follows_wrote_it(traits: Traits, is_shared: bool) -> None:
    runner, _, _ = executor(FOLLOWS, traits, [(WIDE[0], WIDE[1]), (WIDE[1], WIDE[2])])
    one, two = (np.full((128, 256), value, np.float32) for value in (1, 2))
    first = runner.run({"x": one})["y"]
    assert np.shares_memory(first, runner.value("y")) is is_shared
    runner.feed({"x": two})
    runner.call()
    second = runner.run({"x": first})["y"]
    assert [array[0, 0] for array in (first, runner.results()["y"], second)] == [3, 5, 5]


def test_a_wrong_feed_reaches_no_engine() -> None:
    runner, one, _ = executor(FOLLOWS, FOLLOWS)
    with pytest.raises(FeedError, match=r"was given the shape \[3\]"):
        runner.run({"x": np.zeros(3, np.float32)})
    assert not one.read_from


DOORS: Mapping[str, Callable[[Executor], object]] = {
    "run": lambda runner: runner.run(feeds(1.0)),
    "feed": lambda runner: runner.feed(feeds(1.0)),
    "call": lambda runner: runner.call(),
    "call_steps": lambda runner: runner.call_steps(0, 1),
    "timed_call": lambda runner: runner.timed_call(),
    "timed_run": lambda runner: runner.timed_run(feeds(1.0)),
    "timed_transfers": lambda runner: runner.timed_transfers(),
    "trace": lambda runner: list(runner.trace()),
    "results": lambda runner: runner.results(),
    "value": lambda runner: runner.value("x"),
}


@pytest.mark.parametrize("input_spec", DOORS)
def test_every_door_of_a_closed_plan_says_so(input_spec: str) -> None:
    runner, one, two = executor(FOLLOWS, FIXED)
    DOORS[input_spec](runner)
    runner.close()
    runner.close()
    assert one.closed == two.closed == 1
    with pytest.raises(ClosedError, match="the model was closed; load it again"):
        DOORS[input_spec](runner)


def test_results_outlive_the_plan() -> None:
    runner, _, _ = executor(FOLLOWS, FOLLOWS, [(WIDE[0], WIDE[1]), (WIDE[1], WIDE[2])])
    result = runner.run({"x": np.ones((128, 256), np.float32)})["y"]
    runner.close()
    del runner
    assert (result == 3).all()


def test_a_plan_that_nobody_holds_frees_its_engines() -> None:
    runner, one, _ = executor(FOLLOWS, FIXED)
    runner.run(feeds(1.0))
    del runner
    gc.collect()
    assert one.closed == 1
