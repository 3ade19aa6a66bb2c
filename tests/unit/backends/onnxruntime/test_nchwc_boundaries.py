from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import onnx
import pytest
from onnx import helper

from intarsia.backends.onnxruntime.nchwc_boundaries import HandedOver, hand_over
from intarsia.errors import ModelError
from intarsia.graph.placeholder_ops import DOMAIN, OP_TYPE
from tests.unit.graph.models import info, model

BLOCK = 8
BLOCKED = "com.microsoft.nchwc"
SHAPE = (1, 16, 4, 4)


def unpack(source: str, sink: str, channels: int = 16) -> onnx.NodeProto:
    return helper.make_node("ReorderOutput", [source], [sink], domain=BLOCKED, channels=channels)


def pack(source: str, sink: str) -> onnx.NodeProto:
    return helper.make_node("ReorderInput", [source], [sink], domain=BLOCKED)


def computes(*names: str) -> onnx.NodeProto:
    """Stands for a convolution in blocks; the last name is its result."""
    return helper.make_node("Conv", names[:-1], names[-1:], domain=BLOCKED)


def placeholder(source: str, sink: str, number: int = 0, shape: Sequence[int] = SHAPE) -> onnx.NodeProto:
    dims = [len(shape), *shape]
    return helper.make_node(OP_TYPE, [source], [sink], domain=DOMAIN, partition=number, dims=dims)


def handed(
    *nodes: onnx.NodeProto, outputs: Sequence[str] = ("y",), able: Sequence[int] = (0,)
) -> tuple[HandedOver, dict[str, Any]]:
    """What is answered, and for each result who makes it from what."""
    proto = model(nodes, [info("x", SHAPE)], [info(name, None) for name in outputs], domains={BLOCKED: 1, DOMAIN: 1})
    done = hand_over(proto.SerializeToString(), BLOCK, able)
    after = onnx.load_model_from_string(done.content).graph.node
    return done, {node.output[0]: (node.op_type, *node.input) for node in after}


CHAIN = (
    pack("x", "a"),
    computes("a", "b"),
    unpack("b", "c"),
    placeholder("c", "d"),
    pack("d", "e"),
    computes("e", "f"),
)


def test_between_two_that_compute_in_blocks_nothing_is_reordered() -> None:
    done, after = handed(*CHAIN, unpack("f", "y"))
    assert done.borders == {0: ((0,), (0,))}
    assert after == {
        "a": ("ReorderInput", "x"),
        "b": ("Conv", "a"),
        "d": (OP_TYPE, "b"),
        "f": ("Conv", "d"),
        "y": ("ReorderOutput", "f"),
    }


def test_one_hole_after_the_other_is_changed_each_for_itself() -> None:
    second = (unpack("f", "g"), placeholder("g", "h", 1), pack("h", "i"), computes("i", "j"), unpack("j", "y"))
    done, after = handed(*CHAIN, *second, able=(1,))
    assert done.borders == {1: ((0,), (0,))}
    assert after["d"] == (OP_TYPE, "c")
    assert after["h"] == (OP_TYPE, "f")
    assert after["j"] == ("Conv", "h")


def test_what_others_read_unpacked_stays_unpacked_for_them() -> None:
    done, after = handed(*CHAIN, helper.make_node("Relu", ["c"], ["r"]), unpack("f", "y"), outputs=("y", "r"))
    assert done.borders == {0: ((0,), (0,))}
    assert after["c"] == ("ReorderOutput", "b")
    assert after["r"] == ("Relu", "c")
    assert after["d"] == (OP_TYPE, "b")


@pytest.mark.parametrize(
    ("more", "outputs"),
    [((helper.make_node("Relu", ["d"], ["r"]),), ("y", "r")), ((), ("y", "d"))],
    ids=["read-plain-as-well", "a-result-of-the-model"],
)
def test_an_output_that_somebody_wants_plain_stays_plain(
    more: Sequence[onnx.NodeProto], outputs: Sequence[str]
) -> None:
    done, after = handed(*CHAIN, *more, unpack("f", "y"), outputs=outputs)
    assert done.borders == {0: ((0,), ())}
    assert after["e"] == ("ReorderInput", "d")


def test_several_readers_that_pack_an_output_read_it_as_it_is() -> None:
    done, after = handed(*CHAIN, pack("d", "e2"), computes("e2", "f", "g"), unpack("g", "y"))
    assert done.borders == {0: ((0,), (0,))}
    assert after["f"] == ("Conv", "d")
    assert after["g"] == ("Conv", "d", "f")


@pytest.mark.parametrize("shape", [(1, 12, 4, 4), (2, 16, 4, 4), (16, 4, 4)])
def test_outputs_that_make_no_whole_blocks_stay_plain(shape: Sequence[int]) -> None:
    nodes = (placeholder("x", "d", shape=shape), pack("d", "e"), computes("e", "f"), unpack("f", "y"))
    done, after = handed(*nodes)
    assert done.borders == {0: ((), ())}
    assert after["e"] == ("ReorderInput", "d")


def test_inputs_that_make_no_whole_blocks_stay_plain() -> None:
    done, _ = handed(pack("x", "a"), computes("a", "b"), unpack("b", "c", channels=12), placeholder("c", "y"))
    assert done.borders == {0: ((), ())}


def test_bytes_that_are_no_model_are_refused() -> None:
    with pytest.raises(ModelError, match="not an ONNX model"):
        hand_over(b"\xff\xff\xff", BLOCK, ())
