"""Requests whose inputs are joined along the first dimension for one call, and its outputs, divided among them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from intarsia.errors import IntarsiaError

if TYPE_CHECKING:
    from intarsia.serving.batching.asked import Asked, Form


class UnevenError(IntarsiaError):
    """The outputs of a joined call have other rows than its inputs."""


def form_of(feeds: Mapping[str, np.ndarray]) -> tuple[Form | None, int]:
    """What requests with these inputs are joined by, and how many rows they have.

    There is no form, and one row is told, where the inputs have no first dimension in common. Names and datatypes are
    not looked at: whoever decoded the inputs has found them to be the model's.
    """
    sizes = {array.shape[0] if array.ndim else 0 for array in feeds.values()}
    rows = sizes.pop() if len(sizes) == 1 else 0
    if not rows:
        return None, 1
    return frozenset([(name, array.shape[1:]) for name, array in feeds.items()]), rows


def grouped(asked: Iterable[Asked]) -> Iterator[list[Asked]]:
    """Those that can be joined, together, in the order in which the first of each came."""
    groups: dict[object, list[Asked]] = {}
    for each in asked:
        groups.setdefault(each if each.form is None else each.form, []).append(each)
    yield from groups.values()


def joined(feeds: Sequence[Mapping[str, np.ndarray]]) -> Mapping[str, np.ndarray]:
    """The inputs of all, one behind the other; those of one are given back as they are."""
    if len(feeds) == 1:
        return feeds[0]
    return {name: np.concatenate([each[name] for each in feeds]) for name in feeds[0]}


def divided(results: Mapping[str, np.ndarray], rows: Sequence[int]) -> list[Mapping[str, np.ndarray]]:
    """The outputs of each of the requests that have so many rows; views, unless there is but one request.

    Raises:
        UnevenError: An output has not so many rows as all of them together.
    """
    if len(rows) == 1:
        return [results]
    total = sum(rows)
    for name, array in results.items():
        if not array.ndim or array.shape[0] != total:
            raise UnevenError(f"output {name} is {list(array.shape)}, which does not divide into {total} rows")
    found: list[Mapping[str, np.ndarray]] = []
    begin = 0
    for each in rows:
        end = begin + each
        found.append({name: array[begin:end] for name, array in results.items()})
        begin = end
    return found
