"""Weights that are stored in few bits read as fp32 weights do, and damage to them is found."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from intarsia.errors import ModelError
from intarsia.graph import Graph, load_model, open_graph
from intarsia.graph.packed import PackedTensor, Place
from intarsia.graph.quantise import BLOCK, Blocks
from intarsia.graph.store import PackedPlaces, structure, weight_index
from tests.unit.graph.models import two_layers

BITS = pytest.mark.parametrize("bits", [4, 6, 8, 10, 12])


@BITS
@pytest.mark.parametrize("flipped", [False, True])
def test_it_holds_what_its_blocks_stand_for(bits: int, flipped: bool) -> None:
    weight = np.random.default_rng(0).standard_normal((2 * BLOCK, 5)).astype(np.float32)
    tensor = PackedTensor.of(weight.T if flipped else weight, bits, flipped=flipped)
    restored = tensor.numpy()
    assert restored.flags.c_contiguous
    np.testing.assert_array_equal(restored.T if flipped else restored, Blocks.of(weight, bits).restored())
    assert tensor.bits == bits
    assert tensor.content.nbytes == weight.size * bits // 8


def stored(graph: Graph, folder: Path, bits: int) -> tuple[dict[str, PackedPlaces], Path]:
    """One weight of a graph in few bits, its codes in an entry of their own, behind all others in one file."""
    tensor = PackedTensor.of(graph.weights["w0"].array(), bits, flipped=False)
    rows = weight_index(graph, {"w0"})
    whole = bytearray(max(offset + nbytes for _, offset, nbytes in rows))
    for name, offset, nbytes in rows:
        whole[offset : offset + nbytes] = graph.weights[name].array().tobytes()
    scales = Place(location="weights.bin", offset=len(whole))
    whole += tensor.scales.tobytes()
    path = folder / "file"
    path.write_bytes(bytes(whole) + tensor.content.tobytes())
    return {"w0": (tensor, Place(location="codes", offset=0), scales)}, path


@BITS
def test_a_stored_graph_reads_it_back(bits: int, tmp_path: Path) -> None:
    graph = load_model(two_layers())
    places, path = stored(graph, tmp_path, bits)
    codes = path.stat().st_size - places["w0"][0].content.nbytes
    again = open_graph(structure(graph, places), path, locate={"codes": codes}.__getitem__)
    expected = Blocks.of(graph.weights["w0"].array(), bits).restored()
    np.testing.assert_array_equal(again.weights["w0"].array(), expected)
    np.testing.assert_array_equal(again.weights["w1"].array(), graph.weights["w1"].array())
    assert [row[0] for row in weight_index(again)] == ["w0", "w1"]


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("intarsia.bits", "5", "not in whole blocks"),
        ("intarsia.flipped", "7", "not in whole blocks"),
        ("offset", "64", "no codes of"),
        ("intarsia.scales", "-1@weights.bin", "no weights.bin of"),
        ("intarsia.scales", "weights.bin", "damaged"),
    ],
)
def test_damage_is_found_on_opening(key: str, value: str, message: str, tmp_path: Path) -> None:
    graph = load_model(two_layers())
    places, path = stored(graph, tmp_path, 4)
    codes = path.stat().st_size - places["w0"][0].content.nbytes
    proto = onnx.ModelProto.FromString(structure(graph, places))
    (tensor,) = (each for each in proto.graph.initializer if each.name == "w0")
    next(each for each in tensor.external_data if each.key == key).value = value
    with pytest.raises(ModelError, match=message):
        open_graph(proto.SerializeToString(), path, locate={"codes": codes}.__getitem__)
