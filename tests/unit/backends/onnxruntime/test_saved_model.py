from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from intarsia.backends.onnxruntime.saved_model import StoredTensor, stored_tensors
from intarsia.errors import ModelError
from tests.unit.graph.models import info, model


def with_a_data_file() -> onnx.ModelProto:
    """A model of which one weight is in a data file and one is not."""
    nodes = [helper.make_node("Add", ["x", "w"], ["a"]), helper.make_node("Add", ["a", "v"], ["y"])]
    weights = {"w": np.ones((16, 8), np.float32), "v": np.ones(8, np.float32)}
    proto = model(nodes, [info("x", (16, 8))], [info("y", (16, 8))], weights)
    tensor = proto.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in (("location", "weights.bin"), ("offset", "128"), ("length", "512")):
        tensor.external_data.add(key=key, value=value)
    return proto


def test_tensors_in_the_data_file_are_listed() -> None:
    expected = StoredTensor(name="w", dtype="float32", shape=(16, 8), offset=128, nbytes=512)
    assert stored_tensors(with_a_data_file().SerializeToString()) == (expected,)


def test_bytes_that_are_no_model_are_refused() -> None:
    with pytest.raises(ModelError, match="not an ONNX model"):
        stored_tensors(b"\xff\xff\xff")
