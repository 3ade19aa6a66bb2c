"""Each option is declared at one level of the language: what is said of a target is not said again of its executor."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterable

import pytest

from intarsia.config import EXECUTORS, RUNTIMES, CompilationConfig, Deployment, Executor, Runtime, SearchSettings
from intarsia.errors import SpecError
from intarsia.spec import Kind
from intarsia.target import KINDS, Target

STRUCTURE = {"host", "devices"}
"""What a composite says in place of the configuration that it is spliced into."""


def _names(kinds: Iterable[Kind]) -> set[str]:
    return {name.replace("_", "-") for kind in kinds for name in kind.options}


def test_each_option_is_declared_at_one_level() -> None:
    levels = {
        "target": _names(KINDS.values()),
        "config": _names([CompilationConfig.of("llvm").kind]) - STRUCTURE,
        "executor": _names(EXECUTORS.values()),
        "runtime": _names(RUNTIMES.values()),
        "deployment": _names([Deployment.of({"machines": {"a": "llvm"}}).kind]),
        "search": {field.name.replace("_", "-") for field in dataclasses.fields(SearchSettings)},
    }
    declared = defaultdict(list)
    for level, names in levels.items():
        for name in names:
            declared[name].append(level)
    assert {name: found for name, found in declared.items() if len(found) > 1} == {}


@pytest.mark.parametrize("option", ["executor", "unpacked-api", "system-lib"])
@pytest.mark.parametrize("kind", ["llvm", "c", "mnn"])
def test_a_target_refuses_what_belongs_to_executor_and_runtime(kind: str, option: str) -> None:
    with pytest.raises(SpecError, match=r"belongs to the (executor|runtime) of a compilation configuration"):
        Target({"kind": kind, option: "aot"})


def test_no_level_is_read_as_another() -> None:
    for read in (Target, Executor, Runtime):
        with pytest.raises(SpecError):
            read({"targets": ["llvm"]})
        with pytest.raises(SpecError):
            read(CompilationConfig.of("llvm"))
