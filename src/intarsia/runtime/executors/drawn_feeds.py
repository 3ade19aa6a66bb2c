"""Inputs that are drawn from a seed: for measuring, for comparing, and for a first run."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from intarsia.backends.contract import Signature
from intarsia.errors import FeedError
from intarsia.graph import Graph
from intarsia.graph.sizes import input_dims, table_rows
from intarsia.runtime.borders import signature
from intarsia.runtime.dtypes import numpy_dtype
from intarsia.runtime.executors.feeds import describe, sized
from intarsia.target.cores import memory_bytes

_DRAWN_BYTES = 8
"""Of an element, whatever it becomes: it is drawn in double precision."""
_PICTURE_RANK = 4
_PATCHES = 8
"""Coarse patches along each side of a picture."""


def random_feeds(inputs: Sequence[Signature], seed: int) -> dict[str, np.ndarray]:
    """Seeded inputs with spread: normal floats, integers and booleans of 0 and 1."""
    rng = np.random.default_rng(seed)
    feeds = {}
    memory = memory_bytes()
    for value in inputs:
        if value.shape is None:
            raise FeedError(f"no random value for input {value.name}: its shape is unknown; state it with --shape")
        if _DRAWN_BYTES * prod(value.shape) > memory:
            raise FeedError(
                f"no random value for input {describe(value)}: it would take {_DRAWN_BYTES * prod(value.shape):.1e} "
                f"bytes, and this machine has {memory:.1e}; state a smaller shape with --shape"
            )
        dtype = numpy_dtype(value.dtype)
        feeds[value.name] = _drawn(rng, value.shape, dtype).astype(dtype)
    return feeds


def _drawn(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    if dtype.hasobject:
        return np.full(shape, "", dtype)
    if dtype.kind in "biu":
        return rng.integers(0, 2, shape)
    return np.asarray(rng.standard_normal(shape))


def varied_feeds(graph: Graph, seed: int) -> dict[str, np.ndarray]:
    """Seeded inputs that use what a model holds: floats of variance 1, and as indices any row of their table.

    Half the variance of pictures and volumes lies between coarse patches: noise alone averages out under pooling, and
    all inputs give one output.
    """
    feeds = graph_feeds(graph, seed)
    rng = np.random.default_rng((seed, len(feeds)))
    rows = table_rows(graph)
    return {name: _varied(rng, array, rows.get(name)) for name, array in feeds.items()}


def _varied(rng: np.random.Generator, array: np.ndarray, rows: int | None) -> np.ndarray:
    if rows is not None and array.dtype.kind in "iu":
        return rng.integers(0, rows, array.shape).astype(array.dtype)
    if array.dtype.kind != "f" or array.ndim < _PICTURE_RANK:
        return array
    coarse = rng.standard_normal((*array.shape[:2], *(_PATCHES,) * (array.ndim - 2)))
    for axis, size in enumerate(array.shape[2:], start=2):
        coarse = coarse.take(np.arange(size) * _PATCHES // max(size, 1), axis)
    both: np.ndarray = (array + coarse) * np.sqrt(0.5)
    return both.astype(array.dtype)


def graph_feeds(graph: Graph, seed: int) -> dict[str, np.ndarray]:
    """The seeded inputs that a graph is checked and timed with."""
    inputs = [signature(graph.values[name]) for name in graph.inputs]
    return random_feeds(sized(inputs, input_dims(graph), graph.sizes) if graph.sizes else inputs, seed)
