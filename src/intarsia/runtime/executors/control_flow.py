"""Runs ``If``, ``Loop`` and ``Scan`` by what their operators say; each body is a plan with an executor of its own.

Sizes and the number of rounds are what they are at each call: nothing here is bound to an address.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from intarsia.backends.contract import BoundCall, Executable, Slot, array_at, guarded, is_late
from intarsia.errors import ExecutionError, LoadError
from intarsia.runtime.dtypes import numpy_dtype
from intarsia.target.kinds.catalogue import CONTROL_FLOW

if TYPE_CHECKING:
    from intarsia.backends.contract.slots import Arrays, Places
    from intarsia.runtime.executors.executor import Executor

Values = dict[str, np.ndarray]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnableBody:
    """A body that can be run.

    Attributes:
        inputs: Names of its own inputs, by place.
        captured: Names that it takes from around it.
        outputs: Names by place, and element type and dimensions of each; 0 for a dimension that nobody knows.
    """

    executor: Executor
    inputs: tuple[str, ...]
    captured: tuple[str, ...]
    outputs: tuple[tuple[str, str, tuple[int, ...]], ...]

    def run(self, own: Sequence[np.ndarray], around: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        """The outputs by place, as arrays of their own."""
        feeds = dict(zip(self.inputs, own, strict=True))
        feeds.update((name, around[name]) for name in self.captured)
        results = self.executor.run(feeds)
        return [results[name] for name, _, _ in self.outputs]

    def nothing(self, place: int, axis: int = 0) -> np.ndarray:
        """What is stacked of an output where there was no round."""
        _, dtype, dims = self.outputs[place]
        at = axis % (len(dims) + 1)
        return np.empty((*dims[:at], 0, *dims[at:]), numpy_dtype(dtype))


class FlowNode(ABC):
    """One node: which values it reads and computes."""

    def __init__(self, facts: Mapping[str, Any], bodies: Mapping[str, RunnableBody]) -> None:
        self.inputs: tuple[str, ...] = tuple(facts["inputs"])
        self.outputs: tuple[str, ...] = tuple(facts["outputs"])
        self.bodies = bodies

    @property
    def captured(self) -> set[str]:
        """Values that its bodies take from around it."""
        return {name for body in self.bodies.values() for name in body.captured}

    def run(self, values: Values) -> None:
        """Add what it computes to the values."""
        for name, array in zip(self.outputs, self._results(values), strict=True):
            if name:
                values[name] = array

    @abstractmethod
    def _results(self, values: Values) -> Sequence[np.ndarray]:
        """The outputs by place."""


class IfNode(FlowNode):
    """Runs one of two bodies."""

    def _results(self, values: Values) -> Sequence[np.ndarray]:
        holds = bool(values[self.inputs[0]].item())
        return self.bodies["then_branch" if holds else "else_branch"].run((), values)


class LoopNode(FlowNode):
    """Runs its body until it has run often enough, or says that it is over."""

    def _results(self, values: Values) -> Sequence[np.ndarray]:
        most, first, *names = self.inputs
        body, rounds = self.bodies["body"], 0
        limit = int(values[most].item()) if most else None
        goes_on = values[first] if first else np.array(True)
        states = [values[name] for name in names]
        stacks: list[list[np.ndarray]] = [[] for _ in body.outputs[1 + len(states) :]]
        while (limit is None or rounds < limit) and goes_on.item():
            goes_on, *made = body.run((np.array(rounds, np.int64), goes_on.reshape(()), *states), values)
            states = made[: len(states)]
            for stack, array in zip(stacks, made[len(states) :], strict=True):
                stack.append(array)
            rounds += 1
        return (*states, *(_stacked(body, 1 + len(states) + place, stack) for place, stack in enumerate(stacks)))


class ScanNode(FlowNode):
    """Runs its body on one slice after another."""

    def __init__(self, facts: Mapping[str, Any], bodies: Mapping[str, RunnableBody]) -> None:
        super().__init__(facts, bodies)
        self._axes, self._backwards = facts["axes"], facts["backwards"]
        self._output_axes, self._output_backwards = facts["output_axes"], facts["output_backwards"]

    def _results(self, values: Values) -> Sequence[np.ndarray]:
        body, count = self.bodies["body"], len(self.inputs) - len(self._axes)
        states = [values[name] for name in self.inputs[:count]]
        rows = [
            np.moveaxis(values[name], axis, 0)[:: -1 if backwards else 1]
            for name, axis, backwards in zip(self.inputs[count:], self._axes, self._backwards, strict=True)
        ]
        lengths = {len(row) for row in rows}
        if len(lengths) != 1:
            raise ValueError(f"the lengths along the axes that it scans differ: {sorted(lengths)}")
        stacks: list[list[np.ndarray]] = [[] for _ in self._output_axes]
        for place in range(lengths.pop()):
            slices = (np.ascontiguousarray(row[place]).reshape(row.shape[1:]) for row in rows)
            made = body.run((*states, *slices), values)
            states = made[:count]
            for stack, array in zip(stacks, made[count:], strict=True):
                stack.append(array)
        for stack, backwards in zip(stacks, self._output_backwards, strict=True):
            if backwards:
                stack.reverse()
        places = enumerate(zip(stacks, self._output_axes, strict=True), start=count)
        return (*states, *(_stacked(body, place, stack, axis) for place, (stack, axis) in places))


def _stacked(body: RunnableBody, place: int, rows: Sequence[np.ndarray], axis: int = 0) -> np.ndarray:
    return np.stack(rows, axis) if rows else body.nothing(place, axis)


_NODES: Mapping[str, type[FlowNode]] = {"If": IfNode, "Loop": LoopNode, "Scan": ScanNode}


class ControlFlowExecutable(Executable):
    """Runs the nodes of a step in order."""

    def __init__(self, meta: Mapping[str, Any], bodies: Mapping[tuple[str, str], Executor], weights: Arrays) -> None:
        """Put the nodes together; a `LoadError` where what is known of them does not fit."""
        super().__init__(meta)
        self._executors = tuple(bodies.values())
        self._weights = dict(weights)
        known = {*self._weights, *(value.name for value in self.inputs)}
        self._nodes: tuple[FlowNode, ...] = ()
        for facts in meta["nodes"]:
            node = _node(facts, bodies)
            lacking = {*filter(None, node.inputs), *node.captured} - known
            if lacking:
                raise LoadError(CONTROL_FLOW, f"nothing before it makes {sorted(lacking)[0]!r}")
            known.update(node.outputs)
            self._nodes = (*self._nodes, node)
        if missing := {value.name for value in self.outputs} - known:
            raise LoadError(CONTROL_FLOW, f"no node of it makes {sorted(missing)[0]!r}")

    def bind(self, inputs: Places, outputs: Places) -> BoundCall:
        """A call that looks at each input and fills each output where it is at that time."""

        def call() -> None:
            values: Values = dict(self._weights)
            values.update((name, array_at(place)) for name, place in inputs.items())
            around = {id(array) for array in values.values()}
            for node in self._nodes:
                node.run(values)
            for name, place in outputs.items():
                result = values[name]
                # The state of a loop without a round is what it began with, whose memory is soon another value's.
                _put(name, result.copy() if id(result) in around else result, place)

        return guarded(call, CONTROL_FLOW)

    def close(self) -> None:
        """Free what the engines inside hold."""
        for executor in self._executors:
            executor.close()
        self._weights.clear()


def _put(name: str, result: np.ndarray, place: np.ndarray | Slot) -> None:
    if isinstance(place, Slot) and is_late(place):
        place.array = result
        return
    target = array_at(place)
    if target.shape != result.shape or target.dtype != result.dtype:
        made, wanted = f"{result.dtype}{list(result.shape)}", f"{target.dtype}{list(target.shape)}"
        raise ExecutionError(CONTROL_FLOW, f"{name!r} came out as {made}, and the model says {wanted}")
    np.copyto(target, result)


def _node(facts: Mapping[str, Any], bodies: Mapping[tuple[str, str], Executor]) -> FlowNode:
    kind = _NODES.get(facts["op"])
    wanted = {"then_branch", "else_branch"} if kind is IfNode else {"body"}
    if kind is None or facts["bodies"].keys() != wanted:
        raise LoadError(CONTROL_FLOW, f"it does not know {facts['op']!r} with the bodies {sorted(facts['bodies'])}")
    found = {}
    for name, row in facts["bodies"].items():
        executor = bodies.get((facts["id"], name))
        if executor is None:
            raise LoadError(CONTROL_FLOW, f"{name!r} of {facts['id']!r} has no plan")
        found[name] = _body(row, executor)
    return kind(facts, found)


def _body(row: Mapping[str, Any], executor: Executor) -> RunnableBody:
    inputs, own = tuple(row["inputs"]), row["own"]
    outputs = tuple((name, dtype, tuple(dims or ())) for name, dtype, dims in row["outputs"])
    plan = executor.plan
    if {*inputs} != {each.name for each in plan.inputs} or {row[0] for row in outputs} != {
        each.name for each in plan.outputs
    }:
        raise LoadError(CONTROL_FLOW, "what it knows of a body is not what the plan of that body reads and writes")
    return RunnableBody(executor=executor, inputs=inputs[:own], captured=inputs[own:], outputs=outputs)
