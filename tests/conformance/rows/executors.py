"""Rows about executors, runtimes, and configurations that name both."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from intarsia.config import EXECUTORS, RUNTIMES, CompilationConfig, Executor, Runtime
from intarsia.errors import SpecError
from intarsia.spec import Kind, Registry, schema
from intarsia.target import Target
from tests.conformance.rows.diagnostics import expect_error
from tests.conformance.rows.facts import plain
from tests.conformance.rows.fixtures import declared
from tests.conformance.rows.row import Row, form

Driver = Executor | Runtime


def _register(kinds: Registry[Any], added: Mapping[str, Any]) -> None:
    options = schema(declared(name, type_) for name, type_ in added["options"].items())
    kinds.register(added["name"], Kind(name=added["name"], meaning="of a case file", options=options))


def _check(row: Row, type_: Callable[..., Driver], kinds: Registry[Any], word: str) -> None:
    name, options = row.input[word]
    with kinds.scope():
        if f"register_{word}" in row.input:
            _register(kinds, row.input[f"register_{word}"])
        if row.error:
            expect_error(row, lambda: type_(name, options))
            return
        driver = type_(name, options)
        for fact, wanted in row.expect.items():
            match fact:
                case "options":
                    assert {option: plain(driver[option]) for option in wanted} == wanted
                case "absent":
                    assert all(driver[option] is None and option not in driver.options for option in wanted)
                case "text":
                    assert str(driver) == wanted
                case "values":
                    assert [option in driver.options for option in row.input["contains"]] == wanted
                case _:
                    raise AssertionError(f"no check for the fact {fact!r} of an {word}")


def run_executor(row: Row) -> None:
    """An executor from a name and options."""
    _check(row, Executor, EXECUTORS, "executor")


def run_runtime(row: Row) -> None:
    """A runtime from a name and options."""
    _check(row, Runtime, RUNTIMES, "runtime")


def run_whole_config(row: Row) -> None:
    """A configuration with executor and runtime, each a pair of name and options, and the older name of the host."""
    form: dict[str, Any] = dict(row.input["config"])
    for word in ("executor", "runtime"):
        if isinstance(form.get(word), list):
            name, options = form[word]
            form[word] = {"kind": name, **options}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        config = CompilationConfig.of(form)
    assert row.expect["accepted"]
    assert config.executor == Executor(*row.input["config"]["executor"])
    assert config.runtime == Runtime(*row.input["config"]["runtime"])
    for target in config.targets:
        assert isinstance(target, Target)
        assert _refuses(target.export() | {"executor": "aot"}) == row.expect["leaf_target_has_no_executor"]


def _refuses(form: Mapping[str, Any]) -> bool:
    try:
        Target(form)
    except SpecError:
        return True
    return False


def run_sketch(row: Row) -> None:
    """A configuration in the notation of the discussions: devices by number, and one of them with an inner runtime."""
    config = CompilationConfig.of(from_sketch(row.input["config"]))
    nested = [element for element in config.targets if isinstance(element, CompilationConfig)]
    assert config.executor.kind.name == row.expect["outer_runtime"]
    assert [inner.executor.kind.name for inner in nested] == [row.expect["inner_runtime"]]


def from_sketch(sketch: Mapping[str, Any]) -> dict[str, Any]:
    """Our form of a sketch: ``vdevice<n>`` are the targets, in order; what it calls the runtime may be an executor."""
    form: dict[str, Any] = {"targets": []}
    for name, value in sketch.items():
        if re.fullmatch(r"vdevice\d+", name):
            form["targets"].append(from_sketch(value) if isinstance(value, Mapping) else value)
        elif name == "runtime":
            form["executor" if value in EXECUTORS else "runtime"] = value
        elif name == "library":
            form["libraries"] = [value]
        elif name != "kind":
            form[name] = value
    return form


def _is_sketch(row: Row) -> bool:
    return any(re.fullmatch(r"vdevice\d+", name) for name in row.input["config"])


FORMS = (
    form(run_executor, "executor", "contains register_executor"),
    form(run_runtime, "runtime", "contains register_runtime"),
    form(run_whole_config, "config", areas="config"),
    form(run_sketch, "config", areas="composite config", when=_is_sketch),
)
