"""Pools, sums and softmax: what CMSIS-NN's roundings do not give is refused."""

from __future__ import annotations

from typing import Any

import pytest

from intarsia.backends.c.processor import Processor
from intarsia.backends.c.site import Site
from intarsia.backends.cmsis_nn.choose import fault, kernels_for
from intarsia.backends.lowering.program import Instruction

AVERAGE = {"kernel": [3, 3], "strides": [1, 1], "dilations": [1, 1], "before": [0, 0], "after": [0, 0], "divisor": 9,
           "x_scale": 0.1, "x_zero": 3, "y_scale": 0.1, "y_zero": 3, "low": -128, "high": 127}  # fmt: skip
SUM = {"a_scale": 0.1, "a_zero": 1, "b_scale": 0.2, "b_zero": 2, "y_scale": 0.3, "y_zero": 3, "low": -128, "high": 127}
SOFTMAX = {"axis": 1, "x_scale": 0.1, "x_zero": 0, "y_scale": 1 / 256, "y_zero": -128}


def site(name: str, attrs: dict[str, Any], *shapes: tuple[int, ...]) -> Site:
    reads = tuple(Instruction("input", (), {}, "int8", shape) for shape in shapes[1:])
    each = Instruction(name, tuple(range(len(reads))), attrs, "int8", shapes[0])
    return Site(each=each, reads=reads, processor=Processor(architecture="arm", has_dsp=True))


def average(**attrs: Any) -> Site:
    facts = {**AVERAGE, **attrs}
    sizes = [8 - size + 1 for size in facts["kernel"]]
    return site("q_pool_avg_last", facts, (1, *sizes, 4), (1, 8, 8, 4))


def test_averages_of_an_odd_number_in_the_scale_of_their_operand_are_taken() -> None:
    assert "arm_avgpool_s8(" in kernels_for(average())[0].functions[0].text


@pytest.mark.parametrize(
    ("attrs", "reason"),
    [
        ({"kernel": [2, 2], "divisor": 4}, "averages of 4 elements: arm_avgpool_s8 rounds a half away from 0"),
        ({"y_scale": 0.2}, "averages in another scale"),
        ({"divisor": 12}, "averages that count padding"),
        ({"dilations": [2, 2]}, "pools with dilation"),
    ],
)
def test_other_averages_are_refused(attrs: dict[str, Any], reason: str) -> None:
    found = fault(average(**attrs))
    assert found is not None
    assert found.startswith(reason)


def test_pools_with_windows_of_padding_alone_are_refused() -> None:
    attrs = {"kernel": [2, 2], "strides": [2, 2], "dilations": [1, 1], "before": [2, 0], "after": [0, 0], "low": -128,
            "high": 127}  # fmt: skip
    assert fault(site("q_pool_max_last", attrs, (1, 5, 4, 4), (1, 8, 8, 4))) == "pools with windows of padding alone"
    attrs["before"] = [1, 0]
    assert fault(site("q_pool_max_last", attrs, (1, 4, 4, 4), (1, 8, 8, 4))) is None


def test_sums_and_products_of_one_shape_lie_over_either_operand() -> None:
    for name in ("add", "mul"):
        kernel = kernels_for(site(f"q_{name}", SUM, (3, 5), (3, 5), (3, 5)))[0]
        assert f"arm_elementwise_{name}_s8(a, b, " in kernel.functions[0].text
        assert kernel.in_place == {0: 0, 1: 0}
        assert fault(site(f"q_{name}", SUM, (3, 5), (3, 5), (5,))) == f"q_{name} of shapes that differ"


def test_softmax_is_taken_in_its_own_steps() -> None:
    assert fault(site("q_softmax", SOFTMAX, (3, 5), (3, 5))) is None
    for attrs, reason in (
        ({"y_scale": 1 / 255}, "softmax in other steps than 1/256 from -128 on"),
        ({"axis": 0}, "softmax along another axis than the last in memory"),
    ):
        assert fault(site("q_softmax", {**SOFTMAX, **attrs}, (3, 5), (3, 5))) == reason


def test_what_has_no_function_is_refused_by_name() -> None:
    assert fault(site("q_lookup", {"table": [0] * 256}, (3,), (3,))) == "function for q_lookup of int8"
