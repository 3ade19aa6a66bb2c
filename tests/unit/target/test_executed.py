"""Options that have code loaded or run are declared so, of every kind that there is."""

from __future__ import annotations

import re

import pytest

from intarsia.config import CompilationConfig, Deployment
from intarsia.errors import SpecError
from intarsia.spec import ExecutedPath, ListOf, Option, Str
from intarsia.target import KINDS, Target, VirtualDevice

OPTIONS = [(kind.name, option) for kind in KINDS.values() for option in kind.options.values()]
EXECUTING = [(kind, option) for kind, option in OPTIONS if option.type.executes]
SOUNDS_LIKE_CODE = re.compile(
    r"librar|interpreter|program|plug-?in|script|executable|shared object|path", re.IGNORECASE
)
NO_CODE = {
    "libs": "names of libraries that were generated for, never a file",
}
"""Options whose meaning speaks of such things, and that name no file that is loaded or run."""


def stated(kind: str, option: Option, path: str) -> dict[str, object]:
    return {"kind": kind, option.name: [path] if isinstance(option.type, ListOf) else path}


def test_an_option_that_speaks_of_code_is_declared_so() -> None:
    """A new engine's option for a library is a `Str` only if somebody said here why that is harmless."""
    strings = {
        option.name
        for _, option in OPTIONS
        if (option.type.element if isinstance(option.type, ListOf) else option.type) == Str()
        if SOUNDS_LIKE_CODE.search(f"{option.name} {option.meaning}")
    }
    assert strings == NO_CODE.keys()


def test_every_engine_kind_has_its_interpreter_declared_so() -> None:
    engines = {kind.name for kind in KINDS.values() if kind.is_external}
    assert {kind for kind, option in EXECUTING if option.name == "python"} == engines
    assert ("onnxruntime", "custom-ops") in {(kind, option.name) for kind, option in EXECUTING}


@pytest.mark.parametrize(("kind", "option"), EXECUTING, ids=lambda each: getattr(each, "name", each))
def test_what_they_name_is_absolute_and_found(kind: str, option: Option) -> None:
    target = Target(stated(kind, option, "/opt/x y.so"))
    assert list(target.executed()) == [(option.name, "/opt/x y.so")]
    assert list(Target(str(target)).executed()) == [(option.name, "/opt/x y.so")]
    for relative in ("x.so", "./x.so", "../x.so", "~/x.so", "", "/x\0.so"):
        with pytest.raises(SpecError, match=r"absolute path|no value"):
            Target(stated(kind, option, relative))


AWAY = "xla -python=/opt/bin/python"


@pytest.mark.parametrize(
    "config",
    [
        {"targets": [AWAY]},
        {"targets": ["llvm"], "host": AWAY},
        {"targets": [f"llvm -host='{AWAY}'"]},
        {"targets": ["llvm", {"kind": "config", "targets": [AWAY]}]},
        {"targets": [AWAY], "devices": {"there": f"cpu -target='{AWAY}'"}},
        {"targets": [f"composite -devices=llvm,'{AWAY}'"]},
    ],
)
def test_they_are_found_wherever_a_configuration_holds_a_target(config: dict[str, object]) -> None:
    assert set(CompilationConfig.of(config).executed()) == {("python", "/opt/bin/python")}


def test_they_are_found_in_devices_and_deployments() -> None:
    assert list(VirtualDevice.of(f"cpu -target='{AWAY}'").executed()) == [("python", "/opt/bin/python")]
    assert list(VirtualDevice.of("cpu").executed()) == []
    deployment = Deployment.of({"machines": {"a": AWAY, "b": "llvm"}})
    assert set(deployment.executed()) == {("python", "/opt/bin/python")}


def test_the_label_says_what_is_wanted() -> None:
    assert ExecutedPath().label == "absolute path"
