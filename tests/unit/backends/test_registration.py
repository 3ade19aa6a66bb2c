"""Engines that a running program registers."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import intarsia
from intarsia import registered
from intarsia.backends import registry
from intarsia.backends.reference import ReferenceBackend
from intarsia.errors import BackendUnavailableError, ConfigError
from intarsia.target import KINDS, Target

SOURCE = """
from intarsia.backends.reference import ReferenceBackend
from intarsia.target import engine_kind

KIND = engine_kind("home-made", "an engine of a program", serves=("llvm",))


class HomeMade(ReferenceBackend):
    name = "home-made"


class Kindless(ReferenceBackend):
    name = "kindless"
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    """A module of the program's own; what it registers is taken out again."""
    (tmp_path / "home_made.py").write_text(SOURCE, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv(registered.VARIABLE, "[]")
    with KINDS.scope():
        import home_made  # type: ignore[import-not-found]

        yield home_made
    del sys.modules["home_made"]
    registry.refresh()


def test_a_registered_engine_is_one_of_the_engines(module: object) -> None:
    assert "home-made" not in registry.names()
    intarsia.register_engine(module.HomeMade)  # type: ignore[attr-defined]
    intarsia.register_engine(module.HomeMade)  # type: ignore[attr-defined]
    assert registry.names().count("home-made") == 1
    assert registry.probe("home-made").usable
    assert Target("home-made").kind.serves == ("llvm",)
    assert type(registry.of(Target("home-made"))).__name__ == "HomeMade"
    registered.remove("home-made")
    with pytest.raises(BackendUnavailableError, match="there is no engine 'home-made'"):
        registry.get("home-made")


def test_a_process_that_starts_anew_finds_the_kind_by_the_environment(module: object) -> None:
    intarsia.register_engine(module.HomeMade)  # type: ignore[attr-defined]
    (each,) = registered.registered()
    kind = registered.found(each.kind, each.folder)
    assert (kind.name, each.engine) == ("home-made", "home_made:HomeMade")
    assert (Path(each.folder) / "home_made.py").exists()


def test_what_another_process_could_not_import_is_refused(module: object) -> None:
    class Inside(ReferenceBackend):
        name = "inside"

    with pytest.raises(ConfigError, match="move it to the top level of a module of its own"):
        intarsia.register_engine(Inside)
    with pytest.raises(ConfigError, match="holds no kind 'kindless'"):
        intarsia.register_engine(module.Kindless)  # type: ignore[attr-defined]
    with pytest.raises(ConfigError, match="is no engine"):
        intarsia.register_engine(int)  # type: ignore[arg-type]
    assert list(registered.registered()) == []


def test_a_name_that_is_taken_is_refused(module: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KIND", KINDS["onnxruntime"])
    monkeypatch.setattr(module.HomeMade, "name", "onnxruntime")  # type: ignore[attr-defined]
    with pytest.raises(ConfigError, match="'onnxruntime' is taken"):
        intarsia.register_engine(module.HomeMade)  # type: ignore[attr-defined]


@pytest.mark.parametrize("text", ["", "nonsense", "{}", "[1]", '[{"name": "x"}]'])
def test_a_variable_that_somebody_else_set_names_no_engine(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(registered.VARIABLE, text)
    assert list(registered.registered()) == []
