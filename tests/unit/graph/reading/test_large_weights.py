from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from intarsia.errors import IntarsiaError, ModelError
from intarsia.graph import load_model
from intarsia.graph.fingerprint import content_hash
from intarsia.graph.reading import large_weights, read
from intarsia.graph.reading.large_weights import read_large_weights
from tests.unit.graph.models import info, model

TYPES = (
    np.float32, np.float64, np.float16, ml_dtypes.bfloat16, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32,
    np.int64, np.uint64,
)  # fmt: skip


@pytest.fixture(autouse=True)
def all_is_large() -> Iterator[None]:
    """Small files are read as large ones are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(read, "LARGE_FILE", 0)
        patch.setattr(large_weights, "_LARGE_WEIGHT", 0)
        patch.setattr(large_weights, "_WINDOW", 48)
        yield


def _of_all_types() -> onnx.ModelProto:
    rng = np.random.default_rng(0)
    weights = {f"w{number}": rng.integers(0, 9, (3, number + 1)).astype(dtype) for number, dtype in enumerate(TYPES)}
    nodes = [
        helper.make_node("Cast", [name], [f"y{name}"], to=TensorProto.FLOAT, name=f"cast {name}") for name in weights
    ]
    outputs = [info(f"y{name}", weight.shape) for name, weight in weights.items()]
    reads = helper.make_node("Relu", ["x"], ["r"], name="relu")
    return model([reads, *nodes], [info("x", [2])], [info("r", [2]), *outputs], weights)


def _two_products() -> onnx.ModelProto:
    rng = np.random.default_rng(1)
    weights = {name: rng.standard_normal((4, 4)).astype(np.float32) for name in "ab"}
    nodes = [
        helper.make_node("MatMul", ["x", "a"], ["h"], name="first"),
        helper.make_node("MatMul", ["h", "b"], ["y"], name="second"),
    ]
    return model(nodes, [info("x", [2, 4])], [info("y", [2, 4])], weights)


def _parts(content: bytes, tmp_path: Path) -> large_weights.LargeWeights | None:
    path = tmp_path / "m.onnx"
    path.write_bytes(content)
    with path.open("rb") as file:
        return read_large_weights(file)


def _told(source: bytes | Path) -> str:
    """What a model is, or what is said against it, whatever it is called."""
    try:
        return content_hash(load_model(source))
    except IntarsiaError as error:
        return str(error).replace(str(source), "the model") if isinstance(source, Path) else str(error)


def test_weights_of_each_type_come_apart_and_the_message_has_none(tmp_path: Path) -> None:
    whole = _of_all_types()
    parts = _parts(whole.SerializeToString(), tmp_path)
    assert parts is not None
    assert list(parts.arrays) == [tensor.name for tensor in whole.graph.initializer]
    for tensor in whole.graph.initializer:
        np.testing.assert_array_equal(parts.arrays[tensor.name], numpy_helper.to_array(tensor))
    message = onnx.ModelProto.FromString(parts.message)
    assert not any(tensor.raw_data for tensor in message.graph.initializer)
    del message.graph.initializer[:]
    del whole.graph.initializer[:]
    assert message == whole


def test_the_model_is_that_which_protobuf_reads(tmp_path: Path) -> None:
    for whole in (_of_all_types(), _two_products()):
        path = tmp_path / "m.onnx"
        path.write_bytes(whole.SerializeToString())
        assert content_hash(load_model(path)) == content_hash(load_model(whole))


def test_weights_are_in_one_piece_of_memory_at_aligned_addresses(tmp_path: Path) -> None:
    parts = _parts(_of_all_types().SerializeToString(), tmp_path)
    assert parts is not None
    assert all(array.ctypes.data % 64 == 0 and array.flags.writeable for array in parts.arrays.values())
    assert len({id(_owner(array)) for array in parts.arrays.values()}) == 1


def _owner(array: np.ndarray) -> np.ndarray:
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def test_what_is_not_sound_stays_in_the_message(tmp_path: Path) -> None:
    """So the checks of tensors find it, and say what is wrong."""
    whole = _two_products()
    first, second = whole.graph.initializer
    first.dims[0] = 5  # longer than its content
    second.float_data.append(1.0)  # content twice
    parts = _parts(whole.SerializeToString(), tmp_path)
    assert parts is not None
    assert not parts.arrays
    assert onnx.ModelProto.FromString(parts.message) == whole


def test_content_given_twice_and_text_stay(tmp_path: Path) -> None:
    whole = _two_products()
    names = numpy_helper.from_array(np.array(["a", "b"], object), "names")
    whole.graph.initializer.append(names)
    plain = whole.SerializeToString()
    doubled = _with_raw_twice(whole)
    assert doubled != plain
    parts = _parts(doubled, tmp_path)
    assert parts is not None
    assert list(parts.arrays) == ["b"]


def test_a_number_in_the_place_of_a_weight_or_of_its_content_is_none(tmp_path: Path) -> None:
    whole = _two_products()
    tensor = whole.graph.initializer[0].SerializeToString() + b"\x48\x07"  # field 9, the number 7
    graph = whole.graph.SerializeToString() + large_weights._encoded(5, tensor) + b"\x28\x07"
    parts = _parts(large_weights._encoded(7, graph), tmp_path)
    assert parts is not None
    assert list(parts.arrays) == ["a", "b"]
    found = onnx.ModelProto.FromString(parts.message).graph
    assert [bool(each.raw_data) for each in found.initializer] == [False, False, True]


def _with_raw_twice(whole: onnx.ModelProto) -> bytes:
    """Protobuf takes the last of several contents."""
    first = whole.graph.initializer[0]
    again = first.SerializeToString() + TensorProto(raw_data=first.raw_data).SerializeToString()
    graph = onnx.GraphProto()
    graph.CopyFrom(whole.graph)
    del graph.initializer[:]
    body = graph.SerializeToString()
    for content in (again, *(tensor.SerializeToString() for tensor in whole.graph.initializer[1:])):
        body += large_weights._encoded(5, content)
    rest = onnx.ModelProto()
    rest.CopyFrom(whole)
    rest.ClearField("graph")
    return bytes(rest.SerializeToString()) + large_weights._encoded(7, body)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x3a\x7f",  # a graph longer than the file
        b"\x3b",  # the beginning of a group
        b"\x80" * 20,
        b"\x3a\x00\x3a\x00",  # two graphs
        b"\x38\x2a",  # a number in the graph's place
        b"\x3a\x03\x2a\x01\xff",  # a weight that does not parse
    ],
)
def test_protobuf_reads_what_is_laid_out_in_another_way(tmp_path: Path, content: bytes) -> None:
    assert _parts(content, tmp_path) is None


def test_a_file_that_becomes_shorter_meanwhile_is_left_to_protobuf(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    content = _two_products().SerializeToString()
    path.write_bytes(content)

    class Shorter(io.FileIO):
        def readinto(self, _: object) -> int:
            return 0

    with Shorter(path) as file:
        assert read_large_weights(file) is None


@given(st.data())
def test_a_damaged_file_is_told_of_as_if_protobuf_had_read_it(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    content = bytearray(_two_products().SerializeToString())
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    size = data.draw(st.one_of(st.just(len(content)), st.integers(0, len(content))))
    path = tmp_path_factory.mktemp("damaged") / "m.onnx"
    path.write_bytes(content[:size])
    assert _told(path) == _told(bytes(content[:size]))


def test_a_large_model_with_a_name_twice_is_refused_as_a_small_one_is(tmp_path: Path) -> None:
    whole = _two_products()
    whole.graph.initializer[1].name = "a"
    path = tmp_path / "m.onnx"
    path.write_bytes(whole.SerializeToString())
    with pytest.raises(ModelError, match="weight 'a' is there twice"):
        load_model(path)
