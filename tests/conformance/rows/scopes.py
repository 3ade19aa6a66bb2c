"""Rows about scopes of targets, and functions that are chosen by the keys of the target in scope."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from intarsia.target import Target
from intarsia.target.dispatch import Dispatch
from tests.conformance.rows.row import Row, form


def _formula(text: str) -> Callable[[int], int]:
    """The function that a row writes as ``x+<number>``."""
    name, plus, number = text.partition("+")
    assert (name, plus) == ("x", "+")
    return partial(_add, int(number))


def _add(number: int, x: int) -> int:
    return x + number


def _function(row: Row) -> Dispatch[[int], int]:
    generic = Dispatch(_formula(row.input["generic"]["default"]))
    for key, text in row.input["generic"]["entries"].items():
        generic.register(key)(_formula(text))
    return generic


def run_dispatch(row: Row) -> None:
    """What a function gives in each of several scopes."""
    generic = _function(row)
    results = []
    for scope in row.input["scopes"]:
        with Target(scope):
            results.append(generic(row.input["x"]))
    assert results == row.expect["results"]
    assert Target.current(allow_none=True) is row.expect["current_after"]


def run_override(row: Row) -> None:
    """What a function gives before, during and after some of its entries are replaced."""
    generic, x = _function(row), row.input["x"]
    with Target(row.input["scope"]):
        before = generic(x)
        replaced = {key: _formula(text) for key, text in row.input["temporary_override"].items()}
        with generic.overridden(replaced):
            during = generic(x)
        after = generic(x)
    assert {"before": before, "during": during, "after": after} == row.expect


FORMS = (
    form(run_dispatch, "generic x scopes"),
    form(run_override, "generic x temporary_override scope"),
)
