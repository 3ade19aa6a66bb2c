"""A region as TensorFlow Lite's operators: scales that keep the ratios, paddings that the schema has words for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from intarsia.backends.c.processor import Processor
from intarsia.backends.c.site import Site
from intarsia.backends.ethos_u.translate import fault, network_of
from intarsia.backends.lowering.passes.regions import Region
from intarsia.backends.lowering.program import Instruction, Program

CONV = {"strides": [2, 2], "dilations": [1, 1], "before": [0, 0], "after": [1, 1], "groups": 1, "x_zero": 3,
        "y_zero": -4, "low": -4, "high": 127, "multipliers": [1 << 30, 1 << 29], "shifts": [40, 40]}  # fmt: skip


def region(**attrs: Any) -> Region:
    made = (
        Instruction("input", (), {"name": "x0"}, "int8", (1, 8, 8, 3)),
        Instruction("constant", (), {"name": "w"}, "int8", (2, 3, 3, 3)),
        Instruction("constant", (), {"name": "b"}, "int32", (2,)),
        Instruction("q_conv_last", (0, 1, 2), {**CONV, **attrs}, "int8", (1, 4, 4, 2), ("conv",)),
    )
    known: dict[int, np.ndarray] = {1: np.ones((2, 3, 3, 3), np.int8), 2: np.array([5, 6], np.int32)}
    program = Program(instructions=made, outputs={"y0": 3}, constants={"w": known[1], "b": known[2]})
    return Region(program=program, known=known, nodes=("conv",))


def site(of: Region) -> Site:
    each = of.program.instructions[3]
    reads = tuple(of.program.instructions[read] for read in each.reads)
    return Site(each=each, reads=reads, known={1: of.known[1], 2: of.known[2]}, processor=Processor())


def test_the_scales_of_weights_make_the_ratios() -> None:
    network = network_of(region())
    (conv,) = network.operators
    x, weights, bias = (network.tensors[each] for each in conv.reads)
    y = network.tensors[conv.write]
    assert (conv.name, x.zero, y.zero, weights.axis) == ("CONV_2D", 3, -4, 0)
    assert [scale * x.scales[0] / y.scales[0] for scale in weights.scales] == [2.0**-10, 2.0**-11]
    assert bias.scales == tuple(scale * x.scales[0] for scale in weights.scales)
    assert conv.options["activation"] == 1  # held at its zero point
    assert conv.options["padding"] == 0  # TensorFlow's SAME puts what is odd behind


def test_other_paddings_are_written_out() -> None:
    network = network_of(region(before=[1, 1], after=[0, 0]))
    pad, conv = network.operators
    assert (pad.name, conv.options["padding"]) == ("PAD", 1)
    around = network.tensors[pad.reads[1]].content
    assert around is not None
    assert around.tolist() == [[0, 0], [1, 0], [1, 0], [0, 0]]
    assert network.tensors[pad.write].shape == (1, 9, 9, 3)


@pytest.mark.parametrize(
    ("attrs", "reason"),
    [
        ({}, None),
        ({"strides": [4, 4]}, "convolutions that step by more than 3"),
        ({"groups": 3}, "convolutions in groups"),
        ({"low": -100}, "results that are held between -100 and 127 steps"),
        ({"dilations": [2, 2]}, "convolutions with dilation that step"),
    ],
)
def test_what_it_does_not_compute_is_refused(attrs: dict[str, Any], reason: str | None) -> None:
    assert fault(site(region(**attrs))) == reason


def test_what_has_no_operator_is_refused_by_name() -> None:
    each = Instruction("q_lookup", (0,), {"table": [0] * 256}, "int8", (3,))
    read = Instruction("input", (), {}, "int8", (3,))
    assert fault(Site(each=each, reads=(read,), processor=Processor())) == "q_lookup of int8"
