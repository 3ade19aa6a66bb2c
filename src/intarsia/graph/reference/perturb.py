"""Rounding that falls the other way: what another right computation might have made of the same model.

A `Jitter` stands between the evaluator and a node. Before a quantiser it moves what is rounded by a small share of a
step, so that ties and what is close to one fall the other way. Results in half precision move by one unit in the last
place now and then. How far the model's results then move is what its own arithmetic leaves open.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from intarsia.graph.reference.rounding import SMALL, Rounding, is_dequantised, rounding

if TYPE_CHECKING:
    from intarsia.graph.graph import Graph
    from intarsia.graph.parts import Node

Feeds = Mapping[str, np.ndarray]
Compute = Callable[[Feeds], Sequence[np.ndarray]]

SHARE = 0.05
"""Of a step, by which what is rounded moves at most."""
FLIPS = 0.025
"""Share of the whole numbers that move by one where what was rounded is not told: as often as `SHARE` moves others."""
NUDGED = 0.25
"""Share of the results in half precision that move by one unit in the last place, half of them up."""
FP32_NOISE = 1e-6
_DYNAMIC_BLOCK = 32
"""Elements that share a scale where an engine quantises what it multiplies with weights in blocks."""


class Jitter:
    """Rounds a graph otherwise; the same seed rounds in the same way."""

    def __init__(self, graph: Graph, seed: int) -> None:
        self._graph = graph
        self._seed = seed

    def __call__(self, node: Node, feeds: Feeds, compute: Compute) -> Sequence[np.ndarray]:
        """The node's outputs, rounded in another way."""
        kind = rounding(node, self._graph)
        if kind is None:
            return compute(feeds)
        rng = np.random.default_rng([self._seed, node.index])
        match kind:
            case Rounding.QUANTISE:
                return compute(_moved(feeds, node.inputs[0], _shares_of_a_step(node, feeds, rng)))
            case Rounding.DYNAMIC:
                return compute(_moved(feeds, node.inputs[0], _within_range(feeds[node.inputs[0]], rng)))
            case Rounding.STEPS:
                return [_flipped(array, rng) for array in compute(feeds)]
            case Rounding.HALF:
                return [_nudged(array, rng) for array in compute(feeds)]
            case Rounding.LOW_BITS:
                return compute(self._as_if_quantised(node, feeds, rng))
            case Rounding.WHOLE | Rounding.CUT:
                return compute(_off_whole(feeds, node.inputs[0], SHARE if kind is Rounding.WHOLE else 0.0, rng))

    def _as_if_quantised(self, node: Node, feeds: Feeds, rng: np.random.Generator) -> Feeds:
        """With the factors that are no weights rounded to 8 bits, as engines may do there."""
        moved = feeds
        for name in node.inputs[: 1 if node.op_type == "MatMulNBits" else 2]:
            x = feeds[name]
            if x.dtype.kind != "f" or is_dequantised(self._graph, name):
                continue
            block = int(node.attributes.get("block_size", _DYNAMIC_BLOCK))
            moved = _moved(moved, name, _block_steps(x, block) * rng.uniform(-0.5, 0.5, x.shape))
        return moved


def _moved(feeds: Feeds, name: str, by: Any) -> Feeds:
    x = feeds[name]
    return {**feeds, name: (x.astype(np.float64) + by).astype(x.dtype)}


def step_sizes(node: Node, feeds: Feeds) -> np.ndarray:
    """The step of each element that a `QuantizeLinear` rounds, spread over its input's shape."""
    return spread(node, feeds[node.inputs[0]].shape, feeds[node.inputs[1]])


