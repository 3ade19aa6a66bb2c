"""Rows that ask what there is: kinds, options of a kind, tags, executors and runtimes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from intarsia.config import EXECUTORS, RUNTIMES, Executor, Runtime
from intarsia.spec import Kind
from intarsia.target import DEVICE_TYPES, KINDS, Target, list_tags, target_or_current
from tests.conformance.rows.diagnostics import expect_error
from tests.conformance.rows.fixtures import is_labelled, kinds_of
from tests.conformance.rows.row import Row, form


def _listed(names: list[str], facts: Mapping[str, Any]) -> None:
    for fact, wanted in facts.items():
        match fact:
            case "contains":
                assert set(wanted) <= set(names)
            case "all_strings":
                assert all(isinstance(name, str) for name in names) == wanted
            case "each_unique":
                assert (len(names) == len(set(names))) == wanted
            case _:
                raise AssertionError(f"no check for the fact {fact!r} of a list")


def _options(kind: Kind, facts: Mapping[str, Any]) -> None:
    assert {name for name, label in facts.items() if is_labelled(kind.options[name], label)} == facts.keys()


def _query_kinds(row: Row) -> None:
    _listed(list(KINDS), row.expect)


def _query_tags(row: Row) -> None:
    _listed(list(list_tags()), row.expect)


def _query_executors(row: Row) -> None:
    _listed(list(EXECUTORS), row.expect)


def _query_runtimes(row: Row) -> None:
    _listed(list(RUNTIMES), row.expect)


def _query_kind_options(row: Row) -> None:
    _options(Target(row.input["kind"]).kind, row.expect)


def _query_executor_options(row: Row) -> None:
    _options(Executor(row.input["name"]).kind, row.expect)


def _query_runtime_options(row: Row) -> None:
    _options(Runtime(row.input["name"]).kind, row.expect)


def _query_kind_attr(row: Row) -> None:
    assert KINDS[row.input["kind"]].attrs[row.input["attr"]] == row.expect["value"]


def _query_device_types(row: Row) -> None:
    assert [DEVICE_TYPES[KINDS[name].device_type] for name in row.input["kinds"]] == row.expect["values"]


def _query_current(row: Row) -> None:
    found = target_or_current(row.input["argument"])
    assert found == Target(row.expect["target"])


QUERIES: Mapping[str, Callable[[Row], None]] = MappingProxyType(
    {
        "list_kinds": _query_kinds,
        "list_tags": _query_tags,
        "executors": _query_executors,
        "runtimes": _query_runtimes,
        "kind_options": _query_kind_options,
        "executor_options": _query_executor_options,
        "runtime_options": _query_runtime_options,
        "kind_attr": _query_kind_attr,
        "device_type_of_kinds": _query_device_types,
        "target_or_current": _query_current,
    }
)


def run_query(row: Row) -> None:
    """A question by name."""
    ask = QUERIES[row.input["query"]]
    with kinds_of(row):
        if row.error:
            expect_error(row, lambda: ask(row))
        else:
            ask(row)


FORMS = (form(run_query, "query", "kind attr name kinds argument", when=lambda row: row.input["query"] in QUERIES),)
