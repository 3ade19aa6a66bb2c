"""The same script, with the import of ONNX Runtime and with ours: what it sees and computes is the same."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from intarsia.backends import registry
from intarsia.interop import compiled
from tests.unit.graph.models import info, model
from tests.unmeasured import unmeasured

SCRIPT = Path(__file__).with_name("ort_script.py")
ENGINES = ("openvino",)
"""Not the engine that it is compared with. `test_python_page.py` has a session that measures."""
pytestmark = pytest.mark.e2e


def fixed() -> onnx.ModelProto:
    """Two outputs, one of them no float, of a model with a name, a description and metadata of its own."""
    weight = np.random.default_rng(1).standard_normal((32, 32)).astype(np.float32)
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"]),
        helper.make_node("Relu", ["h"], ["y"]),
        helper.make_node("ArgMax", ["y"], ["size"], axis=1),
    ]
    outputs = [info("y", (4, 32)), info("size", (4, 1), TensorProto.INT64)]
    made = model(nodes, [info("x", (4, 32))], outputs, {"w": weight})
    made.producer_name, made.doc_string, made.domain, made.model_version = "a test", "told", "org.example", 7
    made.metadata_props.append(onnx.StringStringEntryProto(key="classes", value="32"))
    return made


def open_() -> onnx.ModelProto:
    """Embeds ids of open length, and hides what a mask says."""
    table = numpy_helper.from_array(np.random.default_rng(2).standard_normal((8, 16)).astype(np.float32), "table")
    nodes = [
        helper.make_node("Gather", ["table", "ids"], ["rows"]),
        helper.make_node("Unsqueeze", ["mask", "last"], ["wide"]),
        helper.make_node("Cast", ["wide"], ["factor"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["rows", "factor"], ["y"]),
    ]
    inputs = [info("ids", (1, "length"), TensorProto.INT64), info("mask", (1, "length"), TensorProto.BOOL)]
    made = model(nodes, inputs, [info("y", (1, "length", 16))], {"last": np.array([-1])})
    made.graph.initializer.append(table)
    return made


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    onnx.save(fixed(), folder / "fixed.onnx")
    onnx.save(open_(), folder / "open.onnx")
    return folder


def ran(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the script leaves."""
    script = folder / "script.py"
    script.write_text(text, encoding="utf-8")
    monkeypatch.setattr(sys, "argv", [str(script), str(folder)])
    return runpy.run_path(str(script))


def test_a_script_runs_with_the_import_changed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "usable", lambda: ENGINES)
    monkeypatch.setattr(compiled, "compile", unmeasured)
    text = SCRIPT.read_text(encoding="utf-8")
    line = "import onnxruntime as ort"
    assert text.count(line) == 1
    theirs = ran(folder, text, monkeypatch)
    ours = ran(folder, text.replace(line, "import intarsia.onnxruntime as ort"), monkeypatch)
    assert ours["ort"].__name__ == "intarsia.onnxruntime"
    assert ours["seen"] == theirs["seen"]
    assert ours["arrays"].keys() == theirs["arrays"].keys()
    for what, expected in theirs["arrays"].items():
        for mine, its in zip(ours["arrays"][what], expected, strict=True):
            assert (mine.dtype, mine.shape) == (its.dtype, its.shape), what
            np.testing.assert_allclose(mine, its, rtol=1e-4, atol=1e-4, err_msg=what)
