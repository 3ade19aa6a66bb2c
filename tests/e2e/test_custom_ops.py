"""Models with operators that ONNX does not define: those stay with ONNX Runtime, the rest is planned."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.e2e.conftest import Run

pytestmark = [pytest.mark.e2e]
Intarsia = Callable[..., Run]
TARGET = ("--target", "openvino, onnxruntime", "--partition", "greedy", "--budget", 1)
W = np.random.default_rng(0).standard_normal((4, 4)).astype(np.float32) / 4 + 3 * np.eye(4, dtype=np.float32)
X = np.random.default_rng(1).standard_normal((4, 4)).astype(np.float32)


@pytest.fixture(scope="module")
def library() -> Path:
    """That of the package onnxruntime-extensions, found without loading it into this process."""
    line = "import onnxruntime_extensions as e; print(e.get_library_path())"
    done = subprocess.run([sys.executable, "-c", line], capture_output=True, text=True, check=True)
    return Path(done.stdout.strip())


def written(folder: Path, op_type: str, domain: str, *more: str) -> Path:
    """y = Relu(op(x W, ...)) W; nothing says what comes out of the operator."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        helper.make_node(op_type, ["a", *more], ["b"], domain=domain),
        helper.make_node("Relu", ["b"], ["c"]),
        helper.make_node("MatMul", ["c", "w"], ["y"]),
    ]
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [4, 4]) for name in "xy")
    graph = helper.make_graph(nodes, "foreign", [x], [y], [numpy_helper.from_array(W, "w")])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(domain, 1)]
    path = folder / "foreign.onnx"
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    np.save(folder / "x.npy", X)
    return path


def answer(intarsia: Intarsia, artifact: Path, folder: Path, *more: object) -> np.ndarray:
    line = ("run", artifact, *more, "--input", f"x={folder / 'x.npy'}", "--output", folder)
    assert intarsia(*line).code == 0
    array: np.ndarray = np.load(folder / "y.npy")
    return array


def test_the_librarys_operator_runs_in_onnxruntime_and_the_rest_elsewhere(
    intarsia: Intarsia, library: Path, tmp_path: Path
) -> None:
    model, artifact = written(tmp_path, "Inverse", "ai.onnx.contrib"), tmp_path / "out.intarsia"
    report = intarsia("compile", model, *TARGET, "--custom-ops", library, "-o", artifact, "--json").json()
    kinds = [part["target"].split()[0] for part in report["partitions"]]
    assert kinds == ["openvino", "onnxruntime", "openvino"]
    assert report["max_rel_error"] < 1e-4
    want = np.maximum(np.linalg.inv(X @ W), 0) @ W
    unasked = intarsia("run", artifact, "--random")
    assert (unasked.code, f"--allow {library.resolve()}" in unasked.err) == (2, True)
    allowed = ("--allow", library.resolve())
    np.testing.assert_allclose(answer(intarsia, artifact, tmp_path, *allowed), want, rtol=1e-4, atol=1e-5)


def test_operators_of_onnxruntime_itself_need_no_library(intarsia: Intarsia, tmp_path: Path) -> None:
    model, artifact = written(tmp_path, "FusedMatMul", "com.microsoft", "w"), tmp_path / "out.intarsia"
    report = intarsia("compile", model, *TARGET, "-o", artifact, "--json").json()
    assert [part["target"].split()[0] for part in report["partitions"]] == ["openvino", "onnxruntime", "openvino"]
    want = np.maximum(X @ W @ W, 0) @ W
    np.testing.assert_allclose(answer(intarsia, artifact, tmp_path), want, rtol=1e-4, atol=1e-4)


def test_without_its_library_the_error_says_how_to_name_it(intarsia: Intarsia, tmp_path: Path) -> None:
    run = intarsia("compile", written(tmp_path, "Inverse", "ai.onnx.contrib"), *TARGET)
    assert run.code == 2
    assert "ai.onnx.contrib:Inverse" in run.err
    assert "--custom-ops" in run.err


def test_a_library_that_is_not_there(intarsia: Intarsia, tmp_path: Path) -> None:
    run = intarsia("compile", written(tmp_path, "Inverse", "x"), *TARGET, "--custom-ops", tmp_path / "no.so")
    assert run.code == 2
    assert f"{tmp_path / 'no.so'} is not there" in run.err


def test_a_library_and_nobody_to_take_it(intarsia: Intarsia, library: Path, tmp_path: Path) -> None:
    run = intarsia("compile", written(tmp_path, "Inverse", "x"), "--target", "openvino", "--custom-ops", library)
    assert run.code == 2
    assert "add onnxruntime to --target" in run.err
