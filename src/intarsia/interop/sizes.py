"""A model whose file leaves dimensions open, compiled when sizes are known: first as they come, then for ranges.

Whoever states the ranges (``shapes={"seq": "1..512"}``) compiles once, at construction, with a plan for each bucket.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import chain
from typing import Any, TypeVar

import numpy as np

from intarsia.errors import FeedError, IntarsiaError
from intarsia.forks import Forkable
from intarsia.graph.bind import Shapes
from intarsia.graph.ranges import SizeRange
from intarsia.graph.reading.interface import Interface
from intarsia.runtime import CompiledModel

log = logging.getLogger(__name__)

Sizes = dict[str, int]
Dims = tuple[int | str | None, ...] | None
"""Numbers, names, and ``None`` for dimensions without one; ``None`` where not even their number is known."""
Result = TypeVar("Result")


class SizedModels(Forkable):
    """The compiled model for the sizes of each call.

    The first sizes get a model for them alone, which is the fastest there is. When a dimension comes with another size,
    the model is compiled once more, for every size of it up to the next power of two: as often as the largest size
    doubles. Dimensions without a name have no ranges, so each of their sizes has a model of its own.

    Args:
        make: Compiles the model, with these shapes beside those that are stated.
        open_inputs: The dimensions of each input that has an open one, see `open_inputs`.
    """

    def __init__(self, make: Callable[[Shapes], CompiledModel], open_inputs: Mapping[str, Dims]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._open = open_inputs
        self._exact: dict[tuple[tuple[str, int], ...], CompiledModel] = {}
        self._ranges: dict[str, SizeRange] = {}
        self._ranged: CompiledModel | None = None
        self.only = None if open_inputs else make({})
        """The model, where no dimension is open."""

    def run(self, feeds: Mapping[str, Any], how: Callable[[CompiledModel], Result]) -> Result:
        """What is done with the model for these feeds, which is compiled where there is none yet.

        Of a model with open dimensions the calls take turns: another size may put another model in its place.

        Raises:
            FeedError: A feed has another number of dimensions or another fixed size, or one name has two sizes.
            IntarsiaError: As `intarsia.compile`.
        """
        if self.only is not None:
            return how(self.only)
        sizes = dict(self._sizes(feeds))
        with self._lock:
            model = self._known(sizes) or (self._widened(sizes) if self._exact else None)
            return how(model or self._compiled(sizes, feeds))

    def close(self) -> None:
        """Free the engines' memory. Calling it twice is fine."""
        for model in (self.only, self._ranged, *self._exact.values()):
            if model is not None:
                model.close()

    def after_fork(self) -> None:
        """Whoever compiled when the process was forked goes on in the parent."""
        self._lock = threading.Lock()

    def _known(self, sizes: Sizes) -> CompiledModel | None:
        exact = self._exact.get(tuple(sizes.items()))
        if exact is not None or self._ranged is None:
            return exact
        fits = all(size in self._ranges[name] for name, size in sizes.items())
        return self._ranged if fits else None

    def _compiled(self, sizes: Sizes, feeds: Mapping[str, Any]) -> CompiledModel:
        shapes: dict[str, Any] = {name: size for name, size in sizes.items() if not _is_place(name)}
        shapes |= {name: tuple(np.shape(feeds[name])) for name, dims in self._open.items() if None in (dims or (None,))}
        log.info("compiling for the sizes %s", ", ".join(f"{name}={size}" for name, size in sizes.items()))
        return self._exact.setdefault(tuple(sizes.items()), self._make(shapes))

    def _widened(self, sizes: Sizes) -> CompiledModel | None:
        """One model for all sizes so far and more; ``None`` where ranges do not do, and exact sizes have to."""
        seen = {name: {size} for name, size in sizes.items()}
        for name, size in chain.from_iterable(self._exact):
            seen[name].add(size)
        for name, range_ in self._ranges.items():
            seen[name] |= {range_.low, range_.high}
        if any(0 in each or (_is_place(name) and len(each) > 1) for name, each in seen.items()):
            return None
        ranges = {name: _range(each) for name, each in seen.items()}
        shapes = {name: size if size.low < size.high else size.low for name, size in ranges.items()}
        stated = ", ".join(f"{name!r}: '1..{size.high}'" for name, size in ranges.items() if size.low < size.high)
        log.warning("sizes differ from call to call, so the model is compiled once more, for shapes={%s}", stated)
        try:
            wider = self._make({name: size for name, size in shapes.items() if not _is_place(name)})
        except IntarsiaError as error:
            log.warning("the model does not compile for a range of sizes, so each gets one of its own: %s", error)
            return None
        if self._ranged is not None:
            self._ranged.close()
        self._ranged, self._ranges = wider, ranges
        return wider

    def _sizes(self, feeds: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
        """The size of each open dimension, once; one without a name is called by its place, as ``x[0]``."""
        found: Sizes = {}
        for name, dims in self._open.items():
            if name not in feeds:
                raise FeedError(f"input {name} is missing; the feeds are {', '.join(map(str, feeds)) or '(none)'}")
            shape = _shape(name, feeds[name])
            fault = f"input {name}[{_dims(dims)}] was given the shape [{_dims(shape)}]"
            if dims is not None and len(dims) != len(shape):
                raise FeedError(fault)
            for axis, (dim, size) in enumerate(zip(dims or (None,) * len(shape), shape, strict=True)):
                place = dim or f"{name}[{axis}]"
                if isinstance(dim, int):
                    if dim != size:
                        raise FeedError(fault)
                elif found.setdefault(str(place), size) != size:
                    raise FeedError(f"{fault}, but {dim} is {found[str(place)]} elsewhere")
        yield from found.items()


def open_inputs(interface: Interface, stated: Shapes) -> dict[str, Dims]:
    """The inputs with a dimension that neither the model's file nor the user states, with all their dimensions."""
    return {end.name: end.dims for end in interface.inputs if end.name not in stated and _is_open(end.dims, stated)}


def _shape(name: str, feed: Any) -> tuple[int, ...]:
    try:
        return np.shape(feed)
    except (ValueError, TypeError) as error:
        raise FeedError(f"input {name}: its feed is not an array: {error}") from error


def _is_open(dims: Dims, stated: Shapes) -> bool:
    return dims is None or any(not isinstance(dim, int) and dim not in stated for dim in dims)


def _is_place(name: str) -> bool:
    """Whether it stands for a dimension without a name."""
    return name.endswith("]")


def _range(sizes: Collection[int]) -> SizeRange:
    """One size alone, or from 1 up to a power of two, as one bucket."""
    top = 1 << (max(sizes) - 1).bit_length()
    return SizeRange(low=max(sizes), high=max(sizes)) if len(sizes) == 1 else SizeRange(low=1, high=top, edges=(top,))


def _dims(dims: Dims) -> str:
    return "?" if dims is None else ",".join("?" if dim is None else str(dim) for dim in dims)
