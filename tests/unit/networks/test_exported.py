"""Networks that torch exports: judged where the `bench` extra is installed; that they can be named, everywhere."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

import networks
from intarsia.graph import load_model

LARGEST_MB = 1200
# Boxes of the detector are in pixels, everything else is of order one.
LARGEST_OUTPUT = 2e3


def test_the_suite_names_each_network_once() -> None:
    assert len(networks.SUITE) == len(set(networks.SUITE)) >= 24
    assert set(networks.SUITE) <= {*networks.NAMES, *networks.EXPORTED}


@pytest.mark.parametrize(("name", "file"), networks.EXPORTED.items())
def test_every_exported_network_has_a_builder_in_its_file(name: str, file: str) -> None:
    source = Path(networks.__file__).with_name(f"{file}.py").read_text(encoding="utf-8")
    assert name in {node.name for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)}


def test_without_torch_the_extra_to_install_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "networks.exported", raising=False)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"'unet' is built with torch; pip install 'intarsia\[bench\]'"):
        networks.build("unet")


@pytest.fixture(scope="module")
def _bench() -> None:
    for package in ("torch", "transformers", "onnxruntime"):
        pytest.importorskip(package, reason=f"the `bench` extra is not installed: no {package}")


@pytest.mark.slow
@pytest.mark.usefixtures("_bench")
@pytest.mark.parametrize("name", networks.EXPORTED)
def test_an_exported_network_has_fixed_shapes_and_finite_outputs_with_spread(name: str, tmp_path: Path) -> None:
    import onnxruntime

    path = networks.save(name, tmp_path)
    assert path.stat().st_size < LARGEST_MB * 1e6
    model = onnx.load(path)
    values = (*model.graph.input, *model.graph.output)
    assert all(dim.dim_value > 0 for value in values for dim in value.type.tensor_type.shape.dim)
    assert not any(node.metadata_props or node.doc_string for node in model.graph.node)
    assert len(load_model(path).nodes) > 0
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    for output in session.run(None, networks.feeds(model)):
        assert np.isfinite(output).all()
        assert output.std() > 0.01
        assert np.abs(output).max() < LARGEST_OUTPUT


@pytest.mark.slow
@pytest.mark.usefixtures("_bench")
def test_the_same_seed_exports_the_same_bytes_and_another_seed_other_weights() -> None:
    first, again, other = (networks.build("vocoder", seed).SerializeToString() for seed in (3, 3, 4))
    assert first == again
    assert first != other
