"""A model is compiled once for the same settings, engines and machine; what is kept is whole, and not too much."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from intarsia.backends import registry
from intarsia.backends.contract import Availability
from intarsia.config import CompilationConfig
from intarsia.devices import Constraint
from intarsia.driver.settings import SETTINGS, CompileSettings
from intarsia.errors import ConfigError
from intarsia.interop import compiled as module
from intarsia.interop.compiled import DEFAULTS, Cache, compiled
from intarsia.partitioning import PlanFile
from intarsia.runtime import CompiledModel
from tests.unit.graph.models import two_layers
from tests.unmeasured import unmeasured

MODEL = two_layers().SerializeToString()
X = np.ones((4, 32), np.float32)


@pytest.fixture
def compiles(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The settings of each compile, none of which measures anything."""
    calls: list[dict[str, Any]] = []

    def noted(source: Any, target: Any, settings: CompileSettings) -> CompiledModel:
        calls.append({"target": target, "settings": settings})
        return unmeasured(source, target, settings=settings)

    monkeypatch.setattr(module, "compile", noted)
    return calls


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def kept(cache: Cache, source: bytes = MODEL, target: str | list[str] = "reference", **settings: Any) -> CompiledModel:
    return compiled(source, target, replace(DEFAULTS, **settings), cache)


def test_the_second_time_nothing_is_compiled(compiles: list[dict[str, Any]], cache: Path) -> None:
    first, second = kept(cache), kept(cache)
    assert np.array_equal(first(X)["y"], second(X)["y"])
    assert len(compiles) == 1
    assert compiles == [{"target": CompilationConfig.of("reference"), "settings": CompileSettings(budget=20.0)}]


CHANGES: dict[str, dict[str, Any]] = {
    "model": {"source": two_layers(1).SerializeToString()},
    "target": {"target": ["reference", "llvm"]},
    "budget": {"budget": 1.0},
    "partition": {"partition": "single"},
    "plan": {"partition": "manual", "plan": PlanFile(partitions=())},
    "threads": {"threads": 1},
    "shapes": {"shapes": {"x": (4, 32)}},
    "seed": {"seed": 1},
    "constraints": {"constraints": [Constraint.node("relu", "cpu")]},
    "prune": {"prune": False},
    "max_memory": {"max_memory": "1GB"},
    "objective": {"objective": "throughput"},
    "max_latency": {"objective": "throughput", "max_latency": 20},
    "footprints": {"footprints": True},
    "max_error": {"max_error": 0.01},
    "strict": {"strict": True},
    "strict_machine": {"strict_machine": True},
    "min_nodes": {"min_nodes": 2},
    "min_flops": {"min_flops": 1000},
    "custom_ops": {"custom_ops": [__file__]},
}


def test_each_setting_but_the_store_is_tried() -> None:
    assert {"model", "target", *SETTINGS} - {"store"} == set(CHANGES)


@pytest.mark.parametrize("what", CHANGES)
def test_each_change_compiles_anew(what: str, compiles: list[dict[str, Any]], cache: Path) -> None:
    kept(cache, threads=2)
    kept(cache, **{"threads": 2, **CHANGES[what]})
    assert len(compiles) == 2


def test_another_version_of_an_engine_compiles_anew(
    compiles: list[dict[str, Any]], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept(cache)
    monkeypatch.setattr(registry, "probe", lambda name: Availability(usable=True, version=f"{name} 99"))
    kept(cache)
    assert len(compiles) == 2


def test_where_a_store_is_does_not_matter(compiles: list[dict[str, Any]], cache: Path, tmp_path: Path) -> None:
    kept(cache)
    kept(cache, store=tmp_path / "records.sqlite")
    assert len(compiles) == 1


def test_what_is_damaged_is_compiled_anew(compiles: list[dict[str, Any]], cache: Path) -> None:
    path = kept(cache).artifact.path
    path.write_bytes(path.read_bytes()[:-40])
    kept(cache).close()
    assert len(compiles) == 2
    kept(cache)
    assert len(compiles) == 2


def test_without_a_folder_nothing_is_kept(compiles: list[dict[str, Any]], cache: Path) -> None:
    for _ in range(2):
        kept(False)
    assert len(compiles) == 2


def test_the_default_folder_is_the_user_s(
    compiles: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("intarsia.interop.compiled.cache_folder", lambda: tmp_path)
    assert kept(None).artifact.path == kept(True).artifact.path
    assert len(compiles) == 1
    assert len(list((tmp_path / "compiled").iterdir())) == 1


def test_what_was_not_used_for_longest_goes_first(
    compiles: list[dict[str, Any]], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [kept(cache, seed=seed).artifact.path for seed in range(3)]
    for age, path in enumerate(paths):
        os.utime(path, (age, age))
    kept(cache, seed=0)  # used again, so that the second is the oldest
    monkeypatch.setattr(module, "KEPT_BYTES", 3 * paths[0].stat().st_size + 100)
    newest = kept(cache, seed=3).artifact.path
    assert [path.exists() for path in (*paths, newest)] == [True, False, True, True]


def test_a_folder_that_cannot_be_written_is_told(compiles: list[dict[str, Any]], tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="say cache=FOLDER, or cache=False"):
        kept(tmp_path / "file" / "folder")


def test_what_lacks_an_engine_for_the_machine_s_sake_is_not_kept(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    left_out = {"target": "mnn", "stage": "crash", "reason": "killed by SIGKILL", "cause": "killed"}

    def short(source: Any, target: Any, **more: Any) -> CompiledModel:
        model = unmeasured(source, target, **more)
        monkeypatch.setattr(type(model), "report", {**model.report, "left_out": [left_out]})
        return model

    monkeypatch.setattr(module, "compile", short)
    with kept(cache) as model:
        assert model(X)["y"].size
    assert not list(cache.glob("*"))
