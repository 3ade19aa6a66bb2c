"""Each rounding stage by itself: what an engine rounded, held against what it was given to round.

An error bound at the outputs is as wide as the model's rounding makes it, and small faults hide below it. So an engine
is asked once for what each quantiser made (`exposing`), and the reference computes what that quantiser was given *from
the engine's own results before it* (`Judge`). Between the two there is room for half a step and a little more.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from intarsia.graph.reference.perturb import Compute, Feeds, Jitter, spread, step_sizes
from intarsia.graph.reference.rounding import Rounding, quantisers, rounding

if TYPE_CHECKING:
    from intarsia.graph.graph import Graph
    from intarsia.graph.parts import Node

SLACK = 0.1
"""Steps beyond half of one that an engine may be off: it sums in another order, and multiplies by 1 / scale."""
FEW = 0.02
"""Share of the results that may be a step off where an operator rounds inside, and what it rounded is not told."""
SAME_SCALE = 1e-3
"""Relative difference of a scale that an engine takes from the data."""
NOISES = 1.5
"""How many times the error that 8 bits in one factor explain a product with weights of few bits may have."""
_STAGES = "has stages"
FP32_NOISE = 1e-5
NARROW_ULPS = 2.0
"""Units in the last place that what is quantised may be off where it has 16 bits: engines round it in other places."""
_BY_TABLE = frozenset({"Softmax", "LogSoftmax"})
"""Operators that engines join with the quantiser behind them into one kernel that cuts where it should round
(onnxruntime 1.31: QLinearSoftmax, up to 0.97 steps): there a whole step is possible."""
_MOST_SIZE = 1 << 26
"""Elements that exposed values may have together; an engine is asked for the first so many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A stage that rounds wrongly: how far off its worst result is, in words, and what share of them is too far off."""

    node: str
    op_type: str
    error: str
    share: float

    def __str__(self) -> str:
        return f"{self.op_type} {self.node} rounds wrongly: {self.error}, on {self.share:.0%} of its results"


def has_stages(graph: Graph) -> bool:
    """Whether there is a stage that can be checked."""
    if _STAGES not in graph.memo:
        graph.memo[_STAGES] = any(True for _ in _stages(graph))
    return bool(graph.memo[_STAGES])


def checked_values(graph: Graph) -> tuple[str, ...]:
    """What an engine is asked for: the results of each stage that can be checked."""
    names: list[str] = []
    size = 0
    for node in _stages(graph):
        for name in filter(None, node.outputs):
            size += int(np.prod(graph.values[name].shape or (1,)))
            names.append(name)
        if size > _MOST_SIZE:
            break
    return tuple(names)


def exposing(graph: Graph, names: Collection[str]) -> Graph:
    """The same graph with further values among its outputs."""
    more = [name for name in names if name not in graph.outputs]
    values = {**graph.values, **{name: replace(graph.values[name], is_output=True) for name in more}}
    return replace(graph, outputs=(*graph.outputs, *more), values=MappingProxyType(values), memo={})


class Judge:
    """Stands between the evaluator and a node: answers what the engine answered, and keeps the faults that it finds."""

    def __init__(self, graph: Graph, answers: Mapping[str, np.ndarray]) -> None:
        self._graph = graph
        self._answers = answers
        self._stages = {node.id for node in _stages(graph)}
        self.faults: list[Fault] = []

    def __call__(self, node: Node, feeds: Feeds, compute: Compute) -> Sequence[np.ndarray]:
        """What the engine made of the node, if it is a stage whose results are known."""
        names = [name for name in node.outputs if name]
        if node.id not in self._stages or not all(name in self._answers for name in names):
            return compute(feeds)
        made = [np.asarray(self._answers[name]) if name else np.empty(0) for name in node.outputs]
        fault = self._fault(node, feeds, made, compute)
        if fault is not None:
            self.faults.append(fault)
        return made

    def _fault(self, node: Node, feeds: Feeds, made: Sequence[np.ndarray], compute: Compute) -> Fault | None:
        match rounding(node, self._graph):
            case Rounding.QUANTISE:
                zero = feeds[node.inputs[2]] if len(node.inputs) > 2 and node.inputs[2] else np.zeros((), made[0].dtype)
                sizes, zeros = step_sizes(node, feeds), spread(node, made[0].shape, zero)
                return _of_steps(node, feeds, made[0], sizes, zeros, 1.0 if self._is_by_table(node) else 0.5)
            case Rounding.DYNAMIC:
                return _of_dynamic(node, feeds, made, compute(feeds))
            case Rounding.LOW_BITS:
                right = compute(feeds)
                others = [Jitter(self._graph, seed)(node, feeds, compute) for seed in range(2)]
                return _of_noise(node, made[0], right[0], [other[0] for other in others])
            case _:
                return _of_whole(node, made[0], compute(feeds)[0])

    def _is_by_table(self, node: Node) -> bool:
        producer = self._graph.values[node.inputs[0]].producer
        return producer is not None and self._graph.nodes[producer].op_type in _BY_TABLE


def _stages(graph: Graph) -> Iterator[Node]:
    known = {node.id for node in quantisers(graph)}
    for node in graph.nodes:
        if node.id not in known and rounding(node, graph) is not Rounding.LOW_BITS:
            continue
        if all(graph.values[name].shape is not None for name in node.outputs if name):
            yield node


def _of_steps(
    node: Node, feeds: Feeds, made: np.ndarray, sizes: np.ndarray, zero: np.ndarray, possible: float
) -> Fault | None:
    """A quantiser whose scale is stated: no result is further than half a step from what was rounded."""
    with np.errstate(all="ignore"):
        wanted = feeds[node.inputs[0]].astype(np.float64) / sizes + zero
    if made.shape != wanted.shape:
        return _fault(node, "its shape is another")
    finite = np.isfinite(wanted)
    if made.dtype.kind in "iu":
        ends = np.iinfo(made.dtype)
        low, high = float(ends.min), float(ends.max)
    else:
        bits = int(made.dtype.name.lstrip("uint") or 0)
        if not bits:  # quantised to floats of 8 bits: their steps are not even
            return None
        low = 0.0 if made.dtype.name.startswith("u") else -(2.0 ** (bits - 1))
        high = low + 2.0**bits - 1
    right = np.clip(wanted, low, high)[finite]
    off = np.abs(right - made.astype(np.float64)[finite])
    allowed = possible + SLACK + FP32_NOISE * float(np.abs(right).max(initial=0.0))
    narrow = _unit(feeds[node.inputs[0]].dtype) * np.abs(wanted - zero)[finite]
    return _judged(node, off, off > allowed + NARROW_ULPS * narrow, allowed)


def _unit(dtype: np.dtype[Any]) -> float:
    """Relative unit in the last place of a float of 16 bits; 0 for wider ones."""
    return float(ml_dtypes.finfo(dtype).eps) if dtype.itemsize == 2 else 0.0  # type: ignore[no-untyped-call]


def _of_dynamic(node: Node, feeds: Feeds, made: Sequence[np.ndarray], right: Sequence[np.ndarray]) -> Fault | None:
    """One whose scale follows from the data: the scale is the same, and results agree with the engine's own scale."""
    scale, zero = float(made[1]), float(made[2])
    if abs(scale - float(right[1])) > SAME_SCALE * abs(float(right[1])):
        return _fault(node, f"its scale is {scale:.4g}, not {right[1]:.4g}")
    if abs(zero - float(right[2])) > 1.0:
        return _fault(node, f"its zero point is {zero:g}, not {right[2]}")
    wanted = np.clip(feeds[node.inputs[0]].astype(np.float64) / (scale or 1.0) + zero, 0.0, 255.0)
    off = np.abs(wanted - made[0].astype(np.float64))
    allowed = 0.5 + SLACK + FP32_NOISE * 255.0
    return _judged(node, off, off > allowed, allowed)


