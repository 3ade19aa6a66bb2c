from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from onnx import helper
from onnx.reference import ReferenceEvaluator

from intarsia.graph import load_model
from intarsia.graph.reference.reference import evaluate, evaluate_node
from tests.unit.graph.models import branching, info, model


def _ours(op_type: str, *arrays: np.ndarray, **attributes: Any) -> np.ndarray:
    names = [f"in{i}" for i in range(len(arrays))]
    node = helper.make_node(op_type, names, ["y"], **attributes)
    result: np.ndarray = evaluate_node(node, {"": 21}, dict(zip(names, arrays, strict=True)), {})[0]
    return result


def _theirs(op_type: str, *arrays: np.ndarray, **attributes: Any) -> np.ndarray:
    names = [f"in{i}" for i in range(len(arrays))]
    nodes = [helper.make_node(op_type, names, ["y"], **attributes)]
    proto = model(nodes, [info(name, None) for name in names], [info("y", None)])
    results: Any = ReferenceEvaluator(proto).run(None, dict(zip(names, arrays, strict=True)))
    return np.asarray(results[0])


def _random(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


@st.composite
def windows(draw: st.DrawFn, dilated: bool = True) -> tuple[tuple[int, ...], dict[str, Any]]:
    """Spatial extent, and attributes of windows that fit in it."""
    rank = draw(st.integers(1, 3))

    def numbers(low: int, high: int, count: int = rank) -> list[int]:
        return draw(st.lists(st.integers(low, high), min_size=count, max_size=count))

    kernel, extent = numbers(1, 3), numbers(5, 8)
    attributes: dict[str, Any] = {"kernel_shape": kernel, "strides": numbers(1, 3)}
    if dilated:
        attributes["dilations"] = numbers(1, 2)
    attributes["pads"] = [min(pad, kernel[i % rank] - 1) for i, pad in enumerate(numbers(0, 1, 2 * rank))]
    return tuple(extent), attributes


@given(windows(), st.sampled_from([1, 2]), st.booleans())
def test_convolution_is_the_evaluators(case: tuple[tuple[int, ...], dict[str, Any]], groups: int, biased: bool) -> None:
    extent, attributes = case
    arrays = [_random(2, 4, *extent), _random(6, 4 // groups, *attributes["kernel_shape"])]
    arrays += [_random(6)] if biased else []
    theirs = _theirs("Conv", *arrays, group=groups, **attributes)
    np.testing.assert_allclose(_ours("Conv", *arrays, group=groups, **attributes), theirs, rtol=1e-4, atol=1e-5)


@given(windows(), st.sampled_from([1, 2]))
def test_transposed_convolution_is_the_adjoint_of_convolution(
    case: tuple[tuple[int, ...], dict[str, Any]], groups: int
) -> None:
    """Whatever Conv leaves over at the end of an axis is what the transposed one puts there as output padding."""
    extent, attributes = case
    rank, pads = len(extent), attributes["pads"]
    x, w = _random(2, 4, *extent), _random(6, 4 // groups, *attributes["kernel_shape"])
    forth = _ours("Conv", x, w, group=groups, **attributes)
    spans = [(k - 1) * d + 1 for k, d in zip(attributes["kernel_shape"], attributes["dilations"], strict=True)]
    left = [(extent[i] + pads[i] + pads[rank + i] - spans[i]) % attributes["strides"][i] for i in range(rank)]
    y = _random(*forth.shape)
    back = _ours("ConvTranspose", y, w, group=groups, output_padding=left, **attributes)
    assert back.shape == x.shape
    np.testing.assert_allclose(np.vdot(forth, y), np.vdot(x, back), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    "attributes",
    [
        {"strides": [2, 2], "pads": [1, 1, 1, 1], "output_padding": [1, 1]},
        {"strides": [2, 2], "dilations": [2, 1]},
        {"strides": [2, 2], "auto_pad": "SAME_UPPER"},
        {"strides": [2, 2], "auto_pad": "SAME_LOWER"},
    ],
)
def test_transposed_convolution_is_the_evaluators(attributes: dict[str, Any]) -> None:
    arrays = [_random(1, 4, 3, 4), _random(4, 2, 3, 3), _random(2)]
    theirs = _theirs("ConvTranspose", *arrays, **attributes)
    np.testing.assert_allclose(_ours("ConvTranspose", *arrays, **attributes), theirs, rtol=1e-4, atol=1e-5)


def test_a_stated_size_is_cut_out_in_front_first() -> None:
    arrays = [_random(1, 4, 3, 4), _random(4, 2, 3, 3)]
    stated = _ours("ConvTranspose", *arrays, strides=[3, 2], output_shape=[8, 8])
    np.testing.assert_array_equal(stated, _ours("ConvTranspose", *arrays, strides=[3, 2], pads=[1, 1, 0, 0]))


@given(st.data())
def test_elements_are_gathered_one_by_one(data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    along = axis % len(shape)
    counts = tuple(data.draw(st.integers(1, 5 if place == along else n)) for place, n in enumerate(shape))
    indices = np.random.default_rng(sum(counts)).integers(-shape[along], shape[along], counts)
    x = _random(*shape)
    expected = np.empty(counts, x.dtype)
    for place in np.ndindex(*counts):
        expected[place] = x[(*place[:along], indices[place], *place[along + 1 :])]
    np.testing.assert_array_equal(_ours("GatherElements", x, indices, axis=axis), expected)


def _maxima(x: np.ndarray, attributes: dict[str, Any]) -> np.ndarray:
    """The standard, word by word; the evaluator drops windows when the paddings of an axis differ."""
    extent, rank = x.shape[2:], x.ndim - 2
    kernel, strides, dilations, pads = (attributes[key] for key in ("kernel_shape", "strides", "dilations", "pads"))
    counts = [
        (extent[i] + pads[i] + pads[rank + i] - (kernel[i] - 1) * dilations[i] - 1) // strides[i] + 1
        for i in range(rank)
    ]
    y = np.full((*x.shape[:2], *counts), -np.inf, x.dtype)
    for place in np.ndindex(*counts):
        for step in np.ndindex(*kernel):
            at = tuple(place[i] * strides[i] - pads[i] + step[i] * dilations[i] for i in range(rank))
            if all(0 <= at[i] < extent[i] for i in range(rank)):
                here = (slice(None), slice(None))
                y[(*here, *place)] = np.maximum(y[(*here, *place)], x[(*here, *at)])
    return y


@given(windows())
def test_maxima_are_the_standards(case: tuple[tuple[int, ...], dict[str, Any]]) -> None:
    extent, attributes = case
    x = _random(1, 2, *extent)
    np.testing.assert_array_equal(_ours("MaxPool", x, **attributes), _maxima(x, attributes))


@given(windows(dilated=False), st.booleans())
def test_averages_are_the_evaluators(case: tuple[tuple[int, ...], dict[str, Any]], padded: bool) -> None:
    extent, attributes = case
    assume(len(extent) < 3)
    x = _random(1, 2, *extent)
    ours = _ours("AveragePool", x, count_include_pad=int(padded), **attributes)
    theirs = _theirs("AveragePool", x, count_include_pad=int(padded), **attributes)
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("auto_pad", ["SAME_UPPER", "VALID"])
@pytest.mark.parametrize("op_type", ["Conv", "MaxPool", "AveragePool"])
def test_automatic_padding_is_the_evaluators(op_type: str, auto_pad: str) -> None:
    arrays = [_random(1, 2, 7, 8)] + ([_random(3, 2, 3, 2)] if op_type == "Conv" else [])
    attributes = {"auto_pad": auto_pad, "kernel_shape": [3, 2], "strides": [2, 2]}
    theirs = _theirs(op_type, *arrays, **attributes)
    np.testing.assert_allclose(_ours(op_type, *arrays, **attributes), theirs, rtol=1e-5, atol=1e-6)


def test_same_lower_puts_the_odd_element_before() -> None:
    x = np.arange(4, dtype=np.float32).reshape(1, 1, 4)
    lower = _ours("MaxPool", x, kernel_shape=[2], auto_pad="SAME_LOWER")
    upper = _ours("MaxPool", x, kernel_shape=[2], auto_pad="SAME_UPPER")
    assert lower.reshape(-1).tolist() == [0, 1, 2, 3]
    assert upper.reshape(-1).tolist() == [1, 2, 3, 3]


def test_rounding_up_adds_windows_behind_and_none_that_starts_in_the_padding() -> None:
    x = np.arange(1, 6, dtype=np.float32).reshape(1, 1, 5)
    assert _ours("MaxPool", x, kernel_shape=[3], strides=[3], ceil_mode=1).reshape(-1).tolist() == [3, 5]
    assert _ours("AveragePool", x, kernel_shape=[3], strides=[3], ceil_mode=1).reshape(-1).tolist() == [2, 4.5]
    padded = _ours("MaxPool", x[..., :4], kernel_shape=[2], strides=[2], pads=[0, 1], ceil_mode=1)
    assert padded.reshape(-1).tolist() == [2, 4]


def test_an_average_counts_stated_padding_but_nothing_beyond_it() -> None:
    x = np.full((1, 1, 4), 6, np.float32)
    attributes = {"kernel_shape": [3], "strides": [3], "pads": [1, 0], "ceil_mode": 1, "count_include_pad": 1}
    assert _ours("AveragePool", x, **attributes).reshape(-1).tolist() == [4, 6]


@pytest.mark.parametrize("spatial", [1, 2, 3])
def test_a_global_maximum_is_over_all_spatial_axes(spatial: int) -> None:
    x = _random(2, 3, *range(4, 4 + spatial))
    expected = x.reshape(2, 3, -1).max(-1).reshape(2, 3, *[1] * spatial)
    assert np.array_equal(_ours("GlobalMaxPool", x), expected)


def test_positions_of_maxima_come_from_the_evaluator() -> None:
    x = np.array([1, 5, 2, 4], np.float32).reshape(1, 1, 2, 2)
    node = helper.make_node("MaxPool", ["x"], ["y", "places"], kernel_shape=[2, 2], strides=[2, 2])
    y, places = evaluate_node(node, {"": 21}, {"x": x}, {})
    assert (y.item(), places.item()) == (5, 1)


def test_integers_have_maxima_too() -> None:
    x = np.array([-128, -3, -7], np.int8).reshape(1, 1, 3)
    result = _ours("MaxPool", x, kernel_shape=[2], pads=[1, 1])
    assert result.dtype == np.int8
    assert result.reshape(-1).tolist() == [-128, -3, -3, -7]


def test_a_convolution_whose_channels_do_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="3 groups"):
        _ours("Conv", _random(1, 4, 5), _random(6, 2, 3), group=3)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_local_response_covers_every_channel(size: int) -> None:
    x = _random(1, 7, 2, 2)
    expected = np.empty_like(x)
    for channel in range(7):
        near = x[:, max(0, channel - (size - 1) // 2) : channel + size // 2 + 1]
        expected[:, channel] = x[:, channel] / (1.5 + 0.3 / size * np.square(near).sum(axis=1)) ** 0.6
    np.testing.assert_allclose(_ours("LRN", x, size=size, alpha=0.3, beta=0.6, bias=1.5), expected, rtol=1e-5)


@pytest.mark.parametrize("power", [1, 2])
def test_norms_are_of_sizes_and_zeros_stay(power: int) -> None:
    x = np.array([[3, -4], [0, 0]], np.float32)
    size = 7 if power == 1 else 5
    np.testing.assert_allclose(_ours("LpNormalization", x, axis=-1, p=power), x / size, rtol=1e-6)


def test_a_loop_without_a_condition_runs_and_scans_get_an_axis() -> None:
    results = evaluate(load_model(branching()), {"x": np.ones((2, 3), np.float32)})
    assert results["peaks"].shape == (3,)
    assert results["peaks"][2] == pytest.approx(4 * results["peaks"][0])


def test_a_loop_that_does_not_run_hands_its_state_through() -> None:
    proto = branching()
    proto.graph.initializer[1].raw_data = np.int64(0).tobytes()
    results = evaluate(load_model(proto), {"x": np.ones((2, 3), np.float32)}, keep=["y"])
    np.testing.assert_array_equal(results["last"], results["y"])
    assert results["peaks"].shape == (0,)


@given(
    st.lists(st.tuples(st.integers(2, 5), st.integers(-1, 1), st.integers(-1, 1)), min_size=1, max_size=3),
    st.sampled_from(["constant", "edge", "reflect"]),
)
def test_negative_padding_cuts_off_and_positive_is_the_evaluators(axes: list[tuple[int, int, int]], mode: str) -> None:
    x = _random(*(size for size, _, _ in axes))
    kept = x[tuple(slice(max(-before, 0), size + min(after, 0)) for size, before, after in axes)]
    assume(all(kept.shape) and (mode != "reflect" or min(kept.shape) > 1))
    pads = np.array([before for _, before, _ in axes] + [after for _, _, after in axes])
    wanted = _theirs("Pad", kept, np.maximum(pads, 0), mode=mode)
    assert np.array_equal(_ours("Pad", x, pads, mode=mode), wanted)


def test_padding_by_a_value_on_some_axes() -> None:
    x = _random(2, 3, 4)
    given_ = (x, np.array([1, 2]), np.array(7, np.float32), np.array([-1]))
    assert np.array_equal(_ours("Pad", *given_), _theirs("Pad", *given_))


@pytest.mark.parametrize(("op_type", "shape"), [("Conv", (0, 4, 3, 3)), ("ConvTranspose", (0, 4, 7, 7))])
def test_a_batch_of_none_has_a_shape(op_type: str, shape: tuple[int, ...]) -> None:
    found = _ours(op_type, _random(0, 4, 5, 5), _random(4, 2, 3, 3), group=2, kernel_shape=[3, 3])
    assert found.shape == shape
