"""Weights outside of a model: links on the disk are followed, and a model's own text never leads out of its folder."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import TensorProto, helper, numpy_helper

from intarsia.errors import ModelError
from intarsia.graph import load_model
from intarsia.graph.fingerprint import content_hash
from intarsia.graph.parts import MappedTensor
from intarsia.graph.reading.interface import digest_of
from tests.unit.graph.models import info, model

Change = Callable[[TensorProto], None]


def large() -> onnx.ModelProto:
    """One weight that is mapped, and one small enough to be read at once."""
    rng = np.random.default_rng(0)
    weights = {"w": rng.random((3, 512), np.float32), "b": rng.random(1, np.float32)}
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Add", ["h", "b"], ["y"])]
    return model(nodes, [info("x", (2, 3))], [info("y", (2, 512))], weights)


def saved(folder: Path, data: str = "model.onnx_data") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save_model(large(), folder / "model.onnx", save_as_external_data=True, location=data, size_threshold=0)
    return folder / "model.onnx"


def as_in_hugging_face(folder: Path) -> Path:
    """``snapshots/REVISION`` holds links to ``blobs``, and those are named by their digests."""
    blobs, snapshot = folder / "blobs", folder / "snapshots" / "0a1b"
    model_file = saved(blobs)
    snapshot.mkdir(parents=True)
    for name, blob in (("model.onnx", "5e1"), ("model.onnx_data", "7f2")):
        (blobs / name).rename(blobs / blob)
        (snapshot / name).symlink_to(Path("..", "..", "blobs", blob))
    assert not model_file.exists()
    return snapshot / "model.onnx"


def with_hard_links(folder: Path) -> Path:
    made = saved(folder / "original")
    (folder / "copy").mkdir()
    for name in ("model.onnx", "model.onnx_data"):
        os.link(made.parent / name, folder / "copy" / name)
    return folder / "copy" / "model.onnx"


def by_a_link(folder: Path) -> Path:
    made = saved(folder / "store")
    (folder / "net.onnx").symlink_to(made)
    return folder / "net.onnx"


def in_a_linked_folder(folder: Path) -> Path:
    made = saved(folder / "store")
    (folder / "here").symlink_to(made.parent, target_is_directory=True)
    return folder / "here" / "model.onnx"


def with_data_in_a_linked_folder(folder: Path) -> Path:
    (folder / "own").mkdir(parents=True)
    (folder / "own" / "parts").mkdir()
    made = saved(folder / "own", "parts/w.data")
    (folder / "own" / "parts").rename(folder / "elsewhere")
    (folder / "own" / "parts").symlink_to(folder / "elsewhere", target_is_directory=True)
    return made


LAYOUTS = [as_in_hugging_face, with_hard_links, by_a_link, in_a_linked_folder, with_data_in_a_linked_folder]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_links_are_followed(layout: Callable[[Path], Path], tmp_path: Path) -> None:
    path = layout(tmp_path / "cache")
    graph, inside = load_model(path), load_model(large())
    assert isinstance(graph.weights["w"].source, MappedTensor)
    for name in ("w", "b"):
        np.testing.assert_array_equal(graph.weights[name].array(), inside.weights[name].array())
    assert content_hash(graph) == content_hash(inside)
    assert digest_of(path)


def test_beside_a_link_goes_before_beside_its_target(tmp_path: Path) -> None:
    path = by_a_link(tmp_path)
    data = tmp_path / "store" / "model.onnx_data"
    (tmp_path / "model.onnx_data").write_bytes(bytes(data.stat().st_size))
    assert not load_model(path).weights["w"].array().any()


def test_packed_and_unaligned_content_is_read_through_links(tmp_path: Path) -> None:
    proto = large()
    nibbles = np.tile([1, -2], 1024).astype(np.int8).tobytes()
    packed = helper.make_tensor("q", TensorProto.INT4, (4096,), nibbles, raw=True)
    proto.graph.initializer.append(packed)
    proto.graph.node.append(helper.make_node("Cast", ["q"], ["z"], to=TensorProto.FLOAT))
    proto.graph.output.append(info("z", (4096,)))
    tensors = {tensor.name: tensor for tensor in proto.graph.initializer}
    content = b"x" + b"".join(tensor.raw_data for tensor in tensors.values())
    at = 1
    for tensor in tensors.values():
        stored(tensor, at, len(tensor.raw_data), "d.bin")
        at += int(fact(tensor, "length"))
    (tmp_path / "blob").write_bytes(content)
    os.link(tmp_path / "blob", tmp_path / "d.bin")
    (tmp_path / "m.onnx").write_bytes(proto.SerializeToString())
    found = load_model(tmp_path / "m.onnx")
    np.testing.assert_array_equal(found.weights["w"].array(), load_model(large()).weights["w"].array())
    assert found.weights["w"].array().flags.aligned


def stored(tensor: TensorProto, offset: object, length: object, place: str) -> None:
    """Say of a tensor that it is in a file."""
    tensor.ClearField("raw_data")
    tensor.ClearField("external_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in (("location", place), ("offset", str(offset)), ("length", str(length))):
        tensor.external_data.add(key=key, value=value)


def fact(tensor: TensorProto, key: str) -> str:
    return next(str(entry.value) for entry in tensor.external_data if entry.key == key)


SIZE = 3 * 512 * 4
"""Bytes of ``w``."""


@pytest.mark.parametrize(
    "place",
    ["/etc/passwd", "../secret", "a/../../secret", "..", ".", "", "a\0b", "./../secret", "a/../../model/../../secret"],
)
def test_a_text_that_leads_out_of_the_folder_is_refused(place: str, tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(bytes(SIZE))
    path = saved(tmp_path / "model")
    proto = onnx.load_model(path, load_external_data=False)
    stored(proto.graph.initializer[0], 0, SIZE, place)
    path.write_bytes(proto.SerializeToString())
    for read in (load_model, digest_of):
        with pytest.raises(ModelError, match=r"none outside of it is read|is no file of data|none is named"):
            read(path)
    with pytest.raises(ModelError):  # a model in memory names its files alike
        load_model(proto)


@pytest.mark.parametrize("kind", ["folder", "pipe", "device", "socket"])
def test_what_is_no_file_is_refused(kind: str, tmp_path: Path) -> None:
    path = saved(tmp_path)
    data = tmp_path / "model.onnx_data"
    data.unlink()
    if kind == "folder":
        data.mkdir()
    elif kind == "pipe":
        os.mkfifo(data)
    elif kind == "device":
        data.symlink_to("/dev/zero")
    else:
        data.symlink_to("/proc/self/fd")
    for read in (load_model, digest_of):
        with pytest.raises(ModelError, match="is no file of data"):
            read(path)


@pytest.mark.parametrize(
    ("offset", "length", "words"),
    [
        (-4, SIZE, "give a number from 0 on"),
        (0, -1, "give a number from 0 on"),
        (0, SIZE - 4, f"has {SIZE - 4} bytes in 'model.onnx_data', and its shape"),
        (0, 2**62, "and its shape asks for"),
        (2**62, SIZE, "where no file reaches"),
        (10**29, SIZE, "where no file reaches"),
        ("many", SIZE, "give a number from 0 on"),
        (0, "1.5", "give a number from 0 on"),
        ("9" * 5000, SIZE, "give a number from 0 on"),
    ],
)
def test_places_outside_of_the_file_are_refused(offset: object, length: object, words: str, tmp_path: Path) -> None:
    path = saved(tmp_path)
    proto = onnx.load_model(path, load_external_data=False)
    stored(proto.graph.initializer[0], offset, length, "model.onnx_data")
    path.write_bytes(proto.SerializeToString())
    with pytest.raises(ModelError, match=words):
        load_model(path)


def test_a_link_that_leads_nowhere_is_told_with_its_target(tmp_path: Path) -> None:
    path = as_in_hugging_face(tmp_path)
    (tmp_path / "blobs" / "7f2").unlink()
    with pytest.raises(
        ModelError, match=r"model\.onnx_data, a link to \.\./\.\./blobs/7f2, which is missing; fetch all"
    ):
        load_model(path)


def test_links_in_a_circle_are_told(tmp_path: Path) -> None:
    path = saved(tmp_path)
    data = tmp_path / "model.onnx_data"
    data.unlink()
    data.symlink_to(data.name)
    with pytest.raises(ModelError, match="which cannot be read: Too many levels"):
        load_model(path)


def test_constants_of_nodes_and_of_nested_graphs_are_settled_too(tmp_path: Path) -> None:
    content = np.arange(600, dtype=np.float32)
    (tmp_path / "d.bin").write_bytes(content.tobytes())
    (tmp_path.parent / "secret.bin").write_bytes(content.tobytes())

    def made(place: str) -> bytes:
        tensor = numpy_helper.from_array(content, "c")
        stored(tensor, 0, content.nbytes, place)
        inner = helper.make_graph([helper.make_node("Constant", [], ["k"], value=tensor)], "b", [], [info("k", (600,))])
        nodes = [
            helper.make_node("Constant", [], ["c"], value=tensor),
            helper.make_node("If", ["x"], ["k"], then_branch=inner, else_branch=inner),
            helper.make_node("Add", ["c", "k"], ["y"]),
        ]
        return bytes(model(nodes, [info("x", (), TensorProto.BOOL)], [info("y", (600,))]).SerializeToString())

    path = tmp_path / "m.onnx"
    path.write_bytes(made("d.bin"))
    graph = load_model(path)
    assert any(np.array_equal(weight.array(), content) for weight in graph.weights.values())
    path.write_bytes(made("../secret.bin"))
    with pytest.raises(ModelError, match="none outside of it is read"):
        load_model(path)


def test_sparse_weights_are_inside(tmp_path: Path) -> None:
    proto = model([helper.make_node("Add", ["x", "s"], ["y"])], [info("x")], [info("y")])
    values = numpy_helper.from_array(np.array([5, 7], np.float32), "s")
    stored(values, 0, 8, "/etc/passwd")
    proto.graph.sparse_initializer.append(
        helper.make_sparse_tensor(values, numpy_helper.from_array(np.array([1, 5]), "places"), [2, 3])
    )
    with pytest.raises(ModelError, match="sparse weight 's', its values, keeps its content in another file"):
        load_model(proto)


def test_a_loaded_model_keeps_its_own_folder(tmp_path: Path) -> None:
    held = ir.load(as_in_hugging_face(tmp_path))
    np.testing.assert_array_equal(load_model(held).weights["w"].array(), load_model(large()).weights["w"].array())


def test_more_than_a_message_holds_stays_mapped_through_a_link(tmp_path: Path) -> None:
    path = as_in_hugging_face(tmp_path)
    with (tmp_path / "blobs" / "7f2").open("r+b") as stream:
        stream.truncate(3 << 30)  # without content on the disk
    proto = onnx.load_model(path, load_external_data=False)
    columns = (3 << 30) // 3 // 4
    stored(proto.graph.initializer[0], 0, 3 << 30, "model.onnx_data")
    proto.graph.initializer[0].dims[1] = columns
    proto.graph.node[1].input[1] = "h"
    del proto.graph.initializer[1]
    proto.graph.output[0].CopyFrom(info("y", (2, columns)))
    (tmp_path / "blobs" / "5e1").write_bytes(proto.SerializeToString())
    weight = load_model(path).weights["w"]
    assert isinstance(weight.source, MappedTensor)
    assert weight.array().nbytes == 3 << 30
