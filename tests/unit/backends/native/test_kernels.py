"""Each kernel against a reference in double precision, over shapes, padding and groups, under the sanitizers."""

from __future__ import annotations

import os
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from filelock import FileLock
from hypothesis import given, settings
from hypothesis import strategies as st

from intarsia.backends.native import library, recipe
from intarsia.backends.onnxruntime.kernels import KERNELS
from intarsia.backends.onnxruntime.kernels.direct import DIMENSIONS
from tests.unit.backends.native import running
from tests.unit.backends.native.running import Convolution, Triple

LARGEST_ERROR = 2e-5
"""Of one layer, relative to its largest value."""
WIDTHS = {"avx2": (8, recipe.NEEDED), "avx512": (16, recipe.SETS)}
"""The two libraries of a wheel: their blocks, and the instruction sets."""


@pytest.fixture(scope="module", params=WIDTHS)
def probe(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """The program for one width of vectors, built once for all processes of a test run, and its block."""
    block, sets = WIDTHS[request.param]
    if library.find_compiler() is None or not set(sets) <= library.cpu_features():
        pytest.skip("there is no compiler, or no such processor, to run the kernels on")
    root = tmp_path_factory.getbasetemp()
    root = root.parent if os.environ.get("PYTEST_XDIST_WORKER") else root
    program = root / f"kernels-{request.param}"
    with FileLock(root / f"kernels-{request.param}.lock"):
        if not program.exists():
            running.build(sets, program)
    return program, block


def general(rank: int, **own: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Filters over so many sizes with any steps."""

    def triples(least: int, most: int, missing: int) -> st.SearchStrategy[Triple]:
        return st.tuples(*(st.integers(least, most) if axis >= 3 - rank else st.just(missing) for axis in range(3)))

    return st.fixed_dictionaries(
        {
            "taps": triples(1, 4, 1),
            "strides": triples(1, 3, 1),
            "dilations": triples(1, 3, 1),
            "groups": st.just(1),
            **own,
        }
    )


ASKED: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    **{f"Direct{name}": general(rank) for rank, name in DIMENSIONS.items()},
    **{f"FewInputs{name}": general(rank, width=st.integers(1, 4)) for rank, name in ((1, "Signal"), (3, "Volume"))},
    **{f"Transposed{name}": general(rank, has_sum=st.just(False)) for rank, name in DIMENSIONS.items()},
    "FewOutputs": st.fixed_dictionaries(
        {
            "taps": st.tuples(st.just(1), st.integers(1, 9), st.integers(1, 9)),
            "groups": st.just(1),
            "used": st.integers(0, 9),
        }
    ),
    "NarrowGroups": st.fixed_dictionaries(
        {
            "taps": st.just((1, 3, 3)),
            "groups": st.just(1),
            "width": st.sampled_from([2, 4, 8]),
            "strides": st.tuples(st.just(1), st.integers(1, 2), st.integers(1, 2)),
        }
    ),
    "Pointwise": st.fixed_dictionaries(
        {"taps": st.just((1, 1, 1)), "groups": st.just(1), "before": st.just((0, 0, 0)), "after": st.just((0, 0, 0))}
    ),
    "PointwiseAffine": st.fixed_dictionaries(
        {
            "taps": st.just((1, 1, 1)),
            "groups": st.just(1),
            "before": st.just((0, 0, 0)),
            "after": st.just((0, 0, 0)),
            "has_sum": st.just(False),
        }
    ),
    "Winograd3x3": st.fixed_dictionaries({"taps": st.just((1, 3, 3))}),
    "Winograd5x5": st.fixed_dictionaries({"taps": st.just((1, 5, 5))}),
    "WinogradVolume5x5": st.fixed_dictionaries({"taps": st.tuples(st.integers(1, 4), st.just(5), st.just(5))}),
    "WinogradVolume": st.fixed_dictionaries({"taps": st.tuples(st.integers(1, 4), st.just(3), st.just(3))}),
}
"""What sets each kernel apart."""


SHORT = sorted({kernel.operator for kernel in KERNELS if kernel.has_short} | running.WITH_BEFORE)
"""Kernels that multiply numbers of 16 bits too."""
LARGEST_SHORT_ERROR = {"Winograd": 2e-2, "": 1e-3}
"""Of one layer in 16 bits, by how the kernel's name begins. Winograd's transforms enlarge what rounding adds."""


def largest_error(operator: str, bits: int) -> float:
    if bits > 16:
        return LARGEST_ERROR
    return next(error for beginning, error in LARGEST_SHORT_ERROR.items() if operator.startswith(beginning))


TILES = {kernel.operator: kernel.tiles for kernel in KERNELS} | dict.fromkeys(running.WITH_BEFORE, ())


@st.composite
def convolutions(draw: st.DrawFn, operator: str) -> Convolution:
    asked = {"groups": draw(st.integers(1, 3)), **draw(ASKED[operator])}
    taps: Triple = asked["taps"]
    apart = asked.get("dilations", (1, 1, 1))
    edges = st.tuples(*(st.integers(0, 4 if tap > 1 else 0) for tap in taps))
    before, after = asked.pop("before", None) or draw(edges), asked.pop("after", None) or draw(edges)
    spans = [(tap - 1) * each + 1 for tap, each in zip(taps, apart, strict=True)]
    if operator in running.TRANSPOSED:
        asked["extra"] = draw(st.tuples(*(st.integers(0, each - 1) for each in asked["strides"])))
        smallest = [
            1 + max(0, -(-(front + back + 1 - span) // stride))
            for span, front, back, stride in zip(spans, before, after, asked["strides"], strict=True)
        ]
    else:
        smallest = [max(1, span - front - back) for span, front, back in zip(spans, before, after, strict=True)]
    is_flat = "Volume" not in operator
    is_line = "Signal" in operator
    most = (0 if is_flat else 4, 0 if is_line else 13, 40 if is_line else 13)
    size = draw(st.tuples(*(st.integers(least, least + more) for least, more in zip(smallest, most, strict=True))))
    finish = draw(st.sampled_from([(-inf, inf, 1.0), (0.0, inf, 1.0), (0.0, 6.0, 1.0), (-inf, inf, 0.1)]))
    return Convolution(
        kernel=operator,
        blocks=(draw(st.integers(1, 3)), draw(st.integers(1, 3))),
        before=before,
        after=after,
        tile=draw(st.sampled_from([0, *TILES[operator]])),
        batch=draw(st.integers(1, 2)),
        size=size,
        has_bias=draw(st.booleans()),
        has_sum=asked.pop("has_sum", None) is None and draw(st.booleans()),
        in_place=draw(st.booleans()),
        low=finish[0],
        high=finish[1],
        slope=finish[2],
        **asked,
    )


def test_every_kernel_is_tried() -> None:
    assert {kernel.operator for kernel in KERNELS} | running.WITH_BEFORE == set(ASKED)


IN_BITS = [*((operator, 32) for operator in ASKED), *((operator, 16) for operator in SHORT)]


@pytest.mark.parametrize(("operator", "bits"), IN_BITS)
@settings(max_examples=40, deadline=None)
@given(data=st.data(), seed=st.integers(0, 99))
def test_a_kernel_computes_what_the_reference_does(
    probe: tuple[Path, int], operator: str, bits: int, data: st.DataObject, seed: int
) -> None:
    program, block = probe
    asked = replace(data.draw(convolutions(operator)), bits=bits)
    assert running.apart(program, block, asked, seed) < largest_error(operator, bits)


ALIKE = {"Pointwise": (1, 1, 1), "DirectPicture": (1, 3, 3), "Winograd3x3": (1, 3, 3), "WinogradVolume": (3, 3, 3)}


@pytest.mark.parametrize(("operator", "taps"), ALIKE.items())
@pytest.mark.parametrize("size", [1e-20, 1.0, 1e20])
def test_sums_of_the_largest_numbers_in_16_bits_do_not_overflow(
    probe: tuple[Path, int], operator: str, taps: Triple, size: float
) -> None:
    """Every weight and every value is the largest there is, so that all products are, and nothing cancels."""
    program, block = probe
    asked = Convolution(kernel=operator, taps=taps, blocks=(32, 1), size=(1, 1, 1), bits=16)
    weights = np.ones((block, 32 * block, *taps), np.float32)
    x = np.full((1, 32 * block, 4 if taps[0] > 1 else 1, 9, 8), size, np.float32)
    want = size * 32 * block * np.prod(taps)
    assert np.abs(running.multiplied(program, block, asked, x, weights) / want - 1).max() < largest_error(operator, 16)


@pytest.mark.parametrize(("operator", "taps"), ALIKE.items())
@pytest.mark.parametrize("odd", [np.inf, np.nan])
def test_what_is_no_number_stays_none_in_16_bits(
    probe: tuple[Path, int], operator: str, taps: Triple, odd: float
) -> None:
    program, block = probe
    asked = Convolution(kernel=operator, taps=taps, blocks=(1, 1), size=(1, 1, 1), bits=16)
    draw = np.random.default_rng(0)
    weights = draw.standard_normal((block, block, *taps)).astype(np.float32)
    x = draw.standard_normal((1, block, 4 if taps[0] > 1 else 1, 40, 8)).astype(np.float32)
    x[0, 3, 0, 0, 0] = odd
    got = running.multiplied(program, block, asked, x, weights)
    assert np.isnan(got[:, :, 0, 0, 0]).all()
    assert np.isfinite(got[:, :, :, 20:]).all()
    weights[0, 0] = odd
    x[0, 3, 0, 0, 0] = 1.0
    got = running.multiplied(program, block, asked, x, weights)
    assert np.isnan(got[:, 0]).all()
    assert np.isfinite(got[:, 1:]).all()


@pytest.mark.parametrize(("operator", "bits"), IN_BITS)
@pytest.mark.parametrize("size", [(40, 60), (9, 150)])
def test_work_for_several_threads_is_done_once(
    probe: tuple[Path, int], operator: str, size: tuple[int, int], bits: int
) -> None:
    program, block = probe
    one = (0, 1, 1)
    size_of = {"Winograd5x5": 5, "WinogradVolume5x5": 5, "Pointwise": 1, "PointwiseAffine": 1}.get(operator, 3)
    width = {"NarrowGroups": 4, "FewInputsSignal": 3, "FewInputsVolume": 3}.get(operator)
    edge = (0, 0, 0) if size_of == 1 else one
    has_sum = operator not in running.WITH_BEFORE | running.TRANSPOSED
    taps = (1, size_of, size_of)
    if "Signal" in operator:
        taps, edge, size = (1, 1, size_of), (0, 0, 1), (1, size[0] * size[1])
    asked = Convolution(
        kernel=operator,
        taps=taps,
        blocks=(4, 3),
        width=width,
        before=edge,
        after=edge,
        size=(1, *size),
        has_sum=has_sum,
        bits=bits,
    )
    assert running.apart(program, block, asked, seed=0) < largest_error(operator, bits)


SIZES = st.tuples(st.integers(1, 5), st.integers(1, 9), st.integers(1, 40))


@pytest.mark.parametrize("size", [(1, 56, 56), (1, 24, 40), (8, 14, 14), (1, 14, 14), (1, 7, 7)])
@pytest.mark.parametrize(("operator", "taps"), [("Winograd3x3", 3), ("Winograd5x5", 5)])
def test_python_knows_which_tile_a_kernel_chooses(
    probe: tuple[Path, int], operator: str, taps: int, size: tuple[int, int, int]
) -> None:
    """Rounding tells tiles apart: what a kernel chose by itself has the very error of one of them."""
    program, block = probe
    batch, height, width = size
    pads = (0, taps // 2, taps // 2)
    asked = Convolution(
        kernel=operator,
        taps=(1, taps, taps),
        blocks=(1, 1),
        before=pads,
        after=pads,
        batch=batch,
        size=(1, height, width),
    )
    kernel = next(each for each in KERNELS if each.operator == operator)
    errors = {tile: running.apart(program, block, replace(asked, tile=tile), seed=1) for tile in (0, *kernel.tiles)}
    assert len({errors[tile] for tile in kernel.tiles}) == len(kernel.tiles)
    assert errors[0] == errors[min(kernel.tiles, key=lambda tile: kernel._cost(tile, size))]


@settings(max_examples=20, deadline=None)
@given(planes=st.integers(1, 3), sizes=SIZES, seed=st.integers(0, 99))
def test_values_come_out_of_blocks_as_they_went_in(
    probe: tuple[Path, int], planes: int, sizes: Triple, seed: int
) -> None:
    x, plain, blocked, want = running.reordered(*probe, planes, sizes, seed)
    assert np.array_equal(plain, x)
    assert np.array_equal(blocked, want)


@settings(max_examples=20, deadline=None)
@given(data=st.data(), size=st.tuples(*[st.integers(1, 3)] * 3), seed=st.integers(0, 99))
def test_pooling_takes_the_largest_of_each_window(
    probe: tuple[Path, int], data: st.DataObject, size: Triple, seed: int
) -> None:
    strides = data.draw(st.tuples(*[st.integers(1, 3)] * 3))
    before, after = (data.draw(st.tuples(*(st.integers(0, each - 1) for each in size))) for _ in range(2))
    sizes = data.draw(st.tuples(*(st.integers(each, each + 6) for each in size)))
    got, want = running.pooled(*probe, (size, strides, before, after), sizes, seed)
    assert np.array_equal(got, want)


@settings(max_examples=20, deadline=None)
@given(data=st.data(), sizes=st.tuples(*[st.integers(1, 6)] * 3))
@pytest.mark.parametrize("mode", ["constant", "reflect", "edge"])
def test_padding_adds_what_numpy_adds(probe: tuple[Path, int], mode: str, data: st.DataObject, sizes: Triple) -> None:
    edges = st.tuples(*(st.integers(0, each - 1 if mode == "reflect" else 4) for each in sizes))
    got, want = running.padded(
        *probe, mode, data.draw(st.sampled_from([0.0, -1.5])), data.draw(st.tuples(edges, edges)), sizes
    )
    assert np.array_equal(got, want)


COUNTS = st.tuples(st.integers(1, 2), st.integers(1, 4), st.integers(1, 600))
"""Images, blocks of channels, and pixels: more than a thread takes at a time."""


@settings(max_examples=20, deadline=None)
@given(
    counts=COUNTS,
    size=st.integers(1, 9),
    alpha=st.sampled_from([1e-4, 0.5]),
    beta=st.sampled_from([0.75, 0.5, 1.3]),
    bias=st.sampled_from([1.0, 2.0]),
    seed=st.integers(0, 99),
)
def test_channels_are_divided_by_the_squares_of_their_neighbours(
    probe: tuple[Path, int], counts: Triple, size: int, alpha: float, beta: float, bias: float, seed: int
) -> None:
    got, want = running.local_response(*probe, counts, (size, alpha, beta, bias), seed)
    np.testing.assert_allclose(got, want, rtol=2e-6, atol=1e-6)


@settings(max_examples=20, deadline=None)
@given(
    counts=COUNTS,
    mean=st.sampled_from([0.0, -30.0, 1000.0]),
    limits=st.sampled_from([(-inf, inf), (0.0, inf)]),
    seed=st.integers(0, 99),
)
def test_each_channel_is_normalised_over_its_image(
    probe: tuple[Path, int], counts: Triple, mean: float, limits: tuple[float, float], seed: int
) -> None:
    got, want, factor = running.normalised(*probe, counts, mean, limits, seed)
    # The mean is rounded to 24 bits, as the numbers are; the factor makes more of what that leaves.
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5 + 2e-7 * abs(mean) * factor)


@settings(max_examples=20, deadline=None)
@given(counts=COUNTS, is_of_image=st.booleans(), seed=st.integers(0, 99))
@pytest.mark.parametrize("name", ["scale", "prelu"])
def test_each_channel_has_a_number_of_its_own(
    probe: tuple[Path, int], name: str, counts: Triple, is_of_image: bool, seed: int
) -> None:
    got, want = running.channelwise(*probe, name, counts, is_of_image, seed)
    assert np.array_equal(got, want)


@settings(max_examples=20, deadline=None)
@given(
    counts=COUNTS,
    stages=st.integers(1, 2),
    limits=st.sampled_from([(-inf, inf), (0.0, inf), (0.0, 1.0)]),
    seed=st.integers(0, 99),
)
def test_each_channel_is_multiplied_and_shifted(
    probe: tuple[Path, int], counts: Triple, stages: int, limits: tuple[float, float], seed: int
) -> None:
    got, want = running.affine(*probe, counts, stages, limits, seed)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


@settings(max_examples=20, deadline=None)
@given(count=st.integers(1, 10_000), spread=st.sampled_from([1e-3, 1.0, 40.0, 1e30]), alpha=st.floats(0.1, 2))
def test_numbers_below_zero_are_exponential(probe: tuple[Path, int], count: int, spread: float, alpha: float) -> None:
    numbers = (np.random.default_rng(count).standard_normal(count) * spread).astype(np.float32)
    got, want = running.exponential(probe[0], numbers, alpha)
    np.testing.assert_allclose(got, want, rtol=5e-7, atol=2e-7)


@settings(max_examples=20, deadline=None)
@given(counts=st.tuples(*[st.integers(1, 2)] * 2), sizes=st.tuples(*[st.integers(1, 5)] * 2), step=st.integers(1, 3))
@pytest.mark.parametrize("mode", ["DCR", "CRD"])
def test_channels_become_pixels(
    probe: tuple[Path, int], mode: str, counts: tuple[int, int], sizes: tuple[int, int], step: int
) -> None:
    got, want = running.shuffled(*probe, counts, sizes, step, mode)
    assert np.array_equal(got, want)


@settings(max_examples=20, deadline=None)
@given(
    sizes=st.tuples(*[st.integers(1, 9)] * 3),
    results=st.tuples(*[st.integers(1, 9)] * 2),
    taps=st.integers(1, 4),
    seed=st.integers(0, 99),
)
def test_a_picture_is_resized_by_weights(
    probe: tuple[Path, int], sizes: Triple, results: tuple[int, int], taps: int, seed: int
) -> None:
    got, want = running.resized(probe[0], sizes, results, taps, seed)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


@settings(max_examples=60, deadline=None)
@given(
    bits=st.sampled_from([4, 6, 8, 10, 12]),
    sizes=st.tuples(st.integers(1, 9), st.integers(1, 130), st.integers(1, 70)),
    ending=st.builds(running.Ending, has_bias=st.booleans(), has_sum=st.booleans(), is_gelu=st.booleans()),
    seed=st.integers(0, 99),
)
def test_a_weight_in_few_bits_is_multiplied_as_it_is(
    probe: tuple[Path, int], bits: int, sizes: Triple, ending: running.Ending, seed: int
) -> None:
    got, want, most = running.packed_product(*probe, bits, sizes, ending, seed)
    np.testing.assert_allclose(got, want, rtol=0, atol=most)


@pytest.mark.parametrize("bits", [4, 6, 8, 10, 12])
@pytest.mark.parametrize("odd", [np.inf, np.nan])
def test_what_is_no_number_makes_none(probe: tuple[Path, int], bits: int, odd: float) -> None:
    got = running.by_ones(*probe, bits, np.array([[1.0] * 40, [1.0] * 39 + [odd]], np.float32))
    assert np.isfinite(got[0]).all()
    assert not np.isfinite(got[1]).any()


ATTENTIONS = st.builds(
    running.Attention,
    images=st.integers(1, 2),
    key_heads=st.integers(1, 3),
    group=st.integers(1, 3),
    rows=st.integers(1, 5),
    blocks=st.integers(1, 17),
    cached=st.integers(1, 70),
    adds=st.booleans(),
    has_mask=st.booleans(),
)


@settings(max_examples=60, deadline=None)
@given(asked=ATTENTIONS, odd=st.sampled_from([None, -inf, -1e38]), seed=st.integers(0, 9))
def test_attention_over_a_cache_agrees_with_the_reference(
    probe: tuple[Path, int], asked: running.Attention, odd: float | None, seed: int
) -> None:
    got, want = running.attended(*probe, asked, odd, seed)
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-5 * max(1.0, float(np.abs(want).max())))


@pytest.mark.parametrize("hides_odd", [False, True])
@pytest.mark.parametrize("odd", [np.inf, np.nan])
def test_a_mask_that_is_no_number_makes_its_row_none(probe: tuple[Path, int], odd: float, hides_odd: bool) -> None:
    asked = running.Attention(
        images=1, key_heads=1, group=1, rows=2, blocks=1, cached=5, adds=False, hides_odd=hides_odd, has_mask=True
    )
    got, _ = running.attended(*probe, asked, odd, 0)
    first, second = got.reshape(2, -1)
    assert not first.any() if hides_odd else np.isnan(first).all()
    assert np.isfinite(second).all()


ENDINGS = st.sampled_from([(-inf, inf, False), (0.0, inf, False), (0.0, 1.0, False), (-inf, inf, True)])


@settings(max_examples=40, deadline=None)
@given(
    asked=st.builds(
        running.Expansion,
        blocks=st.tuples(st.integers(1, 3), st.integers(1, 5)),
        strides=st.tuples(*[st.integers(1, 2)] * 2),
        edges=st.tuples(*[st.tuples(*[st.integers(0, 2)] * 2)] * 2),
        between=ENDINGS,
        last=ENDINGS,
        batch=st.integers(1, 2),
        size=st.tuples(st.integers(3, 40), st.integers(3, 20)),
    ),
    seed=st.integers(0, 99),
)
def test_a_depthwise_convolution_reads_what_one_of_1x1_gives(
    probe: tuple[Path, int], asked: running.Expansion, seed: int
) -> None:
    got, want = running.expanded(*probe, asked, seed)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=2e-5 * max(1.0, float(np.abs(want).max())))
