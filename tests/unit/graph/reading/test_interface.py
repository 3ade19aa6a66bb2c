"""What a model says of itself is read as ONNX Runtime reads it, and its digest covers its weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from intarsia.errors import ModelError
from intarsia.graph.reading.interface import digest_of, interface_of
from tests.unit.graph.models import info, model, two_layers


def odd() -> onnx.ModelProto:
    """Inputs of every kind of dimension; one has a value of its own; an output has no shape in the file."""
    nodes = [
        helper.make_node("Add", ["x", "bias"], ["y"]),
        helper.make_node("Cast", ["n"], ["z"], to=TensorProto.DOUBLE),
        helper.make_node("Identity", ["text"], ["said"]),
    ]
    inputs = [info("x", ("batch", None, 3)), info("bias", (3,)), info("n", (), TensorProto.INT64)]
    inputs.append(info("text", (2,), TensorProto.STRING))
    outputs = [
        info("y", ("batch", None, 3)),
        info("z", None, TensorProto.DOUBLE),
        info("said", (2,), TensorProto.STRING),
    ]
    made = model(nodes, inputs, outputs, {"bias": np.ones(3, np.float32)})
    made.producer_name, made.model_version = "someone", 3
    return made


def test_it_is_what_onnx_runtime_tells() -> None:
    content = odd().SerializeToString()
    found, session = interface_of(content), onnxruntime.InferenceSession(content)
    for mine, its in (
        (found.inputs, session.get_inputs()),
        (found.outputs, session.get_outputs()),
        (found.overridable, session.get_overridable_initializers()),
    ):
        assert [(end.name, end.type, list(end.dims or ())) for end in mine] == [(e.name, e.type, e.shape) for e in its]
    assert [end.dtype for end in found.outputs] == ["float32", "float64", "string"]
    assert (found.producer, found.version, found.name) == ("someone", 3, "test")


def test_types_that_are_no_tensors() -> None:
    tensor = helper.make_tensor_type_proto(TensorProto.FLOAT, None)
    types = {
        "seq(tensor(float))": helper.make_sequence_type_proto(tensor),
        "optional(tensor(float))": helper.make_optional_type_proto(tensor),
        "map(int64,tensor(float))": helper.make_map_type_proto(TensorProto.INT64, tensor),
        "sparse_tensor(float)": helper.make_sparse_tensor_type_proto(TensorProto.FLOAT, (3,)),
    }
    inputs = [helper.make_value_info(text, type_) for text, type_ in types.items()]
    made = model([helper.make_node("Relu", ["x"], ["y"])], [*inputs, info("x")], [info("y")])
    assert [end.type for end in interface_of(made.SerializeToString()).inputs] == [*types, "tensor(float)"]


def test_the_digest_tells_models_and_weights_apart(tmp_path: Path) -> None:
    digests = {digest_of(two_layers(seed).SerializeToString()) for seed in range(2)}
    assert len(digests) == 2
    for seed in range(2):
        folder = tmp_path / str(seed)
        folder.mkdir()
        onnx.save(two_layers(seed), folder / "m.onnx", save_as_external_data=True, location="m.data", size_threshold=0)
        digests.add(digest_of(folder / "m.onnx"))
    assert (tmp_path / "0" / "m.onnx").read_bytes() == (tmp_path / "1" / "m.onnx").read_bytes()
    assert len(digests) == 4
    (tmp_path / "0" / "m.data").unlink()
    with pytest.raises(ModelError, match=r"keeps weights in .*m\.data, which is missing; fetch all files"):
        digest_of(tmp_path / "0" / "m.onnx")


def test_weights_of_nested_graphs_count(tmp_path: Path) -> None:
    branch = helper.make_graph([], "b", [], [info("w", (2,))], [numpy_helper.from_array(np.ones(2, np.float32), "w")])
    tensor = branch.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.append(onnx.StringStringEntryProto(key="location", value="absent.data"))
    node = helper.make_node("If", ["x"], ["y"], then_branch=branch, else_branch=branch)
    made = model([node], [info("x", (), TensorProto.BOOL)], [info("y", (2,))])
    (tmp_path / "m.onnx").write_bytes(made.SerializeToString())
    with pytest.raises(ModelError, match=r"absent\.data"):
        digest_of(tmp_path / "m.onnx")


@pytest.mark.parametrize(("content", "message"), [(b"", "is empty"), (b"no model", "not an ONNX model")])
def test_what_is_no_model_is_refused(content: bytes, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        interface_of(content)
