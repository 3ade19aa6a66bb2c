"""Flat paths such as ``targets[1].host.mcpu``: their text, the leaves of a form, and the change of one place in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from intarsia.errors import SpecError

Steps = tuple[str | int, ...]
"""The names and indices of a path, outermost first."""

_STEP = re.compile(r"\[(?P<index>[0-9]{1,6})\]|(?:^|(?<!^)\.)(?P<name>[^.\[\]\s]+)")


def read_path(text: str) -> Steps:
    """The steps of a path.

    Raises:
        SpecError: It is none.
    """
    steps: list[str | int] = []
    at = 0
    while at < len(text):
        found = _STEP.match(text, at)
        if found is None:
            break
        steps.append(found["name"] if found["index"] is None else int(found["index"]))
        at = found.end()
    if not steps or at < len(text) or isinstance(steps[0], int):
        raise SpecError(f"{text!r} is not a path; write one such as targets[1].mcpu or executor.link-params")
    return tuple(steps)


def print_path(steps: Steps) -> str:
    """The path of these steps."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).removeprefix(".")


def leaves(form: object, at: Steps = ()) -> Iterator[tuple[Steps, Any]]:
    """Each leaf of a form with its path. A list is a leaf itself unless it holds something with names in it."""
    if isinstance(form, Mapping) and form:
        for name, inner in form.items():
            yield from leaves(inner, (*at, str(name)))
    elif isinstance(form, list) and any(isinstance(item, Mapping) for item in form):
        for index, inner in enumerate(form):
            yield from leaves(inner, (*at, index))
    else:
        yield at, form


def value_at(form: Any, steps: Steps) -> Any:
    """What stands at a path, or ``None``."""
    for step in steps:
        if isinstance(form, Mapping) and isinstance(step, str):
            form = form.get(step)
        elif isinstance(form, list) and isinstance(step, int) and step < len(form):
            form = form[step]
        else:
            return None
    return form


def changed(form: Any, steps: Steps, value: object) -> Any:
    """A copy of the form with this value at the path; of all but its last step, only maps may be missing."""
    if not steps:
        return value
    step, rest = steps[0], steps[1:]
    if isinstance(step, int):
        return [changed(item, rest, value) if index == step else item for index, item in enumerate(form)]
    form = {} if form is None else form
    return {**form, step: changed(form.get(step), rest, value)}
