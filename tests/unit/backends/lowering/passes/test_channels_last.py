"""Where transposes are left."""

from __future__ import annotations

import numpy as np

from intarsia.backends.lowering.builder import Builder
from intarsia.backends.lowering.passes.channels_last import _groups, _order_of, channels_last
from intarsia.backends.lowering.passes.fold import fold
from intarsia.backends.lowering.program import Program, Term

WINDOW = {"strides": [1, 1], "dilations": [1, 1], "before": [1, 1], "after": [1, 1], "groups": 1}


def names(program: Program, weights: dict[str, np.ndarray]) -> list[str]:
    known = program.known | {place: weights[name] for name, place in program.weights.items()}
    rewritten, _ = fold(*channels_last(*fold(program, known)))
    return [each.name for each in rewritten.instructions if each.name not in ("input", "weight", "constant")]


def conv(b: Builder, x: Term, out: int, weights: dict[str, np.ndarray]) -> Term:
    name, shape = f"w{len(weights)}", (out, x.shape[1], 3, 3)
    weights[name] = np.ones(shape, np.float32)
    return b.conv(x, b.weight(name, "float32", shape), None, (x.shape[0], out, *x.shape[2:]), **WINDOW)


def test_transposes_stand_at_the_borders() -> None:
    b, weights = Builder(), dict[str, np.ndarray]()
    x = b.input("x", "float32", (1, 3, 8, 8))
    y = conv(b, x, 4, weights)
    y = b.binary("add", b.unary("tanh", y), b.constant(np.ones((1, 4, 1, 1), np.float32)))
    y = b.pool("max", conv(b, y, 4, weights), (1, 4, 8, 8), kernel=[3, 3], **{k: WINDOW[k] for k in list(WINDOW)[:4]})
    y = b.concat([y, y], 1)
    found = names(b.program({"y": conv(b, y, 2, weights)}), weights)
    assert found == ["transpose", "conv_last", "tanh", "add", "conv_last", "pool_max_last", "concat", "conv_last",
                     "transpose"]  # fmt: skip


def test_one_channel_is_no_transpose() -> None:
    b, weights = Builder(), dict[str, np.ndarray]()
    y = conv(b, b.input("x", "float32", (1, 1, 8, 8)), 1, weights)
    assert names(b.program({"y": y}), weights) == ["reshape", "conv_last", "reshape"]


def test_pixels_become_rows_without_a_transpose() -> None:
    """As in a vision transformer: patches by a convolution, then (batch, patches, channels)."""
    b, weights = Builder(), dict[str, np.ndarray]()
    y = conv(b, b.input("x", "float32", (1, 3, 8, 8)), 4, weights)
    y = b.transpose(b.reshape(y, (1, 4, 64)), (0, 2, 1))
    assert names(b.program({"y": y}), weights) == ["transpose", "conv_last", "reshape"]


def test_a_model_that_is_channels_last_outside_needs_none() -> None:
    b, weights = Builder(), dict[str, np.ndarray]()
    y = conv(b, b.transpose(b.input("x", "float32", (1, 8, 8, 3)), (0, 3, 1, 2)), 4, weights)
    assert names(b.program({"y": b.transpose(y, (0, 2, 3, 1))}), weights) == ["conv_last"]


def test_a_global_pool_leaves_nothing_to_turn() -> None:
    b, weights = Builder(), dict[str, np.ndarray]()
    y = b.reduce("mean", conv(b, b.input("x", "float32", (1, 3, 8, 8)), 4, weights), [2, 3])
    assert names(b.program({"y": b.reshape(y, (1, 4))}), weights) == [
        "transpose",
        "conv_last",
        "reduce_mean",
        "reshape",
    ]


def test_weights_that_are_computed_stay_as_they_are() -> None:
    b = Builder()
    x, w = b.input("x", "float32", (1, 3, 8, 8)), b.input("w", "float32", (4, 3, 3, 3))
    assert names(b.program({"y": b.conv(x, w, None, (1, 4, 8, 8), **WINDOW)}), {}) == ["conv"]


def test_dimensions_that_are_put_together() -> None:
    assert _groups((2, 3, 4), (6, 4)) == [([0, 1], [0]), ([2], [1])]
    assert _groups((6, 4), (2, 3, 2, 2)) == [([0], [0, 1]), ([1], [2, 3])]
    assert _order_of((0, 2, 3, 1), [([0], [0]), ([1], [1]), ([2, 3], [2])]) == (0, 2, 1)
    assert _order_of((0, 2, 3, 1), [([0], [0]), ([1, 2], [1]), ([3], [2])]) is None
