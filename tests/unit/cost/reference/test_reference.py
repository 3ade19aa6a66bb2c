"""The slow evaluator runs once for a model and a seed, and old answers make room."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from intarsia.cost.reference import reference
from intarsia.cost.reference.reference import _prune, perturbed_count, reference_values
from intarsia.cost.reference.reference_io import recorded_names, recorded_tolerances, recorded_values
from intarsia.cost.thresholds import REFERENCE
from intarsia.cost.worker.progress import Progress
from intarsia.errors import ModelError
from intarsia.graph import Graph, load_model
from intarsia.graph.reference.perturb import Jitter
from intarsia.graph.reference.reference import evaluate
from tests.unit.graph.models import two_layers
from tests.unit.graph.quantised import qdq_network


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[set[str]]:
    """What each run of the evaluator was asked to keep."""
    asked: list[set[str]] = []

    def counted(
        graph: Graph,
        feeds: Mapping[str, np.ndarray],
        keep: Collection[str],
        given: Mapping[str, np.ndarray],
        around: Jitter | None = None,
    ) -> dict[str, np.ndarray]:
        asked.append(set(keep))
        return evaluate(graph, feeds, keep, given, around)

    monkeypatch.setattr(reference, "evaluate", counted)
    return asked


def test_the_evaluator_runs_once(graph: Graph, tmp_path: Path, runs: list[set[str]]) -> None:
    folder = reference_values(tmp_path, graph, {"b"}, seed=0)
    assert recorded_names(folder) == {"x", "b", "y"}
    assert reference_values(tmp_path, graph, {"b"}, seed=0) == folder
    assert reference_values(tmp_path, load_model(two_layers()), set(), seed=0) == folder
    assert runs == [{"b", "y"}]


def test_another_border_seed_or_model_is_evaluated(graph: Graph, tmp_path: Path, runs: list[set[str]]) -> None:
    folder = reference_values(tmp_path, graph, {"b"}, seed=0)
    assert reference_values(tmp_path, graph, {"a"}, seed=0) == folder
    assert recorded_names(folder) == {"x", "a", "b", "y"}
    seeded = reference_values(tmp_path, graph, {"b"}, seed=1)
    other = reference_values(tmp_path, load_model(two_layers(seed=3)), {"b"}, seed=0)
    assert len({folder, seeded, other}) == 3
    assert len(runs) == 4


def test_the_values_belong_together(graph: Graph, tmp_path: Path) -> None:
    found = recorded_values(reference_values(tmp_path, graph, {"b"}, seed=0), ["x", "b", "y"])
    again = evaluate(graph, {"x": np.array(found["x"])}, keep=["b"])
    np.testing.assert_array_equal(found["b"], again["b"])
    np.testing.assert_array_equal(found["y"], again["y"])


def test_a_model_the_evaluator_cannot_run_has_its_inputs(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: Any, **__: Any) -> dict[str, np.ndarray]:
        raise ModelError("custom.Thing is not known")

    monkeypatch.setattr(reference, "evaluate", refuse)
    with caplog.at_level(logging.WARNING):
        folder = reference_values(tmp_path, graph, {"b"}, seed=0)
    assert recorded_names(folder) == {"x"}
    assert "custom.Thing is not known" in caplog.text


def answers(cache: Path, name: str, nbytes: int, used: str | None) -> Path:
    folder = cache / name
    folder.mkdir()
    (folder / "0.npy").write_bytes(bytes(nbytes))
    if used is not None:
        (folder / "used").write_text(used, encoding="ascii")
    return folder


def test_the_answers_unused_for_longest_are_dropped(tmp_path: Path) -> None:
    keep = answers(tmp_path, "keep", 500, "1")
    new, old = answers(tmp_path, "new", 300, "9"), answers(tmp_path, "old", 300, "8")
    unknown = answers(tmp_path, "unknown", 100, None)
    (tmp_path / "a file").touch()
    _prune(tmp_path, 1000, keep=keep)
    assert [folder.exists() for folder in (keep, new, old, unknown)] == [True, True, False, False]


def test_what_fits_stays_and_what_is_in_use_stays_however_large(tmp_path: Path) -> None:
    keep, other = answers(tmp_path, "keep", 500, "1"), answers(tmp_path, "other", 300, "9")
    _prune(tmp_path, 1000, keep=keep)
    assert other.exists()
    _prune(tmp_path, 100, keep=keep)
    assert keep.exists()
    assert not other.exists()


def test_a_model_that_rounds_inside_is_computed_with_other_rounding_once(tmp_path: Path, runs: list[set[str]]) -> None:
    quantised, told = load_model(qdq_network(0, 2)), list[Progress]()
    folder = reference_values(tmp_path, quantised, {"q1"}, seed=0, watch=told.append)
    assert len(runs) == 1 + REFERENCE.perturbed
    assert [(each.stage, each.done, each.total) for each in told] == [
        ("reference", n, REFERENCE.perturbed) for n in range(REFERENCE.perturbed)
    ]
    assert "rounding the other way, about" in (told[0].note or "")
    tolerances = recorded_tolerances(folder)
    assert set(tolerances) == {"q1", "y"}
    assert 0 < tolerances["y"].largest <= 0.5
    assert tolerances["q1"].largest >= 3.0
    reference_values(tmp_path, quantised, {"q1"}, seed=0)
    assert len(runs) == 1 + REFERENCE.perturbed
    again = reference_values(tmp_path / "elsewhere", load_model(qdq_network(0, 2)), {"q1"}, seed=0)
    assert recorded_tolerances(again) == tolerances


def test_an_fp32_model_leaves_nothing_open(graph: Graph, tmp_path: Path) -> None:
    assert recorded_tolerances(reference_values(tmp_path, graph, {"b"}, seed=0)) == {}


def test_slow_models_are_computed_only_once_more(graph: Graph) -> None:
    quantised = load_model(qdq_network(0, 2))
    counts = [perturbed_count(quantised, seconds) for seconds in (0.1, REFERENCE.slow_s, REFERENCE.slow_s + 1)]
    assert counts == [REFERENCE.perturbed, REFERENCE.perturbed, 1]
    assert perturbed_count(graph, 0.1) == 0


def _flip(folder: Path) -> None:
    file = min(folder.glob("*.npy"))
    content = bytearray(file.read_bytes())
    content[-1] ^= 0x40
    file.write_bytes(content)


def _be_a_file(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.touch()


def _be_a_folder(folder: Path) -> None:
    (folder / "values.json").unlink()
    (folder / "values.json").mkdir()


def _have_a_folder(folder: Path) -> None:
    min(folder.glob("*.npy")).unlink()
    (folder / "0.float32.npy").mkdir()


DAMAGES: dict[str, Callable[[Path], object]] = {
    "a bit": _flip,
    "a file that is gone": lambda folder: min(folder.glob("*.npy")).unlink(),
    "a file cut short": lambda folder: os.truncate(min(folder.glob("*.npy")), 50),
    "an index of another form": lambda folder: (folder / "values.json").write_text('{"x": 3}'),
    "an index that is a folder": _be_a_folder,
    "a value that is a folder": _have_a_folder,
    "a file for a folder": _be_a_file,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_is_damaged_is_computed_anew(damage: str, graph: Graph, tmp_path: Path, runs: list[set[str]]) -> None:
    folder = reference_values(tmp_path, graph, {"b"}, seed=3)
    before = {name: array.copy() for name, array in recorded_values(folder, ["x", "b", "y"]).items()}
    DAMAGES[damage](folder)
    assert reference_values(tmp_path, graph, {"b"}, seed=3) == folder
    after = recorded_values(folder, ["x", "b", "y"])
    assert after.keys() == before.keys()
    for name, array in before.items():
        np.testing.assert_array_equal(after[name], array)
    assert len(runs) == 2
    assert reference_values(tmp_path, graph, {"b"}, seed=3) == folder
    assert len(runs) == 2
