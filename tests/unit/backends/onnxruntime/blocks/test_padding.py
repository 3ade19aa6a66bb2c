from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from intarsia.backends.onnxruntime.blocks.padding import Padding, padding_of

RANK = 4


def found(pads: list[int], axes: list[int] | None = None, value: float | None = None, **stated: Any) -> Padding | None:
    names = ["x", "pads", "value" if value is not None else "", "axes" if axes is not None else ""]
    held: dict[str, Any] = {"pads": np.array(pads, np.int64)}
    held |= {} if axes is None else {"axes": np.array(axes, np.int64)}
    held |= {} if value is None else {"value": np.array(value, np.float32)}
    constants = {name: numpy_helper.from_array(array, name) for name, array in held.items()}
    return padding_of(helper.make_node("Pad", names, ["y"], **stated), constants, RANK)


@pytest.mark.parametrize(
    ("pads", "axes"), [([0, 0, 1, 2, 0, 0, 3, 4], None), ([1, 2, 3, 4], [2, 3]), ([2, 1, 4, 3], [-1, -2])]
)
def test_rows_are_told_by_size(pads: list[int], axes: list[int] | None) -> None:
    assert found(pads, axes) == Padding(mode="constant", value=0.0, before=(1, 2), after=(3, 4))


def test_mode_and_value_are_told() -> None:
    assert found([1, 1, 1, 1], [2, 3], mode="reflect") == Padding(
        mode="reflect", value=0.0, before=(1, 1), after=(1, 1)
    )
    told = found([1, 1, 1, 1], [2, 3], value=2.5)
    assert told is not None
    assert told.value == 2.5


def test_what_cuts_off_or_adds_channels_or_images_is_no_such_padding() -> None:
    assert found([0, 0, -1, 0, 0, 0, 0, 0]) is None
    assert found([0, 1, 0, 0, 0, 0, 0, 0]) is None
    assert found([1, 0], [0]) is None


def test_numbers_that_are_computed_or_lie_elsewhere_are_unknown() -> None:
    assert padding_of(helper.make_node("Pad", ["x", "pads"], ["y"]), {}, RANK) is None
    outside = numpy_helper.from_array(np.zeros(8, np.int64), "pads")
    outside.data_location = onnx.TensorProto.EXTERNAL
    assert padding_of(helper.make_node("Pad", ["x", "pads"], ["y"]), {"pads": outside}, RANK) is None
