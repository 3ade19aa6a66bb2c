"""The ``graph`` executor: bound calls in order, on buffers that were planned once.

A step writes where the next one reads, reads a feed where the caller has it, and leaves a large result where the caller
gets it. The only copies are small results, the feeds and results of engines that keep to one address, a private
input for an engine that overwrites its inputs, and the transfers to devices with memory of their own and back.
"""

from __future__ import annotations

import ctypes
import time
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from intarsia.backends.contract import BoundCall, Executable, Port, Slot, Traits
from intarsia.backends.contract.buffers import Need, allocate
from intarsia.errors import FeedError, LoadError
from intarsia.runtime.dtypes import numpy_dtype
from intarsia.runtime.executors.arrays import pointer_of
from intarsia.runtime.executors.device_values import DeviceValues
from intarsia.runtime.executors.feeds import check_feeds
from intarsia.runtime.executors.output_buffer import LARGE_BYTES, OutputBuffer
from intarsia.runtime.executors.parallel_levels import moments
from intarsia.runtime.executors.turns import BUSY, OPEN, Turns
from intarsia.runtime.plan import Plan, Step

if TYPE_CHECKING:
    from intarsia.runtime.executors.stream import Stream

Storage = np.ndarray | Slot


class _Feed(NamedTuple):
    """A feed as it was taken: the array, and as it was then what of it may be changed in place."""

    name: str
    array: np.ndarray
    pointer: ctypes.c_void_p
    """Tells where the array's memory is now."""
    address: int | None
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype
    place: np.ndarray | None
    """Where it was copied to, ``None`` where it is read in the caller's memory."""