def _of_whole(node: Node, made: np.ndarray, right: np.ndarray) -> Fault | None:
    """An operator that rounds inside: no result is more than a step off, and few are."""
    if made.shape != right.shape:
        return _fault(node, "its shape is another")
    off = np.abs(made.astype(np.float64) - right.astype(np.float64))
    wrong = off > 1.0
    if not wrong.any() and float(np.mean(off > 0.0)) <= FEW + 2.0 / max(1, off.size):
        return None
    return _judged(node, off, off > 0.0, 1.0)


def _of_noise(node: Node, made: np.ndarray, right: np.ndarray, others: Sequence[np.ndarray]) -> Fault | None:
    """A product with weights of few bits: no further off than 8 bits in the other factor explain."""
    if made.shape != right.shape:
        return _fault(node, "its shape is another")
    wide = right.astype(np.float64)
    length = float(np.linalg.norm(wide)) or 1.0
    explained = max(float(np.linalg.norm(other.astype(np.float64) - wide)) for other in others) / length
    error = float(np.linalg.norm(made.astype(np.float64) - wide)) / length
    allowed = max(NOISES * explained, 1e-3)
    if error <= allowed:
        return None
    return _fault(node, f"its error is {error:.2g} of its length, 8 bits explain {allowed:.2g}")


def _judged(node: Node, off: np.ndarray, wrong: np.ndarray, allowed: float) -> Fault | None:
    if not wrong.any():
        return None
    error = f"up to {float(off.max()):.2g} steps from what it was given, {allowed:.2g} are possible"
    return _fault(node, error, float(np.mean(wrong)))


def _fault(node: Node, error: str, share: float = 1.0) -> Fault:
    return Fault(node=node.id, op_type=node.op_type, error=error, share=share)
