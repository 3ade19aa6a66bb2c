"""The ``graph`` executor: bound calls in order, on buffers that were planned once.

A step writes where the next one reads, reads a feed where the caller has it, and leaves a large result where the caller
gets it. The only copies are small results, the feeds and results of engines that keep to one address, a private
input for an engine that overwrites its inputs, and the transfers to devices with memory of their own and back.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from intarsia.backends.base import BoundCall, Executable, Port, Slot, Traits
from intarsia.backends.buffers import Need, allocate
from intarsia.errors import FeedError, LoadError
from intarsia.runtime.dtypes import numpy_dtype
from intarsia.runtime.feeds import check_feeds
from intarsia.runtime.outlet import LARGE_BYTES, Outlet
from intarsia.runtime.plan import Plan, Step
from intarsia.runtime.residents import Residents
from intarsia.runtime.sections import moments

Storage = np.ndarray | Slot


class _Given(NamedTuple):
    """A feed as it was taken: ``place`` is where it was copied to, ``None`` where it is read in the caller's memory."""

    name: str
    array: np.ndarray
    shape: tuple[int, ...]
    place: np.ndarray | None


class Executor:
    """Runs one plan. ``run`` may be called from several threads; calls take turns."""

    def __init__(self, plan: Plan, executables: Sequence[Executable], traits: Sequence[Traits]) -> None:
        self.plan = plan
        self._executables = tuple(executables)
        self._lock = threading.Lock()
        self._outlets = _outlets(plan, traits)
        shared = any(trait.runs_elsewhere for trait in traits)
        self._storage = {**_allocate(plan, self._outlets, shared=shared), **self._outlets}
        self._feeds = _followed(plan, traits, self._storage)
        self._last: tuple[_Given, ...] = ()
        self._residents = Residents(plan, executables, traits)
        self._calls: list[BoundCall] = []
        self._step_calls: list[tuple[BoundCall, ...]] = []
        host = {**self._storage, **self._feeds}
        for place, (executable, trait) in enumerate(zip(executables, traits, strict=True)):
            before, behind = self._residents.transfers(place, host)
            calls = (*before, *self._bind(place, executable, trait), *behind)
            self._step_calls.append(calls)
            self._calls.extend(calls)

    def run(self, feeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Results for these feeds, as arrays of their own.

        Raises:
            FeedError: A feed is missing, unknown, or of another dtype or shape.
            ExecutionError: An engine failed.
        """
        with self._lock:
            self._renew()
            if not self._takes_again(feeds):
                self._take(feeds if self._fit(feeds) else check_feeds(self.plan.inputs, feeds))
            self.call()
            return {value.name: self._handed_out(value.name) for value in self.plan.outputs}

    def feed(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Copy checked arrays into the plan's input buffers."""
        self._renew()
        self._last = ()
        for name, array in arrays.items():
            self._fill(name, array)

    def call(self) -> None:
        """Run all steps once on what the buffers hold."""
        for call in self._calls:
            call()

    def call_steps(self, start: int, end: int) -> None:
        """Run the steps from one place up to another, once."""
        for calls in self._step_calls[start:end]:
            for call in calls:
                call()

    def timed_call(self) -> list[int]:
        """Run all steps once; the nanoseconds of each, which add up to those of the call."""
        spent = []
        before = time.perf_counter_ns()
        for calls in self._step_calls:
            for call in calls:
                call()
            after = time.perf_counter_ns()
            spent.append(after - before)
            before = after
        return spent

    @property
    def transfer_count(self) -> int:
        """How many calls bring values to devices and back, beside what engines do inside their own."""
        return len(self._residents.calls)

    def timed_transfers(self) -> list[int]:
        """Run all steps once, one after the other; the nanoseconds of each transfer that is not inside a call."""
        spent = []
        for call in self._calls:
            before = time.perf_counter_ns()
            call()
            if call in self._residents.calls:
                spent.append(time.perf_counter_ns() - before)
        return spent

    def trace(self) -> Iterator[tuple[Step, dict[str, np.ndarray]]]:
        """Run step by step; after each, copies of what it wrote, before a later step may reuse the memory."""
        for place, (step, calls) in enumerate(zip(self.plan.steps, self._step_calls, strict=True)):
            for call in (*calls, *self._residents.left_there(place, self._storage)):
                call()
            yield step, {value.name: np.array(self.value(value.name)) for value in step.outputs}

    def results(self) -> dict[str, np.ndarray]:
        """Copies of the outputs of the last run."""
        return {value.name: np.array(self.value(value.name)) for value in self.plan.outputs}

    def value(self, name: str) -> np.ndarray:
        """The buffer of an input or output after a run; a border inside the plan may already be overwritten."""
        storage = self._feeds.get(name, self._storage[name])
        array = storage.array if isinstance(storage, Slot) else storage
        if array is None:
            raise FeedError(f"{name} holds no value before the first run")
        return array

    def close(self) -> None:
        """Free what the engines hold. Calling it twice is fine."""
        for executable in self._executables:
            executable.close()

    def _fill(self, name: str, array: np.ndarray) -> None:
        """Copy an array into the plan's buffer of an input."""
        target = self._storage[name]
        if isinstance(target, Slot):
            target.array = array
        else:
            np.copyto(target, array)
            if name in self._feeds:
                self._feeds[name].array = target

    def _handed_out(self, name: str) -> np.ndarray:
        outlet = self._outlets.get(name)
        return np.array(self.value(name)) if outlet is None else outlet.hand_out()

    def _renew(self) -> None:
        for outlet in self._outlets.values():
            outlet.renew()

    def _take(self, arrays: Mapping[str, np.ndarray]) -> None:
        """As ``feed``, but an array that engines can follow stays where it is, and alive until the next run."""
        self._last = ()
        given = []
        for name, array in arrays.items():
            place = self._storage[name]
            if name in self._feeds and array.flags.c_contiguous and array.flags.aligned:
                self._feeds[name].array = array
                given.append(_Given(name, array, array.shape, None))
            else:
                self._fill(name, array)
                if not isinstance(place, Slot):
                    given.append(_Given(name, array, array.shape, place))
        self._last = tuple(given) if len(given) == len(arrays) else ()

    def _takes_again(self, feeds: Mapping[str, np.ndarray]) -> bool:
        """Take the very arrays of the last run, whose checks still hold, if it is them.

        Behind an engine's work Python's own code is out of the caches, so each line here costs, not each instruction.
        """
        if len(feeds) != len(self._last) or not feeds:
            return False
        for name, array, shape, _ in self._last:
            if feeds.get(name) is not array or array.shape != shape:
                return False
        for _, array, _, place in self._last:
            if place is not None:
                np.copyto(place, array)
        return True

    def _fit(self, feeds: Mapping[str, np.ndarray]) -> bool:
        """Whether these are the inputs' arrays exactly: the common case, told in a microsecond."""
        if len(feeds) != len(self.plan.inputs):
            return False
        for value in self.plan.inputs:
            given, place = feeds.get(value.name), self._storage[value.name]
            if given.__class__ is not np.ndarray or place.__class__ is not np.ndarray:
                return False
            if given.dtype != place.dtype or given.shape != place.shape:
                return False
        return True

    def _bind(self, place: int, executable: Executable, traits: Traits) -> tuple[BoundCall, ...]:
        step = self.plan.steps[place]
        check_borders(step, executable)
        reads = {value.name: self._feeds.get(value.name, self._storage[value.name]) for value in step.inputs}
        reads |= self._residents.read(place)
        writes = {value.name: self._storage[value.name] for value in step.outputs}
        copies: list[BoundCall] = []
        if traits.mutates_inputs:
            arrays = {name: array for name, array in reads.items() if isinstance(array, np.ndarray)}
            needs = [_need(name, array) for name, array in arrays.items()]
            own = allocate(needs, shared=traits.runs_elsewhere)
            copies = [partial(np.copyto, own[name], array) for name, array in arrays.items()]
            reads |= own
        return (*copies, executable.bind(reads, writes | self._residents.written(place)))


def check_borders(step: Step, executable: Executable) -> None:
    """Hold what was loaded to the borders that memory is laid out by.

    Raises:
        LoadError: It reads or writes something else.
    """
    for does, here, there in (
        ("reads", executable.inputs, step.inputs),
        ("writes", executable.outputs, step.outputs),
    ):
        known = {value.name: value for value in there}
        for value in here:
            if known.get(value.name) != value:
                what = f"{value.name!r} as {value.dtype} {value.shape}"
                raise LoadError(step.target.kind.name, f"it {does} {what}, and the plan has no such value there")


def _followed(plan: Plan, traits: Sequence[Traits], storage: Mapping[str, Storage]) -> dict[str, Port]:
    """The inputs whose readers all follow a feed, each with a feed that holds the plan's own buffer."""
    fixed = _fixed(plan, traits)
    followed = {}
    for value in plan.inputs:
        place = storage[value.name]
        if value.name not in fixed and isinstance(place, np.ndarray) and not place.dtype.hasobject:
            followed[value.name] = Port(place)
    return followed


def _outlets(plan: Plan, traits: Sequence[Traits]) -> dict[str, Outlet]:
    """The large outputs whose writer and readers all follow a port."""
    written = {value.name for step in plan.steps for value in step.outputs}
    fixed = _fixed(plan, traits)
    found = {}
    for value in plan.outputs:
        if value.shape is None or value.name not in written - fixed:
            continue
        need = Need(name=value.name, dtype=numpy_dtype(value.dtype), shape=value.shape, first=0, last=0)
        if need.nbytes >= LARGE_BYTES and not need.dtype.hasobject:
            found[value.name] = Outlet(need)
    return found


def _fixed(plan: Plan, traits: Sequence[Traits]) -> set[str]:
    """Values that are read or written by an engine that keeps to one address."""
    return {
        value.name
        for step, trait in zip(plan.steps, traits, strict=True)
        for value in (*step.inputs, *step.outputs)
        if not trait.follows_ports or (trait.mutates_inputs and value in step.inputs)
    }


def _need(name: str, array: np.ndarray) -> Need:
    return Need(name=name, dtype=array.dtype, shape=array.shape, first=0, last=0)


def _allocate(plan: Plan, outlets: Collection[str], *, shared: bool) -> dict[str, Storage]:
    """Storage for every value that crosses a border, alive from the step that writes it to the last that reads it.

    The outlets have their own. Steps that may run at one time are one moment, so their values share no memory.
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
        if name in outlets:
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
