"""For tests in which plans have to be right, however fast they are: as little measuring as there can be."""

from __future__ import annotations

from itertools import islice

import pytest

from intarsia.cost.timing.paired_benchmark import BenchmarkEffort
from intarsia.evaluation import batches
from intarsia.search.decision import final_benchmark
from intarsia.search.single import single_engine


def measure_little(patch: pytest.MonkeyPatch) -> None:
    """One setting of each engine, and the shortest paired benchmark."""
    effort = BenchmarkEffort(seconds=0.0, processes=1, min_rounds=1, repeats=0)
    settings = single_engine._settings
    patch.setattr(final_benchmark.FinalBenchmark, "_effort", lambda *_: effort)
    patch.setattr(batches, "_effort", lambda _: effort)
    patch.setattr(single_engine, "_settings", lambda *asked: islice(settings(*asked), 1))
