"""A model whose files are links, as in the cache of Hugging Face, goes through every verb and every door."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import intarsia
import intarsia.onnxruntime as ort
from tests.e2e.conftest import Run
from tests.unit.graph.reading.test_external import LAYOUTS, large, saved

pytestmark = [pytest.mark.e2e]
Intarsia = Callable[..., Run]
X = np.arange(6, dtype=np.float32).reshape(2, 3)


def expected(folder: Path) -> np.ndarray:
    """What ONNX Runtime makes of the same model without links."""
    import onnxruntime

    session = onnxruntime.InferenceSession(str(saved(folder / "plain")))
    return np.asarray(session.run(None, {"x": X})[0])


@pytest.mark.parametrize("layout", [LAYOUTS[0], *(pytest.param(each, marks=pytest.mark.large) for each in LAYOUTS[1:])])
def test_every_verb(layout: Callable[[Path], Path], intarsia: Intarsia, tmp_path: Path) -> None:
    path, artifact = layout(tmp_path / "cache"), tmp_path / "net.intarsia"
    store = ("--store", tmp_path / "records.sqlite")
    done = intarsia("compile", path, "--target", "onnxruntime", "--budget", 1, "-o", artifact, *store)
    assert done.code == 0, done.err
    np.save(tmp_path / "x.npy", X)
    ran = intarsia("run", artifact, "--input", f"x={tmp_path / 'x.npy'}", "--output", tmp_path / "out", "--json")
    assert ran.code == 0, ran.err
    np.testing.assert_allclose(np.load(tmp_path / "out" / "y.npy"), expected(tmp_path), rtol=1e-5)
    for line in (
        ("verify", artifact, *store),
        ("bench", artifact, "--budget", 1),
        ("explain", artifact),
        ("export", artifact, tmp_path / "files"),
        ("tune", path, "--target", "onnxruntime", "--budget", 1, *store),
    ):
        done = intarsia(*line)
        assert done.code in (0, 6), done.err  # 6: the machine was too noisy, or an engine alone is better


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_door_of_python(layout: Callable[[Path], Path], tmp_path: Path) -> None:
    path, answer = layout(tmp_path / "cache"), expected(tmp_path)
    settings: dict[str, Any] = {"target": "reference", "budget": 1, "store": tmp_path / "records.sqlite"}
    with intarsia.compile(path, **settings) as model:
        np.testing.assert_allclose(model({"x": X})["y"], answer, rtol=1e-5)
    session = ort.InferenceSession(str(path), cache=tmp_path / "kept", **settings)
    np.testing.assert_allclose(session.run(None, {"x": X})[0], answer, rtol=1e-5)
    assert [end.name for end in session.get_inputs()] == ["x"]


def test_a_model_that_names_a_file_elsewhere_reads_nothing(intarsia: Intarsia, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"s" * 3 * 512 * 4)
    proto = large()
    (tmp_path / "own").mkdir()
    for place in (str(secret), "../secret"):
        weight = proto.graph.initializer[0]
        weight.ClearField("raw_data")
        weight.ClearField("external_data")
        weight.data_location = 1
        weight.external_data.add(key="location", value=place)
        (tmp_path / "own" / "m.onnx").write_bytes(proto.SerializeToString())
        done = intarsia("compile", tmp_path / "own" / "m.onnx", "--target", "reference", "--json")
        assert done.code == 2
        assert json.loads(done.out)["error"]["type"] == "ModelError"
        assert "none outside of it is read" in done.err
