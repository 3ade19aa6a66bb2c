from __future__ import annotations

import json
from importlib import util
from pathlib import Path
from typing import Any

import pytest

from intarsia.backends.onnxruntime.backend import OnnxRuntimeBackend
from intarsia.config.settings import RunSettings, Spin
from intarsia.graph import SubModel, extract, load_model
from intarsia.target import Target
from tests.conformance.boundary_cases import SMALL_NET


def small_net() -> SubModel:
    graph = load_model(SMALL_NET.model())
    return extract(graph, (node.id for node in graph.nodes))


def exported(target: str, folder: Path, **settings: Any) -> dict[str, Any]:
    backend = OnnxRuntimeBackend()
    model, options = backend.export(small_net(), Target(target), RunSettings(**settings), folder)
    assert model.name == "model.onnx"
    assert [value.name for value in load_model(model).values.values() if value.is_input] == ["x"]
    content: dict[str, Any] = json.loads(options.read_text(encoding="utf-8"))
    return content


def test_exported_options_are_those_of_target_and_plan(tmp_path: Path) -> None:
    options = exported("onnxruntime -optimization-level=basic -threads=2", tmp_path, threads=4, spin=Spin.NEVER)
    assert options["graph_optimization_level"] == "ORT_ENABLE_BASIC"
    assert options["intra_op_num_threads"] == 2
    assert options["providers"] == ["CPUExecutionProvider"]
    assert options["session_config"] == {"session.x64quantprecision": "1", "session.intra_op.allow_spinning": "0"}


@pytest.mark.parametrize(("spin", "config"), [(Spin.FREE, {}), (Spin.CALL, {"session.force_spinning_stop": "1"})])
def test_spinning_is_a_setting_of_the_plan(tmp_path: Path, spin: Spin, config: dict[str, str]) -> None:
    assert exported("onnxruntime", tmp_path, threads=4, spin=spin)["session_config"] == {
        "session.x64quantprecision": "1",
        **config,
    }


def test_variants_keep_what_the_user_stated() -> None:
    backend = OnnxRuntimeBackend()
    assert [each["optimization-level"] for each in backend.variants(Target("onnxruntime"))] == ["all", "extended"]
    stated = Target("onnxruntime -optimization-level=disable")
    assert backend.variants(stated) == (stated,)


def test_large_weights_stay_outside_the_artifact() -> None:
    model = small_net()
    artifact = OnnxRuntimeBackend().compile(model, Target("onnxruntime"), RunSettings(threads=1))
    assert set(artifact.weights) == {name for name, weight in model.weights.items() if weight.nbytes > 1024}
    assert len(artifact.files["model.onnx"]) < sum(weight.nbytes for weight in model.weights.values())
    assert json.loads(json.dumps(artifact.meta)) == artifact.meta


def test_an_absent_engine_says_what_mends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(util, "find_spec", lambda name: None)
    found = OnnxRuntimeBackend().probe()
    assert not found.usable
    assert found.fix == "pip install 'intarsia[onnxruntime]'"
