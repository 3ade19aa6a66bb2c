from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper

from intarsia.errors import ModelError
from intarsia.graph import load_model
from intarsia.graph.fingerprint import content_hash
from intarsia.graph.parts import MappedTensor
from intarsia.graph.reading.read import read_model
from tests.unit.graph.models import info, model, two_layers


def _external(folder: Path) -> Path:
    path = folder / "m.onnx"
    onnx.save_model(two_layers(), path, save_as_external_data=True, location="m.data", size_threshold=0)
    return path


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "no model file"),
        (b"", "is empty"),
        (b"this is a text about models, and not a model", "not an ONNX model"),
        (b"\x08\x0a", "holds no graph"),
        (onnx.ModelProto(ir_version=8, graph=onnx.GraphProto(name="g")).SerializeToString(), "empty graph"),
    ],
)
def test_a_file_that_is_no_model_is_named(tmp_path: Path, content: bytes | None, words: str) -> None:
    path = tmp_path / "odd.onnx"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ModelError, match=words) as caught:
        load_model(path)
    assert str(path) in str(caught.value)


def test_a_folder_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="is a folder"):
        load_model(tmp_path)


@given(st.integers(0, len(two_layers().SerializeToString()) - 1))
def test_a_file_cut_short_never_passes_and_never_leaks_a_foreign_error(size: int) -> None:
    with pytest.raises(ModelError):
        load_model(two_layers().SerializeToString()[:size])


@given(st.binary(max_size=200))
def test_bytes_of_any_kind_are_refused_in_our_words(content: bytes) -> None:
    with pytest.raises(ModelError):
        load_model(content)


def test_external_data_is_found_beside_the_model_and_stays_mapped(tmp_path: Path) -> None:
    graph = load_model(_external(tmp_path))
    inside = load_model(two_layers())
    weight = graph.weights["w0"]
    assert isinstance(weight.source, MappedTensor)
    assert weight.array().flags.writeable
    assert not weight.array().flags.owndata
    np.testing.assert_array_equal(weight.array(), inside.weights["w0"].array())
    assert content_hash(graph) == content_hash(inside)


def test_missing_external_data_is_named(tmp_path: Path) -> None:
    path = _external(tmp_path)
    (tmp_path / "m.data").unlink()
    with pytest.raises(ModelError, match=r"'w0' in .*m\.data, which is missing"):
        load_model(path)


def test_external_data_cut_short_is_named(tmp_path: Path) -> None:
    path = _external(tmp_path)
    data = tmp_path / "m.data"
    data.write_bytes(data.read_bytes()[:-1])
    with pytest.raises(ModelError, match=r"m\.data is cut short: weight 'w1'"):
        load_model(path)


def test_small_external_data_is_read_so_that_inference_sees_it(tmp_path: Path) -> None:
    nodes = [helper.make_node("Reshape", ["x", "shape"], ["y"])]
    proto = model(nodes, [info("x")], [info("y", None)], {"shape": np.array([3, 2])})
    path = tmp_path / "m.onnx"
    onnx.save_model(proto, path, save_as_external_data=True, location="m.data", size_threshold=0)
    assert load_model(path).values["y"].shape == (3, 2)


def test_a_weight_with_too_few_bytes_is_named() -> None:
    proto = two_layers()
    proto.graph.initializer[1].raw_data = proto.graph.initializer[1].raw_data[:-4]
    with pytest.raises(ModelError, match="'w1' has fewer bytes"):
        load_model(proto)


@pytest.mark.parametrize("flat", [True, False])
def test_sparse_weights_become_dense(flat: bool) -> None:
    proto = model([helper.make_node("Add", ["x", "s"], ["y"])], [info("x")], [info("y")])
    values = onnx.numpy_helper.from_array(np.array([5, 7], np.float32), "s")
    places = np.array([1, 5]) if flat else np.array([[0, 1], [1, 2]])
    proto.graph.sparse_initializer.append(
        helper.make_sparse_tensor(values, onnx.numpy_helper.from_array(places, "places"), [2, 3])
    )
    content = load_model(proto).weights["s"].array()
    np.testing.assert_array_equal(content, np.array([[0, 5, 0], [0, 0, 7]], np.float32))


def test_a_model_in_memory_is_copied_before_it_is_changed() -> None:
    held = ir.from_proto(two_layers())
    assert read_model(held) is not held


def test_a_zip_is_told_from_a_damaged_model(tmp_path: Path) -> None:
    path = tmp_path / "m.intarsia"
    path.write_bytes(b"PK\x03\x04" + bytes(99))
    with pytest.raises(
        ModelError, match=r"is a zip file, not an ONNX model. Is it an artifact\? Then it is compiled already"
    ):
        read_model(path)
