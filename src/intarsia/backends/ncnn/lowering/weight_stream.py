"""The weight stream of an ncnn network: how its blocks are written down, and how they are read back from the arrays.

ncnn reads weights in the order of its layers. Blocks that are a weight of the graph, reordered or scaled, are made
while ncnn reads, so an artifact keeps each weight once; only small derived vectors are stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from intarsia.backends.ncnn.lowering import Network
    from intarsia.backends.ncnn.lowering.layer import Vector

RAW_FLOAT32 = np.zeros(4, np.uint8)
"""The storage tag of a block of plain float32 numbers."""


def describe(network: Network) -> tuple[list[dict[str, Any]], bytes]:
    """The blocks as JSON-able recipes, and the derived vectors they point into, as (first, count) of float32."""
    vectors: list[np.ndarray] = []
    total = 0

    def store(vector: Vector) -> list[int]:
        nonlocal total
        numbers = np.ascontiguousarray(vector(), np.float32).reshape(-1)
        vectors.append(numbers)
        total += numbers.size
        return [total - numbers.size, numbers.size]

    recipes = []
    for block in network.blocks:
        recipe: dict[str, Any] = {"tagged": block.tagged}
        if block.derived is not None:
            recipe["derived"] = store(block.derived)
        else:
            recipe["weight"] = block.weight
        if block.view is not None:
            recipe |= {"view": list(block.view), "order": list(block.order)}
        if block.factor is not None:
            recipe["factor"] = store(block.factor)
        recipes.append(recipe)
    return recipes, b"".join(numbers.tobytes() for numbers in vectors)


def chunks(
    recipes: Sequence[Mapping[str, Any]], weights: Mapping[str, np.ndarray], derived: bytes
) -> Iterator[np.ndarray]:
    """The stream as arrays of bytes, each made when it is asked for."""
    vectors = np.frombuffer(derived, np.float32)
    for recipe in recipes:
        if recipe["tagged"]:
            yield RAW_FLOAT32
        yield _numbers(recipe, weights, vectors).reshape(-1).view(np.uint8)


def _numbers(recipe: Mapping[str, Any], weights: Mapping[str, np.ndarray], vectors: np.ndarray) -> np.ndarray:
    if "derived" in recipe:
        first, count = recipe["derived"]
        return vectors[first : first + count]
    numbers = np.ascontiguousarray(weights[recipe["weight"]], np.float32)
    if "view" in recipe:
        numbers = np.ascontiguousarray(numbers.reshape(recipe["view"]).transpose(recipe["order"]))
    if "factor" in recipe:
        first, count = recipe["factor"]
        numbers = numbers.reshape(count, -1) * vectors[first : first + count, None]
    return numbers


class Source:
    """Hands the stream out in partitions of any size. ``left_over`` says whether the network wanted fewer bytes."""

    def __init__(self, stream: Iterable[np.ndarray]) -> None:
        self._stream = iter(stream)
        self._rest = np.empty(0, np.uint8)

    def fill(self, target: np.ndarray) -> int:
        """Copy the next bytes to ``target``; returns how many there were."""
        done = 0
        while done < target.size:
            if not self._rest.size and not self._advance():
                break
            part = self._rest[: target.size - done]
            target[done : done + part.size] = part
            self._rest = self._rest[part.size :]
            done += part.size
        return done

    @property
    def left_over(self) -> bool:
        """Whether bytes remain."""
        return bool(self._rest.size) or self._advance()

    def _advance(self) -> bool:
        for partition in self._stream:
            if partition.size:
                self._rest = partition
                return True
        return False
