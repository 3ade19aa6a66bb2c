"""What an executable is bound to where an array is not known before a run, or changes between runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np


BoundCall = Callable[[], None]
"""Runs once, from the bound inputs to the bound outputs."""


class Slot:
    """A value whose shape is known only after a run: the call that computes it puts a new array here."""

    __slots__ = ("array",)

    def __init__(self) -> None:
        self.array: np.ndarray | None = None


class Port(Slot):
    """An input or output whose array may be replaced between calls by one of the same dtype and shape.

    So a value is used where it already lies. Who sets the array keeps it alive until the next one is set.
    """

    __slots__ = ("block",)
    array: np.ndarray
    block: int | None
    """If set, channels lie in blocks of so many: an array of shape (1, c, h, w) holds its values in the order
    (1, c / block, h, w, block). Only for an engine that says so in `Backend.follows_blocks`."""

    def __init__(self, array: np.ndarray, block: int | None = None) -> None:
        self.array = array
        self.block = block


Arrays = Mapping[str, "np.ndarray"]
Places = Mapping[str, "np.ndarray | Slot"]


def as_port(place: np.ndarray | Slot) -> Port:
    """A place of known shape as a port, for engines that copy anyway."""
    if isinstance(place, Port):
        return place
    assert not isinstance(place, Slot), "other slots only come to engines with the trait any_shape"
    return Port(place)


def following(places: Iterable[tuple[Callable[[Any], object], np.ndarray | Slot]], run: BoundCall) -> BoundCall:
    """``run``, with each place bound by the function beside it: an array once, a port when its array has changed."""
    ports: list[tuple[Callable[[Any], object], Port]] = []
    for point, place in places:
        if isinstance(place, Port):
            ports.append((point, place))
        else:
            point(place)
    if not ports:
        return run
    bound: list[np.ndarray | None] = [None] * len(ports)

    def call() -> None:
        for index, (point, port) in enumerate(ports):
            if port.array is not bound[index]:
                point(port.array)
                bound[index] = port.array
        run()

    return call


def is_late(place: np.ndarray | Slot) -> bool:
    """Whether the array is known only after a run."""
    return isinstance(place, Slot) and not isinstance(place, Port)


def array_at(place: np.ndarray | Slot) -> np.ndarray:
    """The array of a place, whose shape is known by now."""
    held = place.array if isinstance(place, Slot) else place
    assert held is not None, "whoever computes it ran before"
    return held


def by_copy(
    run: Callable[[list[str], dict[str, np.ndarray]], Sequence[np.ndarray]],
    inputs: Mapping[str, np.ndarray | Slot],
    outputs: Mapping[str, np.ndarray | Slot],
) -> BoundCall:
    """A call that hands over the inputs by name, and copies each result to its place, or puts it into its slot.

    ``run`` takes the names of the results that are wanted, and the inputs.
    """
    names = list(outputs)

    def call() -> None:
        feeds = {name: array_at(place) for name, place in inputs.items()}
        for name, result in zip(names, run(names, feeds), strict=True):
            place = outputs[name]
            if isinstance(place, Slot):
                place.array = result
            else:
                place[...] = result

    return call
