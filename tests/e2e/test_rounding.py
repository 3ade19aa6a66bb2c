"""Real engines on models that round inside: right ones ship whichever way they round, at any batch."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import openvino
import pytest
from onnx import helper, numpy_helper

import intarsia
from intarsia.onnxruntime import InferenceSession
from tests.unit.graph.models import info, model
from tests.unit.graph.quantised import dynamic_network, half_network, qdq_network

NETWORKS = {
    "images": lambda: qdq_network(1, 4),
    "products per tensor": lambda: qdq_network(2, 4, per_channel=False, images=False),
    "dynamic": lambda: dynamic_network(0),
    "half": lambda: half_network(0),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_the_best_engine_ships_and_says_its_difference(name: str, tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(NETWORKS[name](), path)
    targets = "onnxruntime, openvino"
    with intarsia.compile(path, targets, budget=60, store=tmp_path / "r.sqlite", strict=True) as compiled:
        report = compiled.report
    assert report["verified"]
    assert report["max_rel_error"] <= report["allowed_error"]
    wrong = {
        s["target"] for s in report["singles"] if s.get("failure", {"stage": "capability"})["stage"] != "capability"
    }
    assert wrong <= ({"openvino"} if openvino_saturates() else set())
    if name.startswith(("images", "products")):
        (onnxruntime,) = (single for single in report["singles"] if single["target"] == "onnxruntime")
        assert onnxruntime["stages"] == {"stages": 5, "fault": None, "skipped": None, "cause": None}


def openvino_saturates() -> bool:
    """Whether OpenVINO adds products of uint8 and int8 in 16 bits here, as it does on x86 without VNNI."""
    weights = {"s": np.float32(1), "u": np.uint8(0), "i": np.int8(0), "w": np.full((64, 64, 1, 1), 127, np.int8)}
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "u"], ["xq"]),
        helper.make_node("DequantizeLinear", ["xq", "s", "u"], ["xd"]),
        helper.make_node("DequantizeLinear", ["w", "s", "i"], ["wd"]),
        helper.make_node("Conv", ["xd", "wd"], ["y"]),
    ]
    proto = model(nodes, [info("x", (1, 64, 8, 8))], [info("y", (1, 64, 8, 8))], weights)
    compiled = openvino.Core().compile_model(openvino.Core().read_model(proto.SerializeToString()), "CPU")
    (y,) = compiled(np.full((1, 64, 8, 8), 255, np.float32)).values()
    return bool(abs(y.ravel()[0] / (64 * 127 * 255) - 1) > 0.1)


def test_the_drop_in_session_runs_a_quantised_model(tmp_path: Path) -> None:
    proto = qdq_network(3)
    session = InferenceSession(proto.SerializeToString(), budget=1, store=tmp_path / "r.sqlite", cache=tmp_path)
    x = np.random.default_rng(0).standard_normal((2, 12, 6, 6)).astype(np.float32)
    (y,) = session.run(None, {"x": x})
    assert np.isfinite(y).all()


def test_outputs_that_vanish_are_remarked_and_not_refused(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    weights = {f"w{n}": (rng.standard_normal((8, 8)) * 1e-9).astype(np.float32) for n in range(5)}
    nodes = [helper.make_node("MatMul", [f"h{n}", f"w{n}"], [f"h{n + 1}"]) for n in range(5)]
    proto = model(nodes, [info("h0", (4, 8))], [info("h5", (4, 8))], weights)
    assert numpy_helper.to_array(proto.graph.initializer[0]).any()
    path = tmp_path / "m.onnx"
    onnx.save(proto, path)
    with intarsia.compile(path, "onnxruntime, openvino", budget=1, store=tmp_path / "r.sqlite") as compiled:
        (remark,) = compiled.report["remarks"]
        assert remark.startswith("output h5 is vanishingly small (")
        assert compiled.report["verified"]
