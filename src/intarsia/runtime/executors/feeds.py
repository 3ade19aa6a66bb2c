"""The check at the door: no engine ever sees an input of the wrong name, dtype or shape."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from intarsia.backends.contract import Signature
from intarsia.errors import FeedError
from intarsia.runtime.dtypes import numpy_dtype
from intarsia.runtime.executors.arrays import NotAnArrayError, as_numpy, cure


def named_feeds(inputs: Sequence[Signature], by_place: Sequence[Any], by_name: Mapping[str, Any]) -> dict[str, Any]:
    """The feeds of a call by name, those by place for the first inputs; a `FeedError` for too many, or one twice."""
    if len(by_place) > len(inputs):
        names = ", ".join(value.name for value in inputs) or "none"
        raise FeedError(f"{len(by_place)} feeds are given by their place, and the inputs are {names}")
    feeds = {value.name: array for value, array in zip(inputs, by_place, strict=False)}
    if twice := sorted(feeds.keys() & by_name.keys()):
        raise FeedError(f"input {', '.join(twice)} is given by its place and by its name; give it once")
    return feeds | dict(by_name)


def check_feeds(inputs: Sequence[Signature], feeds: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The feeds as numpy's arrays, on the same memory where that can be, or all that is wrong with them in one error.

    Numbers and lists of numbers become arrays of the input's element type.

    Raises:
        FeedError: Naming each missing, unknown or ill-formed feed.
    """
    known = {value.name: value for value in inputs}
    problems = [_stranger(name, known) for name in feeds if name not in known]
    arrays = {}
    for name, value in known.items():
        if name not in feeds:
            problems.append(f"input {describe(value)} is missing")
            continue
        feed, dtype = feeds[name], numpy_dtype(value.dtype)
        try:
            arrays[name] = as_numpy(feed, dtype)
        except NotAnArrayError as error:
            problems.append(f"input {describe(value)}: what was given {error}")
            continue
        fault = _fault(value, arrays[name], feed)
        if fault is not None:
            problems.append(f"input {describe(value)} was given {fault}")
    if problems:
        raise FeedError("; ".join(problems))
    return arrays


def _stranger(name: object, known: Mapping[str, Signature]) -> str:
    """What is said of a feed whose name no input has."""
    there = f"the inputs are {', '.join(known) or '(none)'}"
    if not isinstance(name, str):
        return f"{name!r} is no name of an input; {there}"
    from difflib import get_close_matches  # a wrong name alone needs it

    near = get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else there
    return f"the model has no input {name!r}; {hint}"


def _fault(value: Signature, array: np.ndarray, feed: Any) -> str | None:
    """In what an array is not the input's; ``feed`` is what it was made of."""
    dtype = numpy_dtype(value.dtype)
    if array.dtype != dtype and not (value.dtype == "string" and array.dtype.kind in "OUS"):
        return f"as {array.dtype}; convert it with {cure(feed, dtype)}"
    if array.dtype.hasobject and not all(isinstance(text, str | bytes) for text in array.flat):
        return "elements that are no text"
    if value.shape is not None and array.shape != value.shape:
        return f"the shape {_text(array.shape)}"
    return None


def describe(value: Signature) -> str:
    """``data float32[1,3,224,224]``."""
    return f"{value.name} {value.dtype}{_text(value.shape) if value.shape is not None else '[?]'}"


def sized(
    inputs: Iterable[Signature], dims: Mapping[str, Sequence[int | str]], sizes: Mapping[str, int]
) -> tuple[Signature, ...]:
    """The inputs with these sizes for their open dimensions."""
    from intarsia.graph.ranges import shape_at

    return tuple(
        replace(value, shape=shape_at(tuple(dims[value.name]), sizes)) if value.name in dims else value
        for value in inputs
    )


def _text(shape: tuple[int, ...]) -> str:
    return f"[{','.join(map(str, shape))}]"
