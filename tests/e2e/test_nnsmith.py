"""Generated models on forced mixes of engines: every value that holds still agrees with the reference.

Ten seeds of the hundreds that ``python -m benchmarks.nnsmith`` tries.
"""

from __future__ import annotations

import pytest

from benchmarks.nnsmith.mix import try_seed

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.engine]

SEEDS = (0, 1, 2, 4, 5, 6, 7, 9, 10, 11)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_generated_model_agrees_on_a_mix(seed: int) -> None:
    outcome = try_seed(seed)
    assert outcome is not None, "no two engines take parts of it"
    assert len(outcome.engines) > 1
    assert outcome.compared > 0
    assert outcome.disagreement is None  # it names the partition and its engine, and the operators that fail alone
