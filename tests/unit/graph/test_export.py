from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from intarsia.errors import ModelError
from intarsia.graph import export, extract, load_model
from intarsia.graph.fingerprint import content_hash
from tests.unit.graph.models import two_layers


def test_a_large_model_gets_a_data_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "INLINE_LIMIT", 1000)
    graph = load_model(two_layers())
    path = tmp_path / "m.onnx"
    extract(graph, graph.position).save(path)
    assert {entry.name for entry in tmp_path.iterdir()} == {"m.onnx", "m.onnx.data"}
    again = load_model(path)
    assert content_hash(again) == content_hash(graph)
    assert not again.weights["w0"].array().flags.owndata


def test_a_model_too_large_for_one_message_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "MESSAGE_LIMIT", 5000)
    graph = load_model(two_layers())
    with pytest.raises(ModelError, match="larger than 2 GB"):
        extract(graph, graph.position).to_bytes(weights="inline")
    assert extract(graph, graph.position).to_bytes(weights="external")


def test_raw_bytes_are_not_copied() -> None:
    weight = load_model(two_layers()).weights["w0"]
    assert np.shares_memory(np.frombuffer(export.raw(weight), np.float32), weight.array())