def spread(node: Node, shape: Sequence[int], numbers: np.ndarray) -> np.ndarray:
    """Scales or zero points of a quantiser over the shape of what it rounds, by its axis and blocks."""
    found = numbers.astype(np.float64)
    if found.size == 1:
        return found.reshape((1,) * len(shape))
    axis = int(node.attributes.get("axis", 1)) % len(shape)
    if found.ndim == 1:
        sizes = [1] * len(shape)
        sizes[axis] = found.size
        return found.reshape(sizes)
    block = int(node.attributes.get("block_size", 0)) or -(-shape[axis] // found.shape[axis])
    return np.repeat(found, block, axis)[tuple(map(slice, shape))]


def _shares_of_a_step(node: Node, feeds: Feeds, rng: np.random.Generator) -> np.ndarray:
    x = feeds[node.inputs[0]]
    most = SHARE * step_sizes(node, feeds) + FP32_NOISE * np.abs(x.astype(np.float64))
    by: np.ndarray = most * rng.uniform(-1.0, 1.0, x.shape)
    return _with_one_across(x.astype(np.float64), step_sizes(node, feeds), by)


def _with_one_across(x: np.ndarray, sizes: np.ndarray, by: np.ndarray) -> np.ndarray:
    """With what is closest to a tie moved across it: of few elements none may lie within `SHARE`, and one still may."""
    with np.errstate(all="ignore"):
        steps = x / sizes
        room = np.nan_to_num(0.5 - np.abs(steps - np.rint(steps)), nan=1.0, posinf=1.0, neginf=1.0)
    if not x.size:
        return by
    place = np.unravel_index(int(np.argmin(room)), x.shape)
    if room[place] < 1.0:
        towards = np.sign(steps[place] - np.rint(steps[place])) or 1.0
        by[place] = towards * (room[place] + SHARE) * np.broadcast_to(sizes, x.shape)[place]
    return by


def _within_range(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Shares of a step that leave the least and the largest element where they are: the step follows from them."""
    if not x.size:
        return np.zeros(x.shape)
    low, high = min(float(x.min()), 0.0), max(float(x.max()), 0.0)
    by = SHARE * (high - low) / 255.0 * rng.uniform(-1.0, 1.0, x.shape)
    wide = x.astype(np.float64)
    by = np.clip(wide + by, low, high) - wide
    by[(x == x.min()) | (x == x.max())] = 0.0
    return by


def _flipped(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Whole numbers of which some move by one; those at an end of their range stay, as they are cut off there."""
    if array.dtype.kind not in "iu":
        return array
    ends = np.iinfo(array.dtype)
    drawn = rng.uniform(-1.0, 1.0, array.shape)
    by = np.where(np.abs(drawn) < FLIPS, np.sign(drawn), 0.0)
    inside = (array > ends.min) & (array < ends.max)
    if array.size and not (by != 0.0)[inside].any():  # of few elements none may be drawn, and one still may fall so
        by.flat[rng.integers(array.size)] = 1.0
    flipped: np.ndarray = (array.astype(np.int64) + np.where(inside, by, 0).astype(np.int64)).astype(array.dtype)
    return flipped


def _nudged(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Floats of which some move by one unit in the last place; zero, the largest and what is not finite stay."""
    if array.dtype.itemsize > 2 or array.dtype.kind in "iub":
        return array
    bits = np.ascontiguousarray(array).view(np.uint16 if array.dtype.itemsize == 2 else np.uint8)
    drawn = rng.uniform(0.0, 1.0, array.shape)
    by = np.where(drawn < NUDGED / 2, 1, np.where(drawn < NUDGED, -1, 0))
    moved = (bits.astype(np.int32) + by).astype(bits.dtype).view(array.dtype)
    wide = array.astype(np.float64)
    keeps = ~np.isfinite(wide) | (wide == 0.0) | ~np.isfinite(moved.astype(np.float64))
    return np.where(keeps, array, moved)


def _off_whole(feeds: Feeds, name: str, share: float, rng: np.random.Generator) -> Feeds:
    """With numbers that are not whole moved a little; sizes stay."""
    x = feeds[name]
    if x.dtype.kind != "f" or x.size <= SMALL:
        return feeds
    wide = x.astype(np.float64)
    by = (share + FP32_NOISE * np.abs(wide)) * rng.uniform(-1.0, 1.0, x.shape)
    with np.errstate(invalid="ignore"):
        return _moved(feeds, name, np.where(np.isfinite(wide) & (wide != np.rint(wide)), by, 0.0))


def _block_steps(x: np.ndarray, block: int) -> np.ndarray:
    """The step of 8 bits for each run of so many elements along the last axis."""
    if not x.size:
        return np.zeros(x.shape)
    length = x.shape[-1]
    padded = np.pad(np.abs(x.astype(np.float64)), [(0, 0)] * (x.ndim - 1) + [(0, -length % block)])
    largest = padded.reshape(*x.shape[:-1], -1, block).max(-1)
    steps: np.ndarray = np.repeat(largest / 127.0, block, axis=-1)[..., :length]
    return steps
