from __future__ import annotations

import dataclasses
import json

import pytest

from intarsia.config import Pipeline, RunSettings, SearchSettings, Spin


@pytest.mark.parametrize(
    ("pipeline", "fault"),
    [
        (Pipeline(stages=(3,), threads=(2,), lanes=2, depth=1), None),
        (Pipeline(stages=(1, 2), threads=(3, 1), depth=9), None),
        (Pipeline(stages=(1, 1), threads=(1, 1), depth=2), "2 partitions together, but the plan has 3"),
        (Pipeline(stages=(1, 2), threads=(1,), depth=2), "it has 2 stages and 1 number of threads"),
        (Pipeline(stages=(3,), threads=(2,), lanes=3, depth=3), "6 threads together, but the plan has 4"),
    ],
)
def test_a_pipeline_fits_the_steps_and_the_threads(pipeline: Pipeline, fault: str | None) -> None:
    told = pipeline.fault(steps=3, budget=4)
    assert told is None if fault is None else fault in (told or "")


def test_settings_that_differ_have_other_facts() -> None:
    pipeline = Pipeline(stages=(1,), threads=(1,), depth=2)
    several = [
        RunSettings(threads=2),
        RunSettings(threads=1),
        RunSettings(threads=2, spin=Spin.NEVER),
        RunSettings(threads=2, embed=True),
        RunSettings(threads=2, parallel=True),
        RunSettings(threads=2, pipeline=pipeline),
        RunSettings(threads=2, pipeline=dataclasses.replace(pipeline, lanes=2)),
        RunSettings(threads=2, pipeline=dataclasses.replace(pipeline, depth=3)),
        RunSettings(threads=2, max_error=0.1),
        RunSettings(threads=2, verified=False),
        RunSettings(threads=2, instances=2),
    ]
    assert len({json.dumps(settings.facts()) for settings in several}) == len(several)


def test_defaults() -> None:
    assert RunSettings(threads=2).spin is Spin.CALL
    assert dataclasses.asdict(SearchSettings()) == {
        "partition": "collage",
        "budget_s": 60.0,
        "seed": 0,
        "min_nodes": 1,
        "min_flops": 0,
        "prune": True,
        "max_memory": None,
        "footprints": False,
        "max_error": None,
        "strict": False,
        "objective": "latency",
        "max_latency_ms": None,
    }


def test_settings_are_values() -> None:
    assert SearchSettings(seed=1) == SearchSettings(seed=1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        SearchSettings().seed = 1  # type: ignore[misc]
