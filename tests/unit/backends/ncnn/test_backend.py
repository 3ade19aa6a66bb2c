"""What ncnn's file does without ncnn: what it says of itself, and what it compiles to."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from intarsia.backends.ncnn.backend import NcnnBackend
from intarsia.config.settings import RunSettings, Spin
from intarsia.errors import LoadError
from intarsia.graph import Graph, extract, load_model
from intarsia.target import Target

BACKEND = NcnnBackend()
TARGET = Target("ncnn")
SETTINGS = RunSettings(threads=2)
WEIGHT = np.arange(24, dtype=np.float32).reshape(2, 3, 2, 2)


def convolution() -> Graph:
    proto = helper.make_graph(
        [helper.make_node("Conv", ["x", "w"], ["y"], name="conv")],
        "test",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 3, 5, 5))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (1, 2, 4, 4))],
        [numpy_helper.from_array(WEIGHT, "w")],
    )
    model: onnx.ModelProto = helper.make_model(proto, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    return load_model(model)


def test_weights_are_named_not_copied() -> None:
    artifact = BACKEND.compile(extract(convolution(), ["conv"]), TARGET, SETTINGS)
    assert artifact.weights == ("w",)
    assert artifact.files["derived.bin"] == b""
    assert json.loads(json.dumps(artifact.meta)) == artifact.meta


def test_a_missing_weight_is_named_before_ncnn_is_loaded() -> None:
    artifact = BACKEND.compile(extract(convolution(), ["conv"]), TARGET, SETTINGS)
    with pytest.raises(LoadError, match="ncnn failed at load: no array for the weights w"):
        BACKEND.load(artifact, {}, TARGET, SETTINGS)


def test_exported_files_are_ncnns_own(tmp_path: Path) -> None:
    paths = BACKEND.export(extract(convolution(), ["conv"]), Target("ncnn -threads=1"), SETTINGS, tmp_path)
    assert [path.name for path in paths] == ["model.param", "model.bin", "options.json"]
    assert paths[0].read_text().startswith("7767517\n2 2\nInput ")
    assert paths[1].read_bytes() == b"\0\0\0\0" + WEIGHT.tobytes()
    options = json.loads(paths[2].read_text())
    assert options["opt"]["num_threads"] == 1
    assert options["outputs"][0]["name"] == "y"


@pytest.mark.parametrize(
    ("spin", "policy", "rounds"),
    [(Spin.FREE, None, None), (Spin.CALL, None, "2000"), (Spin.NEVER, "passive", "0")],
)
def test_spinning_is_a_matter_of_the_environment(spin: Spin, policy: str | None, rounds: str | None) -> None:
    wanted = BACKEND.environment(RunSettings(threads=2, spin=spin))
    assert wanted.items() >= {"OMP_WAIT_POLICY": policy, "GOMP_SPINCOUNT": rounds}.items()


def test_winograd_is_tried_both_ways_unless_it_is_stated() -> None:
    assert [str(target) for target in BACKEND.variants(TARGET)] == ["ncnn", "ncnn -winograd=false"]
    stated = Target("ncnn -winograd=true")
    assert BACKEND.variants(stated) == (stated,)
