"""A model is compiled once for the same settings, engines and machine; what is kept is whole, and not too much."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from intarsia.backends import registry
from intarsia.backends.contract import Availability
from intarsia.errors import ConfigError
from intarsia.interop import compiled as module
from intarsia.interop.compiled import Settings, compiled, default_cache
from intarsia.runtime import CompiledModel
from tests.unit.graph.models import two_layers
from tests.unmeasured import unmeasured

MODEL = two_layers().SerializeToString()
X = np.ones((4, 32), np.float32)


@pytest.fixture
def compiles(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The settings of each compile, none of which measures anything."""
    calls: list[dict[str, Any]] = []

    def noted(source: Any, target: Any, **settings: Any) -> CompiledModel:
        calls.append({"target": target, **settings})
        return unmeasured(source, target, **settings)

    monkeypatch.setattr(module, "compile", noted)
    return calls


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(target="reference", cache=tmp_path / "cache")


def test_the_second_time_nothing_is_compiled(compiles: list[dict[str, Any]], settings: Settings) -> None:
    first, second = compiled(MODEL, settings), compiled(MODEL, settings)
    assert np.array_equal(first(X)["y"], second(X)["y"])
    assert len(compiles) == 1
    assert compiles[0] == {
        "target": "reference",
        "partition": "collage",
        "threads": None,
        "budget": 20.0,
        "store": None,
        "shapes": None,
        "seed": 0,
        "custom_ops": (),
        "strict": False,
    }


CHANGES: dict[str, Callable[[Settings], tuple[bytes, Settings]]] = {
    "model": lambda it: (two_layers(1).SerializeToString(), it),
    "target": lambda it: (MODEL, replace(it, target=["reference", "llvm"])),
    "budget": lambda it: (MODEL, replace(it, budget=1.0)),
    "partition": lambda it: (MODEL, replace(it, partition="single")),
    "threads": lambda it: (MODEL, replace(it, threads=1)),
    "shapes": lambda it: (MODEL, replace(it, shapes={"x": (4, 32)})),
    "seed": lambda it: (MODEL, replace(it, seed=1)),
}


@pytest.mark.parametrize("what", CHANGES)
def test_each_change_compiles_anew(what: str, compiles: list[dict[str, Any]], settings: Settings) -> None:
    compiled(MODEL, replace(settings, threads=2))
    compiled(*CHANGES[what](replace(settings, threads=2)))
    assert len(compiles) == 2


def test_another_version_of_an_engine_compiles_anew(
    compiles: list[dict[str, Any]], settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled(MODEL, settings)
    monkeypatch.setattr(registry, "probe", lambda name: Availability(usable=True, version=f"{name} 99"))
    compiled(MODEL, settings)
    assert len(compiles) == 2


def test_where_a_store_is_does_not_matter(compiles: list[dict[str, Any]], settings: Settings, tmp_path: Path) -> None:
    compiled(MODEL, settings)
    compiled(MODEL, replace(settings, store=tmp_path / "records.sqlite"))
    assert len(compiles) == 1


def test_what_is_damaged_is_compiled_anew(compiles: list[dict[str, Any]], settings: Settings) -> None:
    path = compiled(MODEL, settings).artifact.path
    path.write_bytes(path.read_bytes()[:-40])
    compiled(MODEL, settings).close()
    assert len(compiles) == 2
    compiled(MODEL, settings)
    assert len(compiles) == 2


def test_without_a_folder_nothing_is_kept(compiles: list[dict[str, Any]], settings: Settings) -> None:
    for _ in range(2):
        compiled(MODEL, replace(settings, cache=False))
    assert len(compiles) == 2
    assert replace(settings, cache=True).folder == default_cache() == Settings().folder


def test_what_was_not_used_for_longest_goes_first(
    compiles: list[dict[str, Any]], settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [compiled(MODEL, replace(settings, seed=seed)).artifact.path for seed in range(3)]
    for age, path in enumerate(paths):
        os.utime(path, (age, age))
    compiled(MODEL, replace(settings, seed=0))  # used again, so that the second is the oldest
    monkeypatch.setattr(module, "KEPT_BYTES", 3 * paths[0].stat().st_size + 100)
    newest = compiled(MODEL, replace(settings, seed=3)).artifact.path
    assert [path.exists() for path in (*paths, newest)] == [True, False, True, True]


def test_a_folder_that_cannot_be_written_is_told(compiles: list[dict[str, Any]], tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="say cache=FOLDER, or cache=False"):
        compiled(MODEL, Settings(target="reference", cache=tmp_path / "file" / "folder"))


def test_what_lacks_an_engine_for_the_machine_s_sake_is_not_kept(
    monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    left_out = {"target": "mnn", "stage": "crash", "reason": "killed by SIGKILL", "cause": "killed"}

    def short(source: Any, target: Any, **more: Any) -> CompiledModel:
        model = unmeasured(source, target, **more)
        monkeypatch.setattr(type(model), "report", {**model.report, "left_out": [left_out]})
        return model

    monkeypatch.setattr(module, "compile", short)
    with compiled(MODEL, settings) as model:
        assert model(X)["y"].size
    assert settings.folder is not None
    assert not list(settings.folder.glob("*"))
