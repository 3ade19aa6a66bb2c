"""Layers as calls of CMSIS-NN: which function, how much memory, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from intarsia.backends.c.kernels.integers.window import Window
from intarsia.backends.c.processor import Processor
from intarsia.backends.c.site import NoKernelError, Site
from intarsia.backends.cmsis_nn.choose import fault, kernels_for
from intarsia.backends.cmsis_nn.layers import convolution_scratch, depthwise_scratch, is_exact_row
from intarsia.backends.lowering.program import Instruction
from intarsia.codegen.module import Scratch

SCALAR = Processor(architecture="arm", pointer_bytes=4)
DSP = Processor(architecture="arm", pointer_bytes=4, has_dsp=True)
MVE = Processor(architecture="arm", pointer_bytes=4, has_dsp=True, has_mve=True)
ONE = {"n": 1, "h": 8, "w": 8, "c": 16, "oh": 8, "ow": 8, "o": 16, "kh": 3, "kw": 3, "sh": 1, "sw": 1, "dh": 1,
       "dw": 1, "ph": 1, "pw": 1}  # fmt: skip


def conv(
    x: tuple[int, ...], weights: tuple[int, ...], y: tuple[int, ...], processor: Processor = DSP, **attrs: Any
) -> Site:
    facts = {"strides": [1, 1], "dilations": [1, 1], "before": [1, 1], "after": [1, 1], "groups": 1, "x_zero": 3,
             "y_zero": -4, "low": -128, "high": 127, "multipliers": [1 << 30] * y[-1],
             "fitted": [1 << 30] * y[-1], "shifts": [40] * y[-1]}  # fmt: skip
    reads = [Instruction("input", (), {}, "int8", x)]
    reads += [Instruction("constant", (), {}, "int8", weights), Instruction("constant", (), {}, "int32", y[-1:])]
    known: dict[int, np.ndarray] = {1: np.ones(weights, np.int8), 2: np.zeros(y[-1:], np.int32)}
    each = Instruction("q_conv_last", (0, 1, 2), {**facts, **attrs}, "int8", y)
    return Site(each=each, reads=tuple(reads), known=known, processor=processor)


def called(site: Site) -> str:
    return kernels_for(site)[0].functions[0].text


def scratch(site: Site) -> int:
    return sum(each.size for each in kernels_for(site)[0].arguments if isinstance(each, Scratch))


FLAT: dict[str, Any] = {"before": [0, 0], "after": [0, 0]}


def test_each_shape_has_its_function() -> None:
    plain = conv((1, 8, 8, 16), (16, 3, 3, 16), (1, 8, 8, 16))
    assert "arm_convolve_wrapper_s8(" in called(plain)
    point = conv((1, 8, 8, 16), (4, 1, 1, 16), (1, 8, 8, 4), **FLAT)
    assert "arm_convolve_1x1_s8_fast(" in called(point)
    stepping = conv((1, 8, 8, 16), (4, 1, 1, 16), (1, 4, 4, 4), strides=[2, 2], **FLAT)
    assert "arm_convolve_1x1_s8(" in called(stepping)
    deep: dict[str, Any] = {"groups": 16}
    for processor, name in ((DSP, "arm_depthwise_conv_3x3_s8("), (MVE, "arm_depthwise_conv_s8_opt(")):
        assert name in called(conv((1, 8, 8, 16), (16, 3, 3, 1), (1, 8, 8, 16), processor, **deep))
    dilated = conv((1, 8, 8, 16), (16, 3, 3, 1), (1, 6, 6, 16), dilations=[2, 2], **deep)
    assert "arm_depthwise_conv_s8(" in called(dilated)


def test_the_compiler_is_told_the_processor_that_memory_was_planned_for() -> None:
    for processor, wanted in ((SCALAR, "!defined(ARM_MATH_DSP)"), (DSP, "defined(ARM_MATH_DSP)"), (MVE, "MVEI")):
        kernel = kernels_for(conv((1, 8, 8, 16), (16, 3, 3, 16), (1, 8, 8, 16), processor))[0]
        guard = kernel.functions[1]
        assert guard.name in kernel.functions[0].needs
        assert guard.text.startswith("#if !(")
        assert wanted in guard.text
        assert "#error" in guard.text
        assert kernel.defines == ("CMSIS_NN_USE_SINGLE_ROUNDING",)


def test_memory_is_what_the_rules_of_the_library_say() -> None:
    v = Window(**ONE)
    assert convolution_scratch(v, 1, has_mve=False) == 2 * 144 * 2
    assert convolution_scratch(v, 1, has_mve=True) == 4 * 144
    assert depthwise_scratch(v, has_dsp=False, has_mve=False) == 0
    assert depthwise_scratch(v, has_dsp=True, has_mve=False) == 2 * 16 * 9
    assert depthwise_scratch(v, has_dsp=True, has_mve=True) == 4 * 124 * 9
    assert scratch(conv((1, 8, 8, 16), (16, 3, 3, 16), (1, 8, 8, 16))) == 576
    assert scratch(conv((1, 8, 8, 16), (16, 3, 3, 1), (1, 8, 8, 16), groups=16)) == 0


def row(w: int, kw: int, sw: int, pw: int, more: int = 0) -> Window:
    ow = (w + 2 * pw + more - kw) // sw + 1
    return Window(**{**ONE, "h": 1, "oh": 1, "kh": 1, "ph": 0, "w": w, "ow": ow, "kw": kw, "sw": sw, "pw": pw})


@pytest.mark.parametrize(
    ("window", "exact"),
    [
        (row(16, 3, 1, 1), True),
        (row(16, 3, 1, 0), True),
        (row(9, 5, 2, 2), False),  # the last result lacks two elements, and one is looked for
        (row(10, 3, 4, 0), False),  # columns are left over
        (row(2, 3, 1, 1), False),  # a window is wider than all
    ],
)
def test_rows_are_left_to_the_function_for_rows_only_where_it_is_right(window: Window, exact: bool) -> None:
    assert is_exact_row(window) is exact


def test_results_may_lie_over_operands_unless_a_function_comes_back() -> None:
    plain = kernels_for(conv((1, 8, 8, 16), (16, 3, 3, 16), (1, 8, 8, 16)))[0]
    assert set(plain.in_place) == {0}
    point = kernels_for(conv((1, 8, 8, 16), (4, 1, 1, 16), (1, 8, 8, 4), **FLAT))[0]
    assert not point.in_place
    grouped = kernels_for(conv((1, 8, 8, 16), (16, 3, 3, 8), (1, 8, 8, 16), groups=2))[0]
    assert not grouped.in_place
    wide = kernels_for(conv((1, 8, 8, 130), (130, 3, 3, 1), (1, 8, 8, 130), MVE, groups=130))[0]
    assert not wide.in_place


def test_what_does_not_fit_into_its_numbers_is_refused() -> None:
    long = conv((1, 1, 40000, 1), (1, 1, 3, 1), (1, 1, 40000, 1), before=[0, 1], after=[0, 1])
    assert fault(long) == "its sizes have 16 bits, and one of q_conv_last is 40000"
    large = conv((1, 8, 8, 16), (16, 3, 3, 16), (1, 8, 8, 16), fitted=[1 << 30] * 16, shifts=[10] * 16)
    reason = fault(large)
    assert reason is not None
    assert reason.endswith("overflow 32 bits")
    unknown = conv((1, 8, 8, 16), (16, 3, 3, 16), (1, 8, 8, 16))
    computed = Site(each=unknown.each, reads=unknown.reads, processor=DSP)
    with pytest.raises(NoKernelError, match="weights that are computed"):
        kernels_for(computed)
