"""What holds of every pass: it keeps inputs, outputs and what they are."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from intarsia.backends.c.kernels.scalars import ELEMENTWISE
from intarsia.backends.lowering.passes.channels_last import channels_last
from intarsia.backends.lowering.passes.fold import fold
from intarsia.backends.lowering.passes.fuse import fuse
from intarsia.backends.lowering.passes.rewriter import Known
from intarsia.backends.lowering.program import Program
from tests.unit.backends.lowering.random_programs import random_program
from tests.unit.backends.lowering.rewritten_kernels import run

Pass = Callable[[Program, Known], tuple[Program, Known]]
FUSE: Pass = partial(fuse, elementwise=ELEMENTWISE)
PASSES: dict[str, tuple[Pass, ...]] = {
    "fold": (fold,),
    "channels_last": (channels_last,),
    "fuse": (FUSE,),
    "all": (fold, channels_last, fold, FUSE),
}


@pytest.mark.parametrize("name", PASSES)
@pytest.mark.parametrize("seed", range(25))
def test_a_rewritten_program_computes_the_same(name: str, seed: int) -> None:
    made = random_program(seed)
    program, known = made.program, made.known
    want = run(program, dict(known), made.feeds)
    rewritten: Known = known
    for each in PASSES[name]:
        program, rewritten = each(program, rewritten)
    assert list(program.inputs) == list(made.program.inputs)
    got = run(program, dict(rewritten), made.feeds)
    assert list(got) == list(want)
    for output, array in want.items():
        assert got[output].shape == array.shape
        np.testing.assert_allclose(got[output], array, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("seed", range(25))
def test_passing_twice_changes_nothing_more(seed: int) -> None:
    made = random_program(seed)
    once = fold(*fold(made.program, made.known))
    assert str(fold(*once)[0]) == str(once[0])