class Executor:
    """Runs one plan. It may be called from several threads, and closed from any: calls take turns.

    Every call raises `ClosedError` once it was closed.
    """

    def __init__(
        self,
        plan: Plan,
        executables: Sequence[Executable],
        traits: Sequence[Traits],
        given: Mapping[str, Storage] | None = None,
    ) -> None:
        """Plan its buffers and bind to them; ``given`` is where inputs and outputs lie, if others decide that."""
        self.plan = plan
        self._turns = Turns()
        self._output_buffers = {} if given else _output_buffers(plan, traits)
        shared = any(trait.runs_elsewhere for trait in traits)
        placed = {**self._output_buffers, **(given or {})}
        self._storage = {**_allocate(plan, placed, shared=shared), **placed}
        self._feeds = {} if given else _followed(plan, traits, self._storage)
        self._last: tuple[_Feed, ...] = ()
        self._device_values = DeviceValues(plan, executables, traits)
        self._handed_out = [(value.name, self._result(value.name)) for value in plan.outputs]
        self._calls: list[BoundCall] = []
        self._step_calls: list[tuple[BoundCall, ...]] = []
        host = {**self._storage, **self._feeds}
        for place, (executable, trait) in enumerate(zip(executables, traits, strict=True)):
            before, behind = self._device_values.transfers(place, host)
            calls = (*before, *self._bind(place, executable, trait), *behind)
            self._step_calls.append(calls)
            self._calls.extend(calls)
        self._turns.owns(
            self._calls.clear,
            self._step_calls.clear,
            *(executable.close for executable in executables),
            self._handed_out.clear,
            self._storage.clear,
            self._feeds.clear,
        )
        weakref.finalize(self, self._turns.finish)

    def run(self, feeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Results for these feeds, as arrays of their own.

        Raises:
            FeedError: A feed is missing, unknown, or of another dtype or shape.
            ExecutionError: An engine failed.
        """
        turns = self._turns
        with turns.lock:  # `Turns.run`, written out: two calls fewer
            if turns.state or turns.is_barred:
                turns.admit()
            turns.state = BUSY
            try:
                if self._output_buffers:
                    self._renew()
                if not self._takes_again(feeds):
                    self._take(feeds if self._fit(feeds) else check_feeds(self.plan.inputs, feeds))
                self._call()
                results = {}
                for name, result in self._handed_out:
                    results[name] = np.array(self._value(name)) if result is None else result()
                return results
            finally:
                if turns.state == BUSY:
                    turns.state = OPEN
                else:
                    turns.done()

    def stream(self, feeds: Iterable[Mapping[str, np.ndarray]]) -> Stream:
        """Run once for each of a stream of requests, each when its result is asked for, on the thread that asks."""
        from intarsia.runtime.executors.stream import in_turn

        return in_turn(self.run, feeds)

    def timed_run(self, arrays: Mapping[str, np.ndarray]) -> tuple[dict[str, np.ndarray], list[int]]:
        """Results for these checked arrays, as arrays of their own, and the nanoseconds of each step."""
        return self._turns.run(partial(self._timed_run, arrays))

    def feed(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Copy checked arrays into the plan's input buffers."""
        self._turns.run(partial(self._feed, arrays))

    def call(self) -> None:
        """Run all steps once on what the buffers hold."""
        self._turns.run(self._call)

    def call_steps(self, start: int, end: int) -> None:
        """Run the steps from one place up to another, once."""
        self._turns.run(partial(self._call_steps, start, end))

    def timed_call(self) -> list[int]:
        """Run all steps once; the nanoseconds of each, which add up to those of the call."""
        return self._turns.run(self._timed_call)

    @property
    def transfer_count(self) -> int:
        """How many calls bring values to devices and back, beside what engines do inside their own."""
        return len(self._device_values.calls)

    def timed_transfers(self) -> list[int]:
        """Run all steps once, one after the other; the nanoseconds of each transfer that is not inside a call."""
        return self._turns.run(self._timed_transfers)

    def trace(self) -> Iterator[tuple[Step, dict[str, np.ndarray]]]:
        """Run step by step; after each, copies of what it wrote, before a later step may reuse the memory."""
        steps = self._trace()
        while (step := self._turns.run(partial(next, steps, None))) is not None:
            yield step

    def results(self) -> dict[str, np.ndarray]:
        """Copies of the outputs of the last run."""
        return self._turns.run(self._results)

    def value(self, name: str) -> np.ndarray:
        """The buffer of an input or output after a run; a border inside the plan may already be overwritten."""
        return self._turns.run(partial(self._value, name))

    def close(self) -> None:
        """Free what the engines hold, once no call runs. Calling it twice is fine, from any thread."""
        self._turns.close()
        self._last = ()

    def put_inside(self) -> None:
        """Be called by another executor from now on, in its turns."""
        self._turns.is_inside = True

    def finish(self) -> None:
        """Close at the end of the interpreter, see `Turns.finish`."""
        self._turns.finish()

    def _timed_run(self, arrays: Mapping[str, np.ndarray]) -> tuple[dict[str, np.ndarray], list[int]]:
        self._feed(arrays)
        spent = self._timed_call()
        return self._results(), spent

    def _feed(self, arrays: Mapping[str, np.ndarray]) -> None:
        self._renew()
        self._last = ()
        for name, array in arrays.items():
            self._fill(name, array)

    def _call(self) -> None:
        for call in self._calls:
            call()

    def _call_steps(self, start: int, end: int) -> None:
        for calls in self._step_calls[start:end]:
            for call in calls:
                call()

    def _timed_call(self) -> list[int]:
        spent = []
        before = time.perf_counter_ns()
        for calls in self._step_calls:
            for call in calls:
                call()
            after = time.perf_counter_ns()
            spent.append(after - before)
            before = after
        return spent

    def _timed_transfers(self) -> list[int]:
        spent = []
        for call in self._calls:
            before = time.perf_counter_ns()
            call()
            if call in self._device_values.calls:
                spent.append(time.perf_counter_ns() - before)
        return spent

    def _trace(self) -> Iterator[tuple[Step, dict[str, np.ndarray]]]:
        for place, (step, calls) in enumerate(zip(self.plan.steps, self._step_calls, strict=True)):
            for call in (*calls, *self._device_values.left_there(place, self._storage)):
                call()
            yield step, {value.name: np.array(self._value(value.name)) for value in step.outputs}

    def _results(self) -> dict[str, np.ndarray]:
        return {value.name: np.array(self._value(value.name)) for value in self.plan.outputs}

    def _value(self, name: str) -> np.ndarray:
        storage = self._feeds.get(name, self._storage[name])
        array = storage.array if isinstance(storage, Slot) else storage
        if array is None:
            raise FeedError(f"{name} holds no value before the first run")
        return array

    def _fill(self, name: str, array: np.ndarray) -> None:
        """Copy an array into the plan's buffer of an input."""
        target = self._storage[name]
        if isinstance(target, Slot):
            target.array = array
        else:
            np.copyto(target, array)
            if name in self._feeds:
                self._feeds[name].array = target

    def _result(self, name: str) -> Callable[[], np.ndarray] | None:
        """What gives the caller an array of his own, without code of Python where an engine writes to one array alone.

        ``None`` where that array may be another one each time.
        """
        output_buffer = self._output_buffers.get(name)
        if output_buffer is not None:
            return output_buffer.hand_out
        storage = self._storage.get(name)
        return storage.copy if isinstance(storage, np.ndarray) and name not in self._feeds else None

    def _renew(self) -> None:
        for output_buffer in self._output_buffers.values():
            output_buffer.renew()

    def _take(self, arrays: Mapping[str, np.ndarray]) -> None:
        """As ``feed``, but an array that engines can follow stays where it is, and alive until the next run."""
        self._last = ()
        kept = []
        for name, array in arrays.items():
            place = self._storage[name]
            if name in self._feeds and array.flags.c_contiguous and array.flags.aligned:
                port = self._feeds[name]
                # Engines bind anew when a port holds another array: the same one, changed in place, comes as a view.
                port.array = array.view() if array is port.array else array
                kept.append(_feed_of(name, array, None))
            else:
                self._fill(name, array)
                if not isinstance(place, Slot):
                    kept.append(_feed_of(name, array, place))
        self._last = tuple(kept) if len(kept) == len(arrays) else ()

    def _takes_again(self, feeds: Mapping[str, np.ndarray]) -> bool:
        """Take the very arrays of the last run, whose checks still hold, if it is them, not changed in place since.

        Behind an engine's work Python's own code is out of the caches, so each line here costs, not each instruction.
        """
        if len(feeds) != len(self._last) or not feeds:
            return False
        for name, array, pointer, address, shape, strides, dtype, _ in self._last:
            if feeds.get(name) is not array or pointer.value != address or array.dtype is not dtype:
                return False
            if array.shape != shape or array.strides != strides:
                return False
        for _, array, *_, place in self._last:
            if place is not None:
                np.copyto(place, array)
        return True

    def _fit(self, feeds: Mapping[str, np.ndarray]) -> bool:
        """Whether these are the inputs' arrays exactly: the common case, found out in a microsecond."""
        if len(feeds) != len(self.plan.inputs):
            return False
        for value in self.plan.inputs:
            feed, place = feeds.get(value.name), self._storage[value.name]
            if feed.__class__ is not np.ndarray or place.__class__ is not np.ndarray:
                return False
            if feed.dtype != place.dtype or feed.shape != place.shape:
                return False
        return True

    def _bind(self, place: int, executable: Executable, traits: Traits) -> tuple[BoundCall, ...]:
        step = self.plan.steps[place]
        check_borders(step, executable)
        reads = {value.name: self._feeds.get(value.name, self._storage[value.name]) for value in step.inputs}
        reads |= self._device_values.read(place)
        writes = {value.name: self._storage[value.name] for value in step.outputs}
        copies: list[BoundCall] = []
        if traits.mutates_inputs:
            arrays = {name: array for name, array in reads.items() if isinstance(array, np.ndarray)}
            needs = [Need(name=name, dtype=array.dtype, shape=array.shape) for name, array in arrays.items()]
            own = allocate(needs, shared=traits.runs_elsewhere)
            copies = [partial(np.copyto, own[name], array) for name, array in arrays.items()]
            reads |= own
        return (*copies, executable.bind(reads, writes | self._device_values.written(place)))


def check_borders(step: Step, executable: Executable) -> None:
    """Raise a `LoadError` if what was loaded reads or writes other borders than memory is laid out by."""
    for does, here, there in (("reads", executable.inputs, step.inputs), ("writes", executable.outputs, step.outputs)):
        for value in here:
            if value not in there:
                what = f"{value.name!r} as {value.dtype} {value.shape}"
                raise LoadError(step.target.kind.name, f"it {does} {what}, and the plan has no such value there")


def _feed_of(name: str, array: np.ndarray, place: np.ndarray | None) -> _Feed:
    pointer = pointer_of(array)
    return _Feed(name, array, pointer, pointer.value, array.shape, array.strides, array.dtype, place)


def _followed(plan: Plan, traits: Sequence[Traits], storage: Mapping[str, Storage]) -> dict[str, Port]:
    """The inputs whose readers all follow a feed, each with a feed that holds the plan's own buffer."""
    fixed = _fixed(plan, traits)
    places = {value.name: storage[value.name] for value in plan.inputs if value.name not in fixed}
    return {
        name: Port(place)
        for name, place in places.items()
        if isinstance(place, np.ndarray) and not place.dtype.hasobject
    }


def _output_buffers(plan: Plan, traits: Sequence[Traits]) -> dict[str, OutputBuffer]:
    """The large outputs whose writer and readers all follow a port."""
    written = {value.name for step in plan.steps for value in step.outputs}
    fixed = _fixed(plan, traits)
    found = {}
    for value in plan.outputs:
        if value.shape is None or value.name not in written - fixed:
            continue
        need = Need(name=value.name, dtype=numpy_dtype(value.dtype), shape=value.shape)
        if need.nbytes >= LARGE_BYTES and not need.dtype.hasobject:
            found[value.name] = OutputBuffer(need)
    return found


def _fixed(plan: Plan, traits: Sequence[Traits]) -> set[str]:
    """Values that are read or written by an engine that keeps to one address."""
    return {
        value.name
        for step, trait in zip(plan.steps, traits, strict=True)
        for value in (*step.inputs, *step.outputs)
        if not trait.follows_ports or (trait.mutates_inputs and value in step.inputs)
    }


def _allocate(plan: Plan, placed: Collection[str], *, shared: bool) -> dict[str, Storage]:
    """Storage for every value that crosses a border, alive from the step that writes it to the last that reads it.

    Those placed have their own. Steps that may run at one time are one moment, so their values share no memory.
    """
    times = moments(plan)
    end = len(plan.steps)
    values = {value.name: value for step in plan.steps for value in (*step.inputs, *step.outputs)}
    values |= {value.name: value for value in (*plan.inputs, *plan.outputs)}
    # Inputs stay whole for the length of the run, so that a bound run can be repeated without feeding again.
    first = {value.name: -1 for value in plan.inputs}
    last = {value.name: end for value in (*plan.inputs, *plan.outputs)}
    for index, step in zip(times, plan.steps, strict=True):
        for value in step.outputs:
            first[value.name] = index
            last.setdefault(value.name, index)
        for value in step.inputs:
            last[value.name] = max(last.get(value.name, index), index)
    storage: dict[str, Storage] = {}
    needs = []
    for name, value in values.items():
        if name in placed:
            continue
        if value.shape is None:
            storage[name] = Slot()
            continue
        dtype = numpy_dtype(value.dtype)
        if dtype.hasobject:  # strings: numpy holds them as objects, which no raw block can carry
            storage[name] = np.empty(value.shape, dtype)
        else:
            needs.append(Need(name=name, dtype=dtype, shape=value.shape, first=first[name], last=last[name]))
    return storage | dict(allocate(needs, shared=shared))
