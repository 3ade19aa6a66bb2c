"""Every kernel of a `q_*` instruction computes what the reference says, bit by bit, wherever it can run."""

from __future__ import annotations

from itertools import chain

import numpy as np
import pytest

from intarsia.backends.c.choose import kernels_for
from intarsia.backends.c.processor import Processor
from intarsia.backends.c.site import Site
from intarsia.backends.lowering.program import Instruction
from intarsia.codegen.boards.board import EMULATED
from tests.unit.backends.c.kernels.integers.programs import EVERY, Case, Draw, drawn, results
from tests.unit.codegen.tools import BOARDS, CC

PROCESSORS = {
    "mps2-an386": Processor(architecture="arm", pointer_bytes=4, has_dsp=True),
    "mps3-an547": Processor(architecture="arm", pointer_bytes=4, has_dsp=True, has_mve=True),
}


def check(cases: list[Case], found: list[np.ndarray]) -> None:
    for case, result in zip(cases, found, strict=True):
        expected = case.expected()
        assert result.dtype == expected.dtype
        np.testing.assert_array_equal(result, expected, err_msg=f"{case.name} {case.attrs}")


@CC
@pytest.mark.parametrize("family", EVERY, ids="-".join)
def test_on_this_machine_under_the_sanitizers(family: tuple[str, str]) -> None:
    cases = drawn(family, seed=1, count=12)
    check(cases, results(cases, Processor(), None))


@BOARDS
@pytest.mark.parametrize("board", [pytest.param("mps2-an386", marks=pytest.mark.large), "mps3-an547"])
def test_on_a_board(board: str) -> None:
    cases = list(chain.from_iterable(drawn(family, seed=2, count=10) for family in EVERY))
    check(cases, results(cases, PROCESSORS[board], EMULATED[board]))


def test_cases_spread_over_the_codes() -> None:
    for family in EVERY:
        numbers = np.concatenate([case.expected().reshape(-1) for case in drawn(family, seed=1, count=25)])
        assert len(np.unique(numbers)) > 20, family


@pytest.mark.parametrize(
    ("processor", "wanted"),
    [("mps2-an386", {"q_conv_dsp", "q_depthwise_dsp"}), ("mps3-an547", {"q_conv_mve", "q_depthwise_mve"})],
)
def test_a_processor_gets_its_own_kernels_first(processor: str, wanted: set[str]) -> None:
    found = set()
    for kind in ("point", "depthwise"):
        case = Draw(3).convolution(kind)
        while case.x[0].shape[-1] != 16 or set(case.attrs["dilations"]) != {1}:
            case = Draw(int(case.x[0].sum()) & 0xFFFF).convolution(kind)
        reads = [Instruction("input", (), {}, each.dtype.name, each.shape) for each in (*case.x, *case.constants)]
        each = Instruction(case.name, tuple(range(len(reads))), case.attrs, "int8", case.shape)
        known = dict(enumerate(case.constants, start=1))
        kernels = kernels_for(Site(each=each, reads=tuple(reads), known=known, processor=PROCESSORS[processor]))
        assert len(kernels) == 2
        found.add(kernels[0].functions[0].name.rsplit("_", 1)[0])
    assert found == wanted
