from __future__ import annotations

import dataclasses

import pytest

from intarsia.config import RunSettings, SearchSettings, Spin


def test_defaults() -> None:
    assert RunSettings(threads=2).spin is Spin.CALL
    assert dataclasses.asdict(SearchSettings()) == {
        "partition": "collage",
        "budget_s": 60.0,
        "seed": 0,
        "min_nodes": 1,
        "min_flops": 0,
    }


def test_settings_are_values() -> None:
    assert SearchSettings(seed=1) == SearchSettings(seed=1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        SearchSettings().seed = 1  # type: ignore[misc]
