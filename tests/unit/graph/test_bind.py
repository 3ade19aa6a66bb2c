from __future__ import annotations

from collections.abc import Mapping

import pytest
from onnx import helper

from intarsia.errors import ModelError
from intarsia.graph import load_model
from tests.unit.graph.models import info, model


def _model(*shapes: tuple[int | str | None, ...] | None) -> bytes:
    inputs = [info(f"in{number}", shape) for number, shape in enumerate(shapes)]
    nodes = [helper.make_node("Relu", [value.name], [f"out{n}"]) for n, value in enumerate(inputs)]
    return bytes(model(nodes, inputs, [info(f"out{n}", None) for n in range(len(nodes))]).SerializeToString())


@pytest.mark.parametrize(
    ("shapes", "expected"),
    [
        ({"N": 4}, [(4, 3), (4, 5)]),
        ({"in0": (4, 3)}, [(4, 3), (4, 5)]),
        ({"in0": (4, 3), "in1": (4, 5)}, [(4, 3), (4, 5)]),
        ({"in0": (4, 3), "N": 4}, [(4, 3), (4, 5)]),
        ({"N": 0}, [(0, 3), (0, 5)]),
    ],
)
def test_symbols_are_bound_everywhere(
    shapes: Mapping[str, tuple[int, ...] | int], expected: list[tuple[int, ...]]
) -> None:
    graph = load_model(_model(("N", 3), ("N", 5)), shapes)
    assert [graph.values[name].shape for name in ("in0", "in1")] == expected
    assert [graph.values[name].shape for name in ("out0", "out1")] == expected


def test_a_nameless_dimension_and_a_missing_shape_take_a_whole_shape() -> None:
    graph = load_model(_model((None, 3), None), {"in0": (2, 3), "in1": (7,)})
    assert [graph.values[name].shape for name in ("out0", "out1")] == [(2, 3), (7,)]


@pytest.mark.parametrize(
    ("model_shape", "shapes", "words"),
    [
        (("N", 3), {}, ("'in0'", "dimension 0 ('N')", "--shape in0=1x3", "--shape N=1")),
        ((2, None), {}, ("'in0'", "dimension 1", "--shape in0=2x1")),
        (None, {}, ("'in0'", "no shape", "--shape in0=")),
        (("N", 3), {"M": 1}, ("'M'", "dimension", "it has N")),
        (("batch", 3), {"batsch": 1}, ("did you mean 'batch'",)),
        (("N", 3), {"in": (1, 3)}, ("'in'", "input", "did you mean 'in0'")),
        (("N", 3), {"in0": (1, 4)}, ("dimension 1", "is 3 in the model", "1x4")),
        (("N", 3), {"in0": (1, 3, 1)}, ("has 2 dimensions",)),
        (("N", "N"), {"in0": (1, 2)}, ("dimension 1 (N)", "is 1")),
        (("N", 3), {"in0": (2, 3), "N": 3}, ("dimension 0 (N)", "is 3")),
        (("N", 3), {"N": -1}, ("'N'", "negative")),
        (("N", 3), {"in0": (-1, 3)}, ("'in0'", "negative")),
    ],
)
def test_what_cannot_be_bound_is_named(
    model_shape: tuple[int | str | None, ...] | None,
    shapes: Mapping[str, tuple[int, ...] | int],
    words: tuple[str, ...],
) -> None:
    with pytest.raises(ModelError) as caught:
        load_model(_model(model_shape), shapes)
    for word in words:
        assert word in str(caught.value)
