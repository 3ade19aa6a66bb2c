"""Programs as C: random ones under the sanitizers, on a processor with vectors and on one without."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.unit.backends.c.running import SCALAR, VECTORS, needs_compiler, run_in_c
from tests.unit.backends.lowering.random_programs import random_program
from tests.unit.backends.lowering.rewritten_kernels import run


@needs_compiler
@pytest.mark.parametrize("seed", range(12))
def test_random_programs_under_the_sanitizers(seed: int, tmp_path: Path) -> None:
    dtype = "float64" if seed % 4 == 3 else "float32"
    made = random_program(100 + seed, 40, dtype)
    want = run(made.program, made.known, made.feeds)
    processor = SCALAR if seed % 2 else VECTORS
    got = run_in_c(made.program, made.known, made.feeds, processor, tmp_path)
    assert list(got) == list(want)
    for name, array in want.items():
        np.testing.assert_allclose(got[name], array, rtol=1e-4, atol=1e-5)
